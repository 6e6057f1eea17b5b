/* scriptmic: an ALSA capture device made of a file, with scripted faults. For tests; no hardware, no root.
 *
 *   cc -O2 -Wall -Wextra -Werror -shared -fPIC -DPIC -o libscriptmic.so scriptmic.c -lasound -lm
 *
 * README.md beside it has the keys and the script. The virtual hardware has a clock of its own: frame n of the device is
 * frame n of the file, whether or not anybody reads it, and frames that pass during an xrun, a suspend or an unplug are
 * lost, as with a real microphone. Time 0 is the first start of a PCM name in this process; the clock and the script go
 * on across close and reopen.
 */
#include <alsa/asoundlib.h>
#include <alsa/pcm_external.h>
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/timerfd.h>
#include <time.h>
#include <unistd.h>

enum kind { XRUN, SUSPEND, UNPLUG, STALL, FREEZE, SKIP, SHORT, ERR, DRIFT, MUTE };
static const char *const kinds[] = { "xrun", "suspend", "unplug", "stall", "freeze", "skip", "short", "err", "drift", "mute" };
struct event { double at; enum kind kind; double a, b; int done; };

/* What outlives a close: the hardware. One for each PCM name in the process. */
struct hardware {
  char *name;
  struct event *events;
  int count;
  double epoch, last;  /* first start and last tick, seconds */
  double position;     /* device frames since the epoch, fractional */
  double shown;        /* the position as told: stands still in a stall */
  double ppm, stalled, frozen, muted, gone, asleep;  /* the last five: until when, seconds */
  int error, errors_left;
  int short_frames, shorts_left, short_ended;
  int taken;           /* an open handle: the device exists once */
  struct hardware *next;
};

struct mic {
  snd_pcm_ioplug_t io;
  struct hardware *hw;
  uint8_t *file;       /* WAV: 16-bit samples of one channel; raw: frames exactly as the device has them */
  size_t frames;       /* of the file; for raw known once the format is */
  size_t bytes;
  unsigned file_rate;  /* 0 for raw */
  int loop, timer, on_demand;
  double read;         /* device frame that the program reads next */
  double base;         /* device frame at which the hardware pointer was 0 */
  double told;         /* the last pointer told to alsa-lib: it must never go back */
  snd_pcm_uframes_t boundary, avail_min;
  FILE *log;
  volatile double *counter;  /* shared with who watches: epoch, the device frame that the program reads next */
};

static struct hardware *all;
static pthread_mutex_t all_lock = PTHREAD_MUTEX_INITIALIZER;

static double now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}
static void nap(double s) {
  if (s <= 0) return;
  struct timespec t = { (time_t)s, (long)((s - floor(s)) * 1e9) };
  nanosleep(&t, NULL);
}
/* On demand, the device's time is what it has captured: tests run as fast as they read. */
static double device_time(struct mic *m) {
  return m->on_demand ? m->hw->epoch + m->hw->position / m->io.rate : now();
}
__attribute__((format(printf, 2, 3))) static void say(struct mic *m, const char *format, ...) {
  if (!m->log) return;
  va_list list;
  va_start(list, format);
  fprintf(m->log, "%.6f ", m->hw->epoch ? device_time(m) - m->hw->epoch : 0.0);
  vfprintf(m->log, format, list);
  fputc('\n', m->log);
  fflush(m->log);
  va_end(list);
}

