/* A recorder in C99:  recorder FOLDER INPUT MILLISECONDS
 *   cc -std=c99 -o recorder recorder.c -lholdfast
 * Goes on with an unfinished take of the folder, if a recorder was killed there, or begins a new one. */
#include <holdfast.h>
#include <stdio.h>
#include <stdlib.h>

static int failed(const char *what, int status, holdfast_recorder *recorder) {
  char *why = NULL;
  holdfast_recorder_error(recorder, &why);
  fprintf(stderr, "%s: %s\n", what, why && *why ? why : holdfast_status_text(status));
  holdfast_free(why);
  holdfast_recorder_destroy(recorder);
  return 1;
}

int main(int argc, char **argv) {
  if (argc != 4) return fprintf(stderr, "usage: recorder FOLDER INPUT MILLISECONDS\n"), 64;
  holdfast_settings settings;
  holdfast_settings_init(&settings, sizeof settings);
  settings.folder = argv[1];
  settings.input = argv[2];
  settings.realtime = 1;
  char *unfinished = NULL;
  if (holdfast_unfinished(argv[1], NULL, &unfinished) == HOLDFAST_OK) settings.unfinished = unfinished;
  holdfast_recorder *recorder = NULL;
  int status = holdfast_recorder_create(&settings, &recorder, NULL);
  if (status != HOLDFAST_OK) return failed("create", status, recorder);
  if ((status = holdfast_recorder_start(recorder)) != HOLDFAST_OK) return failed("start", status, recorder);

  holdfast_event event = { .size = sizeof event };
  holdfast_snapshot now = { .size = sizeof now };
  holdfast_recorder_snapshot(recorder, &now);
  int64_t until = now.effective_ms + atoll(argv[3]);
  while ((status = holdfast_recorder_next_event(recorder, -1, &event)) == HOLDFAST_OK) {
    if (event.type == HOLDFAST_EVENT_LEVEL && event.effective_ms >= until) holdfast_recorder_stop(recorder);
    if (event.type != HOLDFAST_EVENT_LEVEL) puts(event.json);
    fflush(stdout);
  }
  holdfast_recorder_destroy(recorder);
  holdfast_free(unfinished);
  return status == HOLDFAST_END ? 0 : 1;
}
