// Asks a PulseAudio server (or PipeWire's) for its default source. libpulse is there whenever ALSA's pulse plugin
// works, so it is looked up at run time and Holdfast doesn't depend on it. The ABI below is libpulse.so.0's, stable
// since 0.9.11: a context, its states, and the front of pa_server_info.
#pragma once
#include <dlfcn.h>
#include <string.h>
#include <time.h>

struct holdfast_pulse_server_info {
  const char *user, *host, *version, *name;
  struct { int format; unsigned rate; unsigned char channels; } spec;
  const char *default_sink, *default_source;
};
struct holdfast_pulse_answer { char *to; size_t size; int done; };

static void holdfast_pulse_got(void *context, const struct holdfast_pulse_server_info *info, void *raw) {
  struct holdfast_pulse_answer *a = (struct holdfast_pulse_answer *)raw;
  (void)context;
  const char *name = info && info->default_source ? info->default_source : "";
  size_t n = strlen(name);
  if (n >= a->size) n = a->size - 1;
  memcpy(a->to, name, n);
  a->to[n] = 0;
  a->done = 1;
}

// 0 and the name ("" where the server has no source), or -1: no libpulse, no server, or no answer within 1 s.
// `server` is an address, NULL or "" for the user's own. Never starts a server. Not for the capture thread.
static inline int holdfast_pulse_default_source(const char *server, char *to, size_t size) {
  void *lib = dlopen("libpulse.so.0", RTLD_NOW | RTLD_LOCAL | 0x1000 /* RTLD_NODELETE */);
  if (!lib || size == 0) return -1;
  struct holdfast_pulse_answer answer = { to, size, 0 };
  void *(*loop_new)(void) = (void *(*)(void))dlsym(lib, "pa_mainloop_new");
  void *(*loop_api)(void *) = (void *(*)(void *))dlsym(lib, "pa_mainloop_get_api");
  int (*loop_prepare)(void *, int) = (int (*)(void *, int))dlsym(lib, "pa_mainloop_prepare");
  int (*loop_poll)(void *) = (int (*)(void *))dlsym(lib, "pa_mainloop_poll");
  int (*loop_dispatch)(void *) = (int (*)(void *))dlsym(lib, "pa_mainloop_dispatch");
  void (*loop_free)(void *) = (void (*)(void *))dlsym(lib, "pa_mainloop_free");
  void *(*context_new)(void *, const char *) = (void *(*)(void *, const char *))dlsym(lib, "pa_context_new");
  int (*connect)(void *, const char *, int, const void *) =
      (int (*)(void *, const char *, int, const void *))dlsym(lib, "pa_context_connect");
  int (*state)(const void *) = (int (*)(const void *))dlsym(lib, "pa_context_get_state");
  void *(*ask)(void *, void (*)(void *, const struct holdfast_pulse_server_info *, void *), void *) =
      (void *(*)(void *, void (*)(void *, const struct holdfast_pulse_server_info *, void *), void *))
          dlsym(lib, "pa_context_get_server_info");
  void (*forget)(void *) = (void (*)(void *))dlsym(lib, "pa_operation_unref");
  void (*disconnect)(void *) = (void (*)(void *))dlsym(lib, "pa_context_disconnect");
  void (*unref)(void *) = (void (*)(void *))dlsym(lib, "pa_context_unref");
  if (loop_new && loop_api && loop_prepare && loop_poll && loop_dispatch && loop_free && context_new && connect &&
      state && ask && forget && disconnect && unref) {
    void *loop = loop_new();
    void *context = loop ? context_new(loop_api(loop), "holdfast") : 0;
    struct timespec began, now;
    clock_gettime(CLOCK_MONOTONIC, &began);
    if (context && connect(context, server && *server ? server : 0, 1 /* PA_CONTEXT_NOAUTOSPAWN */, 0) >= 0) {
      void *operation = 0;
      for (int s; !answer.done && (s = state(context)) >= 1 && s <= 4;) {  // connecting … ready
        if (s == 4 && !operation && !(operation = ask(context, holdfast_pulse_got, &answer))) break;
        if (loop_prepare(loop, 100000) < 0 || loop_poll(loop) < 0 || loop_dispatch(loop) < 0) break;
        clock_gettime(CLOCK_MONOTONIC, &now);
        if ((now.tv_sec - began.tv_sec) * 1000 + (now.tv_nsec - began.tv_nsec) / 1000000 > 1000) break;
      }
      if (operation) forget(operation);
      disconnect(context);
    }
    if (context) unref(context);
    if (loop) loop_free(loop);
  }
  dlclose(lib);
  return answer.done ? 0 : -1;
}