/* ---- the script: "SECONDS WHAT [A [B]]; …" ---- */
static int error_number(const char *name) {
  static const struct { const char *name; int number; } table[] = {
    { "EAGAIN", EAGAIN }, { "EINTR", EINTR }, { "EIO", EIO }, { "EPIPE", EPIPE }, { "EBADFD", EBADFD }, { "ENODEV", ENODEV },
    { "ENXIO", ENXIO }, { "EBUSY", EBUSY }, { "ESTRPIPE", ESTRPIPE }, { "ENOSPC", ENOSPC }, { "EACCES", EACCES },
    { "EINVAL", EINVAL },
  };
  for (size_t i = 0; i < sizeof table / sizeof *table; i++) if (!strcmp(name, table[i].name)) return table[i].number;
  return atoi(name);
}
static int parse_entry(struct hardware *h, const char *text) {
  char what[16] = "", a[24] = "";
  struct event e = { 0 };
  if (sscanf(text, "%lf %15s %23s %lf", &e.at, what, a, &e.b) < 2) return -EINVAL;
  size_t kind = 0, known = sizeof kinds / sizeof *kinds;
  while (kind < known && strcmp(what, kinds[kind])) kind++;
  if (kind == known) return -EINVAL;
  e.kind = (enum kind)kind;
  e.a = e.kind == ERR ? error_number(a) : atof(a);
  if (e.b == 0) e.b = 1;
  struct event *more = realloc(h->events, (size_t)(h->count + 1) * sizeof e);
  if (!more) return -ENOMEM;
  h->events = more;
  h->events[h->count++] = e;
  return 0;
}
static int parse_script(struct hardware *h, const char *script) {
  char *copy = strdup(script), *save = NULL;
  int err = copy ? 0 : -ENOMEM;
  for (char *p = copy ? strtok_r(copy, ";\n", &save) : NULL; p && err == 0; p = strtok_r(NULL, ";\n", &save)) {
    p += strspn(p, " \t\r");
    if (*p && *p != '#' && (err = parse_entry(h, p)) < 0) SNDERR("scriptmic: bad script entry: %s", p);
  }
  free(copy);
  return err;
}

/* ---- the hardware's clock ---- */
static void advance(struct mic *m, double to) {
  struct hardware *h = m->hw;
  double from = h->last;
  if (from < h->frozen) from = h->frozen < to ? h->frozen : to;
  h->position += (to - from) * m->io.rate * (1 + h->ppm / 1e6);
  h->last = to;
}
static void fire(struct mic *m, struct event *e, double at) {
  struct hardware *h = m->hw;
  int running = m->io.state == SND_PCM_STATE_RUNNING;
  double until = at + e->a / 1e3;
  e->done = 1;
  switch (e->kind) {
  case XRUN: h->position += e->a; if (running) snd_pcm_ioplug_set_state(&m->io, SND_PCM_STATE_XRUN); break;
  case SUSPEND: h->asleep = until; if (running) snd_pcm_ioplug_set_state(&m->io, SND_PCM_STATE_SUSPENDED); break;
  case UNPLUG: h->gone = e->a > 0 ? until : INFINITY; snd_pcm_ioplug_set_state(&m->io, SND_PCM_STATE_DISCONNECTED); break;
  case STALL: h->stalled = until; break;
  case FREEZE: h->frozen = until; break;
  case SKIP: h->position += e->a; m->read += e->a; m->base += e->a; break;
  case SHORT: h->short_frames = (int)e->a; h->shorts_left = (int)e->b; h->short_ended = 0; break;
  case ERR: h->error = (int)e->a; h->errors_left = (int)e->b; break;
  case DRIFT: h->ppm = e->a; break;
  case MUTE: h->muted = until; break;
  }
  say(m, "event %s %g %g at frame %.0f, program at %.0f", kinds[e->kind], e->a, e->b, floor(h->position), m->read);
}
/* Moves the clock to now, firing events on the way. On demand it moves a period ahead of the reader. */
static void tick(struct mic *m) {
  struct hardware *h = m->hw;
  if (!h->epoch) return;
  double t = now();
  if (m->on_demand) {
    double ahead = m->read + (double)m->avail_min;
    if (m->io.state == SND_PCM_STATE_RUNNING && h->position < ahead) h->position = ahead;
    t = h->last = device_time(m);
  }
  for (int i = 0; i < h->count; i++) {
    double at = h->epoch + h->events[i].at;
    if (h->events[i].done || at > t) continue;
    if (!m->on_demand && at > h->last) advance(m, at);
    fire(m, &h->events[i], at);
  }
  if (!m->on_demand && t > h->last) advance(m, t);
  if (t >= h->stalled) h->shown = h->position;
}
static double available(struct mic *m) { return floor(m->hw->shown) - m->read; }

