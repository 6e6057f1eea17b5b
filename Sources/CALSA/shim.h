// ALSA for Swift, and the few calls of the capture thread that Swift's Glibc module lacks.
// By extern or by number: _GNU_SOURCE in a module's header breaks Swift's own Glibc module.
#pragma once
#include <alsa/asoundlib.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <stdint.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>
#include "pulse.h"

// alsa-lib prints what it thinks of a name on standard error; the user gets one line, and it is ours.
static void holdfast_alsa_say_nothing(const char *file, int line, const char *function, int err, const char *format, ...) {
  (void)file; (void)line; (void)function; (void)err; (void)format;
}
static inline void holdfast_alsa_silence(void) { snd_lib_error_set_handler(holdfast_alsa_say_nothing); }

// Macros and enums that Swift sees as nothing, or as types of their own.
static inline int holdfast_pcm_open(snd_pcm_t **pcm, const char *name) {
  return snd_pcm_open(pcm, name, SND_PCM_STREAM_CAPTURE, SND_PCM_NONBLOCK);
}
static inline int holdfast_pcm_open_playback(snd_pcm_t **pcm, const char *name) {
  return snd_pcm_open(pcm, name, SND_PCM_STREAM_PLAYBACK, SND_PCM_NONBLOCK);
}
static inline int holdfast_pcm_state(snd_pcm_t *pcm) { return (int)snd_pcm_state(pcm); }

// The text a PCM's definition gives for `key`, such as a pulse PCM's device, following plain aliases; "" where it has
// none. `text` has room for `size` bytes. Compares the name as a whole: dots and commas in it mean nothing.
static inline void holdfast_alsa_defined(const char *name, const char *key, char *text, size_t size) {
  snd_config_t *top, *pcms, *found = NULL, *value;
  snd_config_iterator_t i, next;
  const char *id, *s;
  if (size == 0) return;
  text[0] = 0;
  if (snd_config_update_ref(&top) < 0) return;  // another thread may read the files again meanwhile
  for (int hops = 0; hops < 8 && snd_config_search(top, "pcm", &pcms) >= 0; hops++) {
    found = NULL;
    snd_config_for_each(i, next, pcms) {
      snd_config_t *entry = snd_config_iterator_entry(i);
      if (snd_config_get_id(entry, &id) == 0 && strcmp(id, name) == 0) found = entry;
    }
    if (!found || snd_config_get_string(found, &name) < 0) break;
  }
  if (found && snd_config_get_type(found) == SND_CONFIG_TYPE_COMPOUND && snd_config_search(found, key, &value) >= 0 &&
      snd_config_get_string(value, &s) >= 0 && s && strlen(s) < size)
    strcpy(text, s);
  snd_config_unref(top);
}

// A wake-up that any thread, or a signal handler, can send.
static inline int holdfast_eventfd(void) { return eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK); }
static inline void holdfast_eventfd_set(int fd) { uint64_t one = 1; ssize_t n = write(fd, &one, sizeof one); (void)n; }

// Real time for the calling thread. A child process doesn't inherit it (SCHED_RESET_ON_FORK).
static inline int holdfast_set_fifo(int priority) {
  struct sched_param p = { .sched_priority = priority };
  return sched_setscheduler(0, SCHED_FIFO | 0x40000000, &p) == 0 ? 0 : errno;
}
static inline int holdfast_is_fifo(void) { return (sched_getscheduler(0) & ~0x40000000) == SCHED_FIFO; }
extern int pthread_getattr_np(pthread_t, pthread_attr_t *);
// Touches and locks what the thread may use of its stack, at most `most` bytes below here.
static inline int holdfast_lock_stack(size_t most) {
  pthread_attr_t a; void *low; size_t size;
  if (pthread_getattr_np(pthread_self(), &a) != 0) return -1;
  int ok = pthread_attr_getstack(&a, &low, &size) == 0;
  pthread_attr_destroy(&a);
  if (!ok) return -1;
  uintptr_t here = (uintptr_t)__builtin_frame_address(0), bottom = (uintptr_t)low + 65536;
  uintptr_t from = here > most && here - most > bottom ? here - most : bottom;
  if (from >= here) return -1;
  return mlock((void *)from, here - from);
}
