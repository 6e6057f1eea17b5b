// Asks logind for an inhibitor lock over sd-bus. libsystemd is there wherever logind is, so it is looked up at run time
// and Holdfast doesn't depend on it. The ABI below is libsystemd.so.0's, stable since version 221.
#pragma once
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <time.h>
#include <unistd.h>

static inline int holdfast_event(void) { return eventfd(0, EFD_CLOEXEC); }
static inline void holdfast_event_set(int fd) { uint64_t one = 1; ssize_t n = write(fd, &one, sizeof one); (void)n; }
static inline void holdfast_event_wait(int fd) {
  struct pollfd p = { fd, POLLIN, 0 };
  while (poll(&p, 1, -1) < 0 && errno == EINTR) {}
}

struct holdfast_inhibit_answer {
  int fd, done;
  int (*is_error)(void *, const char *);
  int (*read)(void *, char, void *);
};
static int holdfast_inhibit_got(void *message, void *raw, void *error) {
  struct holdfast_inhibit_answer *a = (struct holdfast_inhibit_answer *)raw;
  int fd;
  (void)error;
  a->done = 1;
  // The message owns its descriptor: ours is a copy.
  if (!a->is_error(message, NULL) && a->read(message, 'h', &fd) > 0) a->fd = fcntl(fd, F_DUPFD_CLOEXEC, 3);
  return 0;
}

#define HOLDFAST_INHIBIT_NONE (-1)     // no libsystemd, no bus, no answer in time, or `stop` came first
#define HOLDFAST_INHIBIT_REFUSED (-2)  // answered, without a lock
// The lock's descriptor, which holds it while it is open. Blocks: a thread of its own calls it.
// `stop` is an eventfd that ends the waiting; `patience` is in ms.
static inline int holdfast_inhibit(const char *what, const char *who, const char *why, const char *mode, int stop, int patience) {
  // Nobody has to load a library to learn that there is no bus.
  if (!getenv("DBUS_SYSTEM_BUS_ADDRESS") && access("/run/dbus/system_bus_socket", F_OK) != 0) return HOLDFAST_INHIBIT_NONE;
  void *lib = dlopen("libsystemd.so.0", RTLD_NOW | RTLD_LOCAL | 0x1000 /* RTLD_NODELETE */);
  if (!lib) return HOLDFAST_INHIBIT_NONE;
  struct holdfast_inhibit_answer answer = { -1, 0, (int (*)(void *, const char *))dlsym(lib, "sd_bus_message_is_method_error"),
                                            (int (*)(void *, char, void *))dlsym(lib, "sd_bus_message_read_basic") };
  int (*open_system)(void **) = (int (*)(void **))dlsym(lib, "sd_bus_open_system");
  int (*new_call)(void *, void **, const char *, const char *, const char *, const char *) =
      (int (*)(void *, void **, const char *, const char *, const char *, const char *))dlsym(lib, "sd_bus_message_new_method_call");
  int (*append)(void *, char, const void *) = (int (*)(void *, char, const void *))dlsym(lib, "sd_bus_message_append_basic");
  int (*call)(void *, void **, void *, int (*)(void *, void *, void *), void *, uint64_t) =
      (int (*)(void *, void **, void *, int (*)(void *, void *, void *), void *, uint64_t))dlsym(lib, "sd_bus_call_async");
  int (*process)(void *, void **) = (int (*)(void *, void **))dlsym(lib, "sd_bus_process");
  int (*get_fd)(void *) = (int (*)(void *))dlsym(lib, "sd_bus_get_fd");
  int (*get_events)(void *) = (int (*)(void *))dlsym(lib, "sd_bus_get_events");
  void *(*unref_message)(void *) = (void *(*)(void *))dlsym(lib, "sd_bus_message_unref");
  void (*shut)(void *) = (void (*)(void *))dlsym(lib, "sd_bus_close");
  void *(*unref)(void *) = (void *(*)(void *))dlsym(lib, "sd_bus_unref");
  if (!answer.is_error || !answer.read || !open_system || !new_call || !append || !call || !process || !get_fd || !get_events ||
      !unref_message || !shut || !unref)
    return HOLDFAST_INHIBIT_NONE;
  void *bus = NULL, *message = NULL;
  struct timespec began, now;
  clock_gettime(CLOCK_MONOTONIC, &began);
  // Connecting and authenticating go on in `process`: nothing here waits but `poll`.
  if (open_system(&bus) >= 0 &&
      new_call(bus, &message, "org.freedesktop.login1", "/org/freedesktop/login1", "org.freedesktop.login1.Manager", "Inhibit") >= 0 &&
      append(message, 's', what) >= 0 && append(message, 's', who) >= 0 && append(message, 's', why) >= 0 &&
      append(message, 's', mode) >= 0 &&
      call(bus, NULL, message, holdfast_inhibit_got, &answer, (uint64_t)patience * 1000) >= 0) {
    for (int r; (r = process(bus, NULL)) >= 0 && !answer.done;) {
      clock_gettime(CLOCK_MONOTONIC, &now);
      if ((now.tv_sec - began.tv_sec) * 1000 + (now.tv_nsec - began.tv_nsec) / 1000000 > patience) break;
      if (r > 0) continue;
      struct pollfd fds[2] = { { get_fd(bus), (short)get_events(bus), 0 }, { stop, POLLIN, 0 } };
      if (poll(fds, 2, 250) < 0 && errno != EINTR) break;
      if (fds[1].revents) break;
    }
  }
  if (message) unref_message(message);
  if (bus) shut(bus), unref(bus);
  return answer.fd >= 0 ? answer.fd : answer.done ? HOLDFAST_INHIBIT_REFUSED : HOLDFAST_INHIBIT_NONE;
}