/* Wakes the poller when avail_min frames are there, or at the next event, whichever comes first. */
static void arm(struct mic *m) {
  struct hardware *h = m->hw;
  double t = now(), rate = m->io.rate * (1 + h->ppm / 1e6);
  double need = (double)m->avail_min - available(m);
  double at = t + (need > 0 ? need / rate : 0) + 1e-6;
  if (h->frozen > t && at < h->frozen + need / rate) at = h->frozen + need / rate;
  if (at < h->stalled) at = h->stalled;
  for (int i = 0; i < h->count; i++)
    if (!h->events[i].done && h->epoch + h->events[i].at < at) at = h->epoch + h->events[i].at;
  if (m->io.state != SND_PCM_STATE_RUNNING || m->on_demand) at = t;
  struct itimerspec s = { .it_value = { (time_t)at, (long)((at - floor(at)) * 1e9) } };
  if (!s.it_value.tv_sec && !s.it_value.tv_nsec) s.it_value.tv_nsec = 1;
  timerfd_settime(m->timer, TFD_TIMER_ABSTIME, &s, NULL);
}

/* ---- what alsa-lib calls ---- */
static int mic_start(snd_pcm_ioplug_t *io) {
  struct mic *m = io->private_data;
  struct hardware *h = m->hw;
  if (!h->epoch) {
    h->epoch = h->last = now();
    if (m->counter) m->counter[0] = h->epoch;
    say(m, "epoch %.6f", h->epoch);
  } else tick(m);  /* the first start is at frame 0, however long that took */
  if (device_time(m) < h->gone) return -ENODEV;
  m->base = m->read = floor(h->position);
  h->shown = h->position;
  m->told = 0;
  say(m, "start at frame %.0f", m->base);
  arm(m);
  return 0;
}
static int mic_stop(snd_pcm_ioplug_t *io) {
  struct mic *m = io->private_data;
  struct itimerspec s = { 0 };
  timerfd_settime(m->timer, 0, &s, NULL);
  say(m, "stop at frame %.0f, program at %.0f", floor(m->hw->position), m->read);
  return 0;
}
static int mic_prepare(snd_pcm_ioplug_t *io) {
  struct mic *m = io->private_data;
  if (m->hw->epoch) {
    tick(m);
    if (device_time(m) < m->hw->gone) return -ENODEV;
    nap(m->hw->asleep - device_time(m));  /* the kernel waits for the power to be back */
  }
  say(m, "prepare at frame %.0f, program at %.0f", floor(m->hw->position), m->read);
  return 0;
}
static int mic_resume(snd_pcm_ioplug_t *io) {  /* alsa-lib throws away what this returns */
  struct mic *m = io->private_data;
  if (now() < m->hw->asleep) return -EAGAIN;
  tick(m);
  m->hw->shown = m->hw->position;
  double lost = floor(m->hw->position) - m->base - m->told;  /* unheard while asleep */
  m->base += lost;
  m->read += lost;
  say(m, "resume, lost %.0f", lost);
  snd_pcm_ioplug_set_state(io, SND_PCM_STATE_RUNNING);
  arm(m);
  return 0;
}
static snd_pcm_sframes_t mic_pointer(snd_pcm_ioplug_t *io) {
  struct mic *m = io->private_data;
  tick(m);
  if (io->state == SND_PCM_STATE_XRUN) return -EPIPE;
  int still = io->state == SND_PCM_STATE_SUSPENDED || io->state == SND_PCM_STATE_DISCONNECTED;
  if (!still && available(m) > (double)io->buffer_size) {
    say(m, "overrun by %.0f", available(m) - (double)io->buffer_size);
    snd_pcm_ioplug_set_state(io, SND_PCM_STATE_XRUN);
    return -EPIPE;
  }
  if (io->state != SND_PCM_STATE_SUSPENDED) {
    double p = floor(m->hw->shown) - m->base;
    if (p > m->told) m->told = p;
  }
  return (snd_pcm_sframes_t)fmod(m->told, m->boundary ? (double)m->boundary : (double)io->buffer_size);
}

