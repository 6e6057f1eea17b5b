/* c_cycles FOLDER N: N times create, record, stop or leave, destroy; then whether descriptors, threads and memory are as before.
 * What a sanitizer finds is its own to say. Ends with "done". */
#include <dirent.h>
#include <holdfast.h>
#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define IS(call, wanted) do { int got = (call); if (got != (wanted)) { \
  printf("%d: %s is %d, not %d\n", __LINE__, #call, got, (wanted)); exit(1); } } while (0)

static int entries(const char *folder) {
  DIR *d = opendir(folder);
  int n = 0;
  while (d && readdir(d)) n++;
  if (d) closedir(d);
  return n;
}
static long resident_kb(void) {
  long kb = -1;
  char line[256];
  FILE *f = fopen("/proc/self/status", "r");
  while (f && fgets(line, sizeof line, f)) if (sscanf(line, "VmRSS: %ld", &kb) == 1) break;
  if (f) fclose(f);
  return kb;
}

static int heard;
static void told(const holdfast_event *event, void *user) {
  (void)user;
  heard += event->type == HOLDFAST_EVENT_SEALED;
}

static void cycle(const char *folder, int i) {
  holdfast_settings s;
  holdfast_settings_init(&s, sizeof s);
  s.folder = folder;
  s.input = "tone:440";
  s.max_ms = 40;
  s.complexity = 0;
  s.context = "{\"n\":1}";
  holdfast_recorder *r = NULL;
  char *text = NULL, *path = NULL;
  IS(holdfast_recorder_create(&s, &r, &text), HOLDFAST_OK);
  holdfast_free(text);
  int calls_back = i % 2;
  if (calls_back) IS(holdfast_recorder_set_callback(r, told, NULL), HOLDFAST_OK);
  IS(holdfast_recorder_start(r), HOLDFAST_OK);
  holdfast_snapshot now = { .size = sizeof now };
  IS(holdfast_recorder_snapshot(r, &now), HOLDFAST_OK);
  holdfast_recorder_mark(r, "m");
  IS(holdfast_recorder_path(r, &path), HOLDFAST_OK);
  switch (i % 4) {
  case 0: case 1: IS(holdfast_recorder_stop(r), HOLDFAST_OK); break;
  case 2: holdfast_recorder_leave(r); break;
  default: break; /* destroyed as it runs */
  }
  if (i % 4 != 3) {
    IS(holdfast_recorder_wait(r, 10000), HOLDFAST_OK);
    holdfast_event event = { .size = sizeof event };
    while (!calls_back && holdfast_recorder_next_event(r, 1000, &event) == HOLDFAST_OK) heard += event.type == HOLDFAST_EVENT_SEALED;
  }
  IS(holdfast_recorder_destroy(r), HOLDFAST_OK);
  if (i % 4 == 2) {
    int code = holdfast_recover(path, &text);
    if (code != HOLDFAST_OK && code != HOLDFAST_NO_INPUT) IS(code, HOLDFAST_OK);
    holdfast_free(text);
  }
  if (i % 16 == 0) {
    holdfast_list(folder, NULL, &text);
    holdfast_free(text);
  }
  if (i % 8 == 5) {
    IS(holdfast_inspect(path, &text), HOLDFAST_OK);
    holdfast_free(text);
  }
  holdfast_free(path);
  if (i % 64 == 63) { /* a short list is a quick one */
    int code = holdfast_wipe(folder, NULL, &text);
    if (code != HOLDFAST_OK && code != HOLDFAST_KEPT) IS(code, HOLDFAST_OK);
    holdfast_free(text);
  }
}

int main(int count, char **words) {
  if (count != 3) return 64;
  int n = atoi(words[2]), warm = n / 4;
  long files = 0, threads = 0, memory = 0;
  for (int i = 0; i < n; i++) {
    if (i == warm) {
      malloc_trim(0);
      files = entries("/proc/self/fd"), threads = entries("/proc/self/task"), memory = resident_kb();
    }
    cycle(words[1], i);
  }
  malloc_trim(0);
  usleep(50000); /* a thread that was joined is gone from /proc a little later */
  printf("%d sealed, descriptors %ld to %d, threads %ld to %d, %ld to %ld kB\n", heard, files, entries("/proc/self/fd"), threads,
         entries("/proc/self/task"), memory, resident_kb());
  if (entries("/proc/self/fd") != files || entries("/proc/self/task") != threads) return 1;
  if (heard < n / 4) return 1;
  puts("done");
  return 0;
}
