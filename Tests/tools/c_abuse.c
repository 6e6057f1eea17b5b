/* Everything a C program can get wrong with libholdfast; ends with "done" where each was answered. */
#include <holdfast.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#define IS(call, wanted) do { int got = (call); if (got != (wanted)) { \
  printf("%d: %s is %d, not %d\n", __LINE__, #call, got, (wanted)); exit(1); } } while (0)

static holdfast_recorder *make(const char *folder) {
  holdfast_settings s;
  holdfast_settings_init(&s, sizeof s);
  s.folder = folder;
  s.input = "tone:440";
  s.realtime = 1;
  holdfast_recorder *r = NULL;
  IS(holdfast_recorder_create(&s, &r, NULL), HOLDFAST_OK);
  return r;
}

struct shared { holdfast_recorder *recorder; int events; int destroyed; };
static void told(const holdfast_event *event, void *user) {
  struct shared *s = user;
  s->events++;
  if (!event->json || event->json[0] != '{') exit(2);
  if (event->type == HOLDFAST_EVENT_LEVEL && event->effective_ms > 200) {
    holdfast_snapshot now = { .size = sizeof now };
    IS(holdfast_recorder_snapshot(s->recorder, &now), HOLDFAST_OK);
    IS(holdfast_recorder_mark(s->recorder, "here"), HOLDFAST_OK);
    IS(holdfast_recorder_destroy(s->recorder), HOLDFAST_OK);
    s->destroyed = 1;
  }
}

static void *hammer(void *raw) {
  holdfast_recorder *r = raw;
  for (int i = 0; i < 2000; i++) {
    holdfast_snapshot now = { .size = sizeof now };
    char *text = NULL;
    switch (i % 6) {
    case 0: holdfast_recorder_pause(r); break;
    case 1: holdfast_recorder_resume(r); break;
    case 2: holdfast_recorder_mark(r, NULL); break;
    case 3: holdfast_recorder_snapshot(r, &now); break;
    case 4: holdfast_recorder_path(r, &text); holdfast_free(text); break;
    default: holdfast_recorder_error(r, &text); holdfast_free(text);
    }
  }
  return NULL;
}

static void *begin(void *raw) {
  holdfast_recorder_start(raw);
  return NULL;
}
static void *reader(void *raw) {
  holdfast_event event = { .size = sizeof event };
  while (holdfast_recorder_next_event(raw, -1, &event) == HOLDFAST_OK) {}
  return NULL;
}
/* KiB of address space. */
static long mapped(void) {
  long pages = 0;
  FILE *file = fopen("/proc/self/statm", "r");
  if (!file || fscanf(file, "%ld", &pages) != 1) exit(3);
  fclose(file);
  return pages * 4;
}

static void slow(const holdfast_event *event, void *user) {
  usleep(30000);
  *(int *)user += event->type == HOLDFAST_EVENT_SEALED;
}

int main(int argc, char **argv) {
  if (argc != 2) return 64;
  char *text = NULL;
  holdfast_recorder *none = NULL, *wild = (holdfast_recorder *)(size_t)0x1234560;
  holdfast_snapshot now = { .size = sizeof now };
  holdfast_event event = { .size = sizeof event };
  holdfast_settings bad;

  /* NULL, wild, too small */
  IS(holdfast_recorder_create(NULL, &none, NULL), HOLDFAST_ARGUMENT);
  memset(&bad, 0, sizeof bad);
  IS(holdfast_recorder_create(&bad, &none, &text), HOLDFAST_ARGUMENT);
  holdfast_settings_init(&bad, sizeof bad);
  IS(holdfast_recorder_create(&bad, NULL, NULL), HOLDFAST_ARGUMENT);
  bad.input = "nonsense";
  IS(holdfast_recorder_create(&bad, &none, &text), HOLDFAST_USAGE);
  if (!text || !strstr(text, "nonsense")) return printf("no word on the settings\n"), 1;
  holdfast_free(text);
  bad.input = "-";
  IS(holdfast_recorder_create(&bad, &none, &text), HOLDFAST_USAGE);
  holdfast_free(text);
  bad.input = NULL; bad.context = "\xff\xfe";
  IS(holdfast_recorder_create(&bad, &none, &text), HOLDFAST_USAGE);
  holdfast_free(text);
  bad.context = NULL; bad.bitrate = 7;
  IS(holdfast_recorder_create(&bad, &none, &text), HOLDFAST_USAGE);
  holdfast_recorder *wrong[] = { NULL, wild };
  for (int i = 0; i < 2; i++) {
    IS(holdfast_recorder_start(wrong[i]), HOLDFAST_ARGUMENT);
    IS(holdfast_recorder_stop(wrong[i]), HOLDFAST_ARGUMENT);
    IS(holdfast_recorder_snapshot(wrong[i], &now), HOLDFAST_ARGUMENT);
    IS(holdfast_recorder_next_event(wrong[i], 0, &event), HOLDFAST_ARGUMENT);
    IS(holdfast_recorder_error(wrong[i], &text), HOLDFAST_ARGUMENT);
    IS(holdfast_recorder_destroy(wrong[i]), HOLDFAST_ARGUMENT);
  }
  holdfast_settings_init(NULL, 0);
  holdfast_free(NULL);
  if (!holdfast_status_text(12345) || !holdfast_version()) return 1;
  IS(holdfast_inspect(NULL, &text), HOLDFAST_ARGUMENT);
  IS(holdfast_inspect("/nonexistent.opus", &text), HOLDFAST_NO_INPUT);
  if (!text || !strstr(text, "\"message\"")) return 1;
  holdfast_free(text);

  /* wrong times */
  holdfast_recorder *r = make(argv[1]);
  IS(holdfast_recorder_permission(r), HOLDFAST_OK);
  IS(holdfast_recorder_pause(r), HOLDFAST_STATE);
  IS(holdfast_recorder_stop(r), HOLDFAST_STATE);
  IS(holdfast_recorder_wait(r, 0), HOLDFAST_STATE);
  IS(holdfast_recorder_snapshot(r, NULL), HOLDFAST_ARGUMENT);
  now.size = 4;
  IS(holdfast_recorder_snapshot(r, &now), HOLDFAST_ARGUMENT);
  now.size = sizeof now;
  IS(holdfast_recorder_start(r), HOLDFAST_OK);
  IS(holdfast_recorder_start(r), HOLDFAST_STATE);
  IS(holdfast_recorder_set_callback(r, told, NULL), HOLDFAST_STATE);
  IS(holdfast_recorder_go_on(r), HOLDFAST_STATE);
  IS(holdfast_recorder_keep(r), HOLDFAST_STATE);
  IS(holdfast_recorder_wait(r, 10), HOLDFAST_TIMEOUT);

  /* words that are too long mark nothing; words that are just not do */
  char *words = malloc(200001);
  for (int length = 1; length <= 200000; length = length == 1 ? 4096 : length == 4096 ? 4097 : length * 3 / 2) {
    memset(words, 'x', length);
    words[length] = 0;
    IS(holdfast_recorder_mark(r, words), length <= 4096 ? HOLDFAST_OK : HOLDFAST_USAGE);
  }
  free(words);

  /* many threads, and a fork */
  pthread_t threads[8];
  for (int i = 0; i < 8; i++) pthread_create(&threads[i], NULL, hammer, r);
  pid_t child = fork();
  if (child == 0) _exit(holdfast_recorder_stop(r) == HOLDFAST_FORKED ? 0 : 1);
  int ended = -1;
  waitpid(child, &ended, 0);
  if (ended != 0) return printf("the child\n"), 1;
  for (int i = 0; i < 8; i++) pthread_join(threads[i], NULL);
  holdfast_recorder_stop(r);
  IS(holdfast_recorder_stop(r), HOLDFAST_OK);
  IS(holdfast_recorder_wait(r, -1), HOLDFAST_OK);
  int status, sealed = 0;
  while ((status = holdfast_recorder_next_event(r, 0, &event)) == HOLDFAST_OK) sealed += event.type == HOLDFAST_EVENT_SEALED;
  IS(status, HOLDFAST_END);
  if (sealed != 1) return printf("%d sealed\n", sealed), 1;
  IS(holdfast_recorder_destroy(r), HOLDFAST_OK);
  IS(holdfast_recorder_destroy(r), HOLDFAST_ARGUMENT);

  /* a callback that calls back in, and destroys */
  struct shared s = { make(argv[1]), 0, 0 };
  IS(holdfast_recorder_set_callback(s.recorder, told, &s), HOLDFAST_OK);
  IS(holdfast_recorder_next_event(s.recorder, 0, &event), HOLDFAST_STATE);
  IS(holdfast_recorder_start(s.recorder), HOLDFAST_OK);
  for (int i = 0; i < 500 && !s.destroyed; i++) usleep(20000);
  if (!s.destroyed) return printf("not destroyed\n"), 1;
  IS(holdfast_recorder_stop(s.recorder), HOLDFAST_ARGUMENT);
  for (int i = 0; i < 500 && holdfast_unfinished(argv[1], NULL, &text) != HOLDFAST_OK; i++) usleep(20000);
  if (!text) return printf("the left take isn't there\n"), 1;
  IS(holdfast_recover(text, &text), HOLDFAST_OK);

  /* destroyed when it has ended: a callback that is slow still hears that it is sealed */
  int heard = 0;
  r = make(argv[1]);
  IS(holdfast_recorder_set_callback(r, slow, &heard), HOLDFAST_OK);
  IS(holdfast_recorder_start(r), HOLDFAST_OK);
  char *take = NULL;
  IS(holdfast_recorder_path(r, &take), HOLDFAST_OK);
  IS(holdfast_recorder_stop(r), HOLDFAST_OK);
  IS(holdfast_recorder_wait(r, -1), HOLDFAST_OK);
  IS(holdfast_recorder_destroy(r), HOLDFAST_OK);
  if (heard != 1) return printf("%d sealed heard\n", heard), 1;
  IS(holdfast_discard(NULL, &text), HOLDFAST_ARGUMENT);
  IS(holdfast_discard(take, &text), HOLDFAST_NO_INPUT); /* it is finished */
  holdfast_free(text);
  holdfast_free(take);
  r = make(argv[1]);
  IS(holdfast_recorder_start(r), HOLDFAST_OK);
  IS(holdfast_recorder_path(r, &take), HOLDFAST_OK);
  IS(holdfast_discard(take, &text), HOLDFAST_BUSY);
  holdfast_free(text);
  IS(holdfast_recorder_destroy(r), HOLDFAST_OK);
  IS(holdfast_discard(take, &text), HOLDFAST_OK);
  if (!strstr(text, "\"discarded\"")) return printf("%s\n", text), 1;
  holdfast_free(text);
  IS(holdfast_discard(take, &text), HOLDFAST_NO_INPUT);
  holdfast_free(text);
  holdfast_free(take);

  /* what failed is told before its event is read */
  r = make(argv[1]);
  IS(holdfast_recorder_start(r), HOLDFAST_OK);
  struct rlimit few, limit;
  getrlimit(RLIMIT_NOFILE, &limit);
  few = limit;
  few.rlim_cur = 3;
  setrlimit(RLIMIT_NOFILE, &few);
  IS(holdfast_recorder_stop(r), HOLDFAST_OK);
  IS(holdfast_recorder_wait(r, -1), HOLDFAST_OK);
  setrlimit(RLIMIT_NOFILE, &limit);
  IS(holdfast_recorder_error(r, &text), HOLDFAST_OK);
  if (!*text) return printf("a failure without words\n"), 1;
  holdfast_free(text);
  IS(holdfast_recorder_destroy(r), HOLDFAST_OK);
  IS(holdfast_recover(argv[1], &text), HOLDFAST_OK);
  holdfast_free(text);

  /* a reader waits for a recorder that never begins */
  pthread_t waiting;
  r = make(argv[1]);
  pthread_create(&waiting, NULL, reader, r);
  usleep(100000);
  IS(holdfast_recorder_destroy(r), HOLDFAST_OK);
  pthread_join(waiting, NULL);

  /* begun and destroyed at once, by three */
  for (int round = 0; round < 60; round++) {
    r = make(argv[1]);
    pthread_t a, b;
    pthread_create(&a, NULL, begin, r);
    pthread_create(&b, NULL, begin, r);
    usleep(round * 300);
    IS(holdfast_recorder_destroy(r), HOLDFAST_OK);
    pthread_join(a, NULL);
    pthread_join(b, NULL);
  }

  /* what was left can't be kept by its old recorder */
  r = make(argv[1]);
  IS(holdfast_recorder_start(r), HOLDFAST_OK);
  IS(holdfast_recorder_leave(r), HOLDFAST_OK);
  IS(holdfast_recorder_keep(r), HOLDFAST_STATE);
  IS(holdfast_recorder_destroy(r), HOLDFAST_OK);

  /* takes by the hundred: memory is flat */
  long before = mapped();
  for (int i = 0; i < 100; i++) {
    r = make(argv[1]);
    IS(holdfast_recorder_start(r), HOLDFAST_OK);
    IS(holdfast_recorder_discard(r), HOLDFAST_OK);
    IS(holdfast_recorder_destroy(r), HOLDFAST_OK);
  }
  if (mapped() - before > 200 * 1024) return printf("%ld KiB more after 100 takes\n", mapped() - before), 1;

  /* destroyed while it records: left */
  r = make(argv[1]);
  IS(holdfast_recorder_start(r), HOLDFAST_OK);
  IS(holdfast_recorder_destroy(r), HOLDFAST_OK);
  puts("done");
  return 0;
}