/* One sample of the WAV file as 24 bits, between its neighbours where the rates differ. */
static int32_t wav_sample(struct mic *m, double frame) {
  double x = frame * m->file_rate / m->io.rate;
  size_t i = (size_t)x, j = i + 1;
  if (m->loop) {
    i %= m->frames;
    j %= m->frames;
  } else {
    if (i >= m->frames) return 0;
    if (j >= m->frames) j = i;
  }
  const int16_t *pcm = (const int16_t *)(const void *)m->file;
  double part = x - floor(x);
  return (int32_t)lrint((pcm[i] * (1 - part) + pcm[j] * part) * 256);
}
static void put(uint8_t *to, snd_pcm_format_t format, int32_t v) {
  switch (format) {
  case SND_PCM_FORMAT_U8: *to = (uint8_t)((v >> 16) + 128); break;
  case SND_PCM_FORMAT_S16_LE: { int16_t s = (int16_t)(v >> 8); memcpy(to, &s, 2); break; }
  case SND_PCM_FORMAT_S24_3LE: memcpy(to, &v, 3); break;
  case SND_PCM_FORMAT_S24_LE: memcpy(to, &v, 4); break;
  case SND_PCM_FORMAT_S32_LE: { int32_t s = (int32_t)((uint32_t)v << 8); memcpy(to, &s, 4); break; }
  case SND_PCM_FORMAT_FLOAT_LE: { float s = (float)v / 8388608.0f; memcpy(to, &s, 4); break; }
  default: break;
  }
}
static snd_pcm_sframes_t mic_transfer(
    snd_pcm_ioplug_t *io, const snd_pcm_channel_area_t *areas, snd_pcm_uframes_t offset, snd_pcm_uframes_t n) {
  struct mic *m = io->private_data;
  struct hardware *h = m->hw;
  if (h->errors_left > 0) {
    h->errors_left--;
    say(m, "answers error %d", h->error);
    return -h->error;
  }
  if (h->shorts_left > 0) {  /* some frames, and then EAGAIN ends the read: readi returns the some */
    if (h->short_ended) {
      h->short_ended = 0;
      h->shorts_left--;
      return -EAGAIN;
    }
    if (n > (snd_pcm_uframes_t)h->short_frames) n = (snd_pcm_uframes_t)h->short_frames;
    h->short_ended = 1;
    say(m, "short read of %lu", n);
  }
  int mute = device_time(m) < h->muted;
  size_t width = (size_t)snd_pcm_format_physical_width(io->format) / 8;
  for (snd_pcm_uframes_t k = 0; k < n; k++) {
    double frame = m->read + (double)k;
    int32_t v = m->file_rate && !mute ? wav_sample(m, frame) : 0;
    for (unsigned c = 0; c < io->channels; c++) {
      uint8_t *to = (uint8_t *)areas[c].addr + (areas[c].first + areas[c].step * (offset + k)) / 8;
      int past = !m->loop && frame >= (double)m->frames;
      if (m->file_rate || mute || past) put(to, io->format, v);
      else memcpy(to, m->file + ((size_t)frame % m->frames * io->channels + c) * width, width);
    }
  }
  m->read += (double)n;
  if (m->counter) m->counter[1] = m->read;
  arm(m);
  return (snd_pcm_sframes_t)n;
}
static int mic_poll_revents(snd_pcm_ioplug_t *io, struct pollfd *p, unsigned n, unsigned short *events) {
  struct mic *m = io->private_data;
  uint64_t times;
  (void)n;
  *events = 0;
  if (!(p[0].revents & POLLIN)) return 0;
  tick(m);
  if (io->state == SND_PCM_STATE_RUNNING && available(m) > (double)io->buffer_size) mic_pointer(io);
  if (io->state != SND_PCM_STATE_RUNNING) {
    *events = POLLIN | POLLERR;
    return 0;
  }
  if (available(m) >= (double)m->avail_min) {
    *events = POLLIN;
    return 0;
  }
  if (read(m->timer, &times, sizeof times) < 0) { /* emptied before */ }
  arm(m);
  return 0;
}
static int mic_sw_params(snd_pcm_ioplug_t *io, snd_pcm_sw_params_t *p) {
  struct mic *m = io->private_data;
  snd_pcm_sw_params_get_avail_min(p, &m->avail_min);
  snd_pcm_sw_params_get_boundary(p, &m->boundary);
  return 0;
}
static int mic_hw_params(snd_pcm_ioplug_t *io, snd_pcm_hw_params_t *p) {
  struct mic *m = io->private_data;
  (void)p;
  m->avail_min = io->period_size;
  if (!m->file_rate) m->frames = m->bytes / ((size_t)snd_pcm_format_physical_width(io->format) / 8 * io->channels);
  say(m, "hw_params %s %u Hz %u ch period %lu buffer %lu", snd_pcm_format_name(io->format), io->rate, io->channels,
      io->period_size, io->buffer_size);
  return m->frames ? 0 : -EINVAL;
}
static void release(struct mic *m) {
  m->hw->taken = 0;
  if (m->log) fclose(m->log);
  if (m->counter) munmap((void *)(uintptr_t)m->counter, 4096);
  if (m->timer >= 0) close(m->timer);
  free(m->file);
  free(m);
}
static int mic_close(snd_pcm_ioplug_t *io) {
  say(io->private_data, "close");
  release(io->private_data);
  return 0;
}
static const snd_pcm_ioplug_callback_t callbacks = {
  .start = mic_start, .stop = mic_stop, .pointer = mic_pointer, .transfer = mic_transfer, .prepare = mic_prepare,
  .resume = mic_resume, .poll_revents = mic_poll_revents, .sw_params = mic_sw_params, .hw_params = mic_hw_params,
  .close = mic_close,
};

