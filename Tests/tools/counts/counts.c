/* Counts what one thread does between counts_begin and counts_end, when preloaded. For tests.
 *
 *   cc -O2 -Wall -Wextra -Werror -shared -fPIC -o libcounts.so counts.c -ldl
 *
 * Allocations and locks are told apart by who called: the program and the Swift runtime on its behalf ("ours"), or any
 * other library, such as ALSA and its plugins ("theirs"). Reference counts are always ours.
 *
 * A program that doesn't call counts_begin is counted on the thread that reads from ALSA:
 *   COUNTS_READS=FROM:TO COUNTS_LOG=FILE LD_PRELOAD=libcounts.so PROGRAM
 * writes what happened from the FROMth read to the TOth, and how many frames the reads gave.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <link.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

struct counts { long our_allocations, our_frees, our_locks, our_counts, their_allocations, their_locks; };
struct range { uintptr_t from, to; };
static __thread int on;
static struct counts c;
static struct range ours[128];
static int ranges;

extern void *__libc_malloc(size_t), *__libc_calloc(size_t, size_t), *__libc_realloc(void *, size_t);
extern void __libc_free(void *);

static int note_object(struct dl_phdr_info *info, size_t size, void *data) {
  (void)size;
  int program = info->dlpi_name[0] == 0;  /* the main program has no name */
  if (!program && !strstr(info->dlpi_name, "libswift")) return 0;
  (void)data;
  for (int i = 0; i < info->dlpi_phnum && ranges < 128; i++)
    if (info->dlpi_phdr[i].p_type == PT_LOAD) {
      uintptr_t from = info->dlpi_addr + info->dlpi_phdr[i].p_vaddr;
      ours[ranges++] = (struct range){ from, from + info->dlpi_phdr[i].p_memsz };
    }
  return 0;
}
static int is_ours(void *caller) {
  for (int i = 0; i < ranges; i++)
    if ((uintptr_t)caller >= ours[i].from && (uintptr_t)caller < ours[i].to) return 1;
  return 0;
}
#define ALLOCATION() do { if (on) { if (is_ours(__builtin_return_address(0))) c.our_allocations++; else c.their_allocations++; } } while (0)

void counts_begin(void) {
  if (!ranges) dl_iterate_phdr(note_object, NULL);
  memset(&c, 0, sizeof c);
  on = 1;
}
void counts_end(long to[6]) {
  on = 0;
  memcpy(to, &c, sizeof c);
}

void *malloc(size_t n) { ALLOCATION(); return __libc_malloc(n); }
void *calloc(size_t n, size_t s) { ALLOCATION(); return __libc_calloc(n, s); }
void *realloc(void *p, size_t n) { ALLOCATION(); return __libc_realloc(p, n); }
void free(void *p) { if (on && p && is_ours(__builtin_return_address(0))) c.our_frees++; __libc_free(p); }

#define NEXT(type, name) static __typeof__(type) next; if (!next) next = (__typeof__(type))dlsym(RTLD_NEXT, name)
int pthread_mutex_lock(pthread_mutex_t *m) {
  NEXT(int (*)(pthread_mutex_t *), "pthread_mutex_lock");
  if (on) { if (is_ours(__builtin_return_address(0))) c.our_locks++; else c.their_locks++; }
  return next(m);
}
/* Swift's own mutex waits by this; taken at once it makes no call at all, and only the machine code shows it. */
long syscall(long number, ...) {
  NEXT(long (*)(long, ...), "syscall");
  va_list l;
  va_start(l, number);
  long a[6];
  for (int i = 0; i < 6; i++) a[i] = va_arg(l, long);
  va_end(l);
  if (on && number == SYS_futex && is_ours(__builtin_return_address(0))) c.our_locks++;
  return next(number, a[0], a[1], a[2], a[3], a[4], a[5]);
}
void *swift_retain(void *o) { NEXT(void *(*)(void *), "swift_retain"); if (on) c.our_counts++; return next(o); }
void swift_release(void *o) { NEXT(void (*)(void *), "swift_release"); if (on) c.our_counts++; next(o); }
void *swift_retain_n(void *o, uint32_t n) { NEXT(void *(*)(void *, uint32_t), "swift_retain_n"); if (on) c.our_counts++; return next(o, n); }
void *swift_bridgeObjectRetain(void *o) { NEXT(void *(*)(void *), "swift_bridgeObjectRetain"); if (on) c.our_counts++; return next(o); }
void swift_bridgeObjectRelease(void *o) { NEXT(void (*)(void *), "swift_bridgeObjectRelease"); if (on) c.our_counts++; next(o); }
void *swift_allocObject(void *t, size_t n, size_t a) {
  NEXT(void *(*)(void *, size_t, size_t), "swift_allocObject");
  if (on) c.our_counts++;
  return next(t, n, a);
}

/* ---- by reads ---- */
static long reads, first, last, frames;

static void finish(void) {
  long n[6];
  char text[300];
  counts_end(n);
  int size = snprintf(text, sizeof text, "reads %ld\nframes %ld\nour_allocations %ld\nour_frees %ld\nour_locks %ld\n"
      "our_counts %ld\ntheir_allocations %ld\ntheir_locks %ld\n", last - first, frames, n[0], n[1], n[2], n[3], n[4], n[5]);
  int file = open(getenv("COUNTS_LOG"), O_WRONLY | O_CREAT | O_TRUNC, 0600);
  if (file >= 0 && write(file, text, (size_t)size) == size) close(file);
}
static long read_by(const char *name, void *pcm, void *to, unsigned long count) {
  long (*next)(void *, void *, unsigned long) = (long (*)(void *, void *, unsigned long))dlsym(RTLD_NEXT, name);
  if (!reads && getenv("COUNTS_LOG") && getenv("COUNTS_READS")) sscanf(getenv("COUNTS_READS"), "%ld:%ld", &first, &last);
  reads++;
  if (last && reads == first) counts_begin();
  if (last && reads == last) finish();
  long n = next(pcm, to, count);
  if (on && n > 0) frames += n;
  return n;
}
long snd_pcm_readi(void *pcm, void *to, unsigned long n) { return read_by("snd_pcm_readi", pcm, to, n); }
long snd_pcm_mmap_readi(void *pcm, void *to, unsigned long n) { return read_by("snd_pcm_mmap_readi", pcm, to, n); }
