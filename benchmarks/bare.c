// The rival: a bare libopus loop at the take format's settings. Reads raw s16le 48 kHz mono, writes nothing.
//   bare FILE [paced]    paced: a packet each 20 ms, for as long as it is let
#include <opus.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

int main(int argc, char **argv) {
  int code;
  OpusEncoder *encoder = opus_encoder_create(48000, 1, OPUS_APPLICATION_VOIP, &code);
  FILE *file = argc > 1 ? fopen(argv[1], "rb") : NULL;
  if (!encoder || !file) return 2;
  opus_encoder_ctl(encoder, OPUS_SET_BITRATE(32000));
  opus_encoder_ctl(encoder, OPUS_SET_VBR(1));
  opus_encoder_ctl(encoder, OPUS_SET_COMPLEXITY(10));
  short samples[960];
  unsigned char packet[1276];
  long packets = 0, bytes = 0;
  int paced = argc > 2 && strcmp(argv[2], "paced") == 0;
  struct timespec due;
  clock_gettime(CLOCK_MONOTONIC, &due);
  for (;;) {
    if (fread(samples, 2, 960, file) != 960) {
      if (!paced) break;
      rewind(file);
      continue;
    }
    if (paced) {
      due.tv_nsec += 20000000;
      if (due.tv_nsec >= 1000000000) due.tv_sec++, due.tv_nsec -= 1000000000;
      clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &due, NULL);
    }
    bytes += opus_encode(encoder, samples, 960, packet, sizeof packet);
    packets++;
  }
  printf("%ld packets, %ld bytes\n", packets, bytes);
  return 0;
}