/* ---- the file ---- */
static int slurp(const char *path, uint8_t **to, size_t *size) {
  FILE *f = fopen(path, "rb");
  if (!f) return -errno;
  fseek(f, 0, SEEK_END);
  long n = ftell(f);
  rewind(f);
  *to = malloc(n > 0 ? (size_t)n + 1 : 1);
  int ok = *to && n >= 0 && fread(*to, 1, (size_t)n, f) == (size_t)n;
  fclose(f);
  *size = ok ? (size_t)n : 0;
  return ok ? 0 : -EIO;
}
static uint32_t le(const uint8_t *p, int n) {
  uint32_t v = 0;
  while (n--) v = v << 8 | p[n];
  return v;
}
/* 16-bit PCM WAV: keeps its first channel. */
static int load_wav(struct mic *m, const char *path) {
  uint8_t *b = NULL;
  size_t size, data = 0, length = 0;
  unsigned channels = 0;
  int err = slurp(path, &b, &size);
  if (err == 0 && (size < 44 || memcmp(b, "RIFF", 4))) err = -EINVAL;
  for (size_t o = 12; err == 0 && o + 8 <= size && !data;) {
    size_t n = le(b + o + 4, 4);
    if (!memcmp(b + o, "fmt ", 4) && o + 24 <= size) {
      channels = le(b + o + 10, 2);
      m->file_rate = le(b + o + 12, 4);
      if (le(b + o + 22, 2) != 16) err = -EINVAL;
    }
    if (!memcmp(b + o, "data", 4)) {
      data = o + 8;
      length = n < size - data ? n : size - data;
    }
    o += 8 + n + (n & 1);
  }
  if (err == 0 && (!data || !channels || !m->file_rate || length < 2 * channels)) err = -EINVAL;
  if (err == 0) {
    m->frames = length / 2 / channels;
    m->file = malloc(m->frames * 2);
    for (size_t i = 0; m->file && i < m->frames; i++) memcpy(m->file + 2 * i, b + data + 2 * i * channels, 2);
    if (!m->file) err = -ENOMEM;
  }
  free(b);
  return err;
}

/* ---- opening ---- */
static volatile double *share(const char *path) {
  int file = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
  void *at = file < 0 || ftruncate(file, 4096) < 0 ? MAP_FAILED : mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  if (file >= 0) close(file);
  return at == MAP_FAILED ? NULL : at;
}
struct keys {
  const char *wav, *raw, *script, *formats, *log, *counter;
  long rate_min, rate_max, channels_min, channels_max, period_min, period_max, buffer_max, loop, drift, demand, open_error;
};
static int read_keys(snd_config_t *conf, struct keys *k) {
  snd_config_iterator_t i, next;
  snd_config_for_each(i, next, conf) {
    snd_config_t *entry = snd_config_iterator_entry(i);
    const char *id, *s;
    long v;
    if (snd_config_get_id(entry, &id) < 0 || !strcmp(id, "type") || !strcmp(id, "comment") || !strcmp(id, "hint")) continue;
    const struct { const char *id; const char **to; } texts[] = {
      { "wav", &k->wav }, { "raw", &k->raw }, { "script", &k->script }, { "formats", &k->formats }, { "log", &k->log },
      { "counter", &k->counter } };
    const struct { const char *id; long *to, *also; } numbers[] = {
      { "rate", &k->rate_min, &k->rate_max }, { "rate_min", &k->rate_min, 0 }, { "rate_max", &k->rate_max, 0 },
      { "channels", &k->channels_min, &k->channels_max }, { "channels_min", &k->channels_min, 0 },
      { "channels_max", &k->channels_max, 0 }, { "period_min", &k->period_min, 0 }, { "period_max", &k->period_max, 0 },
      { "buffer_max", &k->buffer_max, 0 }, { "loop", &k->loop, 0 }, { "drift_ppm", &k->drift, 0 },
      { "on_demand", &k->demand, 0 } };
    int known = 0;
    for (size_t n = 0; n < sizeof texts / sizeof *texts; n++)
      if (!strcmp(id, texts[n].id)) {
        if (snd_config_get_string(entry, &s) < 0) return -EINVAL;
        *texts[n].to = s;
        known = 1;
      }
    for (size_t n = 0; n < sizeof numbers / sizeof *numbers; n++)
      if (!strcmp(id, numbers[n].id)) {
        if (snd_config_get_integer(entry, &v) < 0) return -EINVAL;
        *numbers[n].to = v;
        if (numbers[n].also) *numbers[n].also = v;
        known = 1;
      }
    if (!strcmp(id, "open_error")) {
      if (snd_config_get_string(entry, &s) < 0) return -EINVAL;
      k->open_error = error_number(s);
      known = 1;
    }
    if (!known) {
      SNDERR("scriptmic: unknown key %s", id);
      return -EINVAL;
    }
  }
  return (k->wav && *k->wav) || (k->raw && *k->raw) ? 0 : -EINVAL;
}
static int find_hardware(const char *name, const struct keys *k, struct hardware **to) {
  int err = 0;
  pthread_mutex_lock(&all_lock);
  struct hardware *h = all;
  while (h && strcmp(h->name, name)) h = h->next;
  if (!h) {
    h = calloc(1, sizeof *h);
    h->name = strdup(name);
    h->ppm = (double)k->drift;
    err = parse_script(h, k->script);
    h->next = all;
    all = h;
  }
  if (err == 0 && h->taken) err = -EBUSY;
  if (err == 0) h->taken = 1;
  pthread_mutex_unlock(&all_lock);
  *to = h;
  return err;
}
static int limit(struct mic *m, const struct keys *k) {
  unsigned formats[16], count = 0, widest = 1;
  unsigned access[] = { SND_PCM_ACCESS_RW_INTERLEAVED, SND_PCM_ACCESS_RW_NONINTERLEAVED, SND_PCM_ACCESS_MMAP_INTERLEAVED };
  char *list = strdup(k->formats), *save = NULL;
  for (char *p = strtok_r(list, ", ", &save); p && count < 16; p = strtok_r(NULL, ", ", &save)) {
    snd_pcm_format_t f = snd_pcm_format_value(p);
    if (f < 0) {
      free(list);
      return -EINVAL;
    }
    formats[count++] = (unsigned)f;
    unsigned width = (unsigned)snd_pcm_format_physical_width(f) / 8;
    if (width > widest) widest = width;
  }
  free(list);
  snd_pcm_ioplug_t *io = &m->io;
  int err = snd_pcm_ioplug_set_param_list(io, SND_PCM_IOPLUG_HW_ACCESS, 3, access);
  if (err >= 0) err = snd_pcm_ioplug_set_param_list(io, SND_PCM_IOPLUG_HW_FORMAT, count, formats);
#define RANGE(what, low, high) if (err >= 0) err = snd_pcm_ioplug_set_param_minmax(io, what, (unsigned)(low), (unsigned)(high))
  RANGE(SND_PCM_IOPLUG_HW_RATE, k->rate_min, k->rate_max);
  RANGE(SND_PCM_IOPLUG_HW_CHANNELS, k->channels_min, k->channels_max);
  RANGE(SND_PCM_IOPLUG_HW_PERIOD_BYTES, k->period_min, k->period_max * widest * k->channels_max);
  RANGE(SND_PCM_IOPLUG_HW_BUFFER_BYTES, 2 * k->period_min, k->buffer_max);
  RANGE(SND_PCM_IOPLUG_HW_PERIODS, 2, 1024);
  return err;
}

SND_PCM_PLUGIN_DEFINE_FUNC(scriptmic) {
  struct keys k = { .script = "", .formats = "S16_LE", .rate_min = 48000, .rate_max = 48000, .channels_min = 1,
                    .channels_max = 1, .period_min = 8, .period_max = 192000, .buffer_max = 1 << 22, .loop = 1 };
  struct hardware *hw = NULL;
  (void)root;
  if (stream != SND_PCM_STREAM_CAPTURE) return -EINVAL;
  int err = read_keys(conf, &k);
  if (err < 0) return err;
  if (k.open_error) return -(int)k.open_error;
  if ((err = find_hardware(name, &k, &hw)) < 0) return err;
  struct mic *m = calloc(1, sizeof *m);
  m->hw = hw;
  m->loop = (int)k.loop;
  m->on_demand = (int)k.demand;
  if (k.log && *k.log) m->log = fopen(k.log, "a");
  if (k.counter && *k.counter) m->counter = share(k.counter);
  m->timer = timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK | TFD_CLOEXEC);
  if (m->timer < 0) err = -errno;
  else if (!m->on_demand && now() < hw->gone) err = -ENODEV;
  else err = k.wav && *k.wav ? load_wav(m, k.wav) : slurp(k.raw, &m->file, &m->bytes);
  if (err < 0) {
    release(m);
    return err;
  }
  m->io.version = SND_PCM_IOPLUG_VERSION;
  m->io.name = "scriptmic";
  m->io.callback = &callbacks;
  m->io.private_data = m;
  m->io.poll_fd = m->timer;
  m->io.poll_events = POLLIN;
  m->io.flags = SND_PCM_IOPLUG_FLAG_MONOTONIC | SND_PCM_IOPLUG_FLAG_BOUNDARY_WA;
  if ((err = snd_pcm_ioplug_create(&m->io, name, stream, mode)) < 0) {
    release(m);
    return err;
  }
  if ((err = limit(m, &k)) < 0) {
    snd_pcm_ioplug_delete(&m->io);  /* calls mic_close */
    return err;
  }
  *pcmp = m->io.pcm;
  return 0;
}
SND_PCM_PLUGIN_SYMBOL(scriptmic);
