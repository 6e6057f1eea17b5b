// What Swift's Glibc module lacks: variadic calls, GNU extensions and a few constants. Linux only.
#pragma once
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/ioctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/vfs.h>
#include <termios.h>
#include <time.h>
#include <unistd.h>

// By number: _GNU_SOURCE in a module's header breaks Swift's own Glibc module.
#define HOLDFAST_RENAME_NOREPLACE 1u
#define HOLDFAST_RENAME_EXCHANGE 2u
#if defined(__x86_64__) || defined(__aarch64__)
#define HOLDFAST_O_TMPFILE (020000000 | O_DIRECTORY)
#endif

static inline int holdfast_open(const char *path, int flags, unsigned mode) { return open(path, flags | O_CLOEXEC, mode); }
static inline int holdfast_openat(int dir, const char *path, int flags, unsigned mode) { return openat(dir, path, flags | O_CLOEXEC, mode); }
extern int renameat2(int, const char *, int, const char *, unsigned);
static inline int holdfast_renameat2(int d1, const char *p1, int d2, const char *p2, unsigned flags) { return renameat2(d1, p1, d2, p2, flags); }
static inline int holdfast_terminal_width(int fd) { struct winsize w; return ioctl(fd, TIOCGWINSZ, &w) == 0 ? w.ws_col : 0; }
extern int sem_clockwait(sem_t *, clockid_t, const struct timespec *);
static inline int holdfast_sem_wait_until(sem_t *s, const struct timespec *t) { return sem_clockwait(s, CLOCK_MONOTONIC, t); }
extern int pthread_setname_np(pthread_t, const char *);
static inline int holdfast_name_thread(pthread_t t, const char *name) { return pthread_setname_np(t, name); }
static inline int holdfast_descriptor_flags(int fd) { return fcntl(fd, F_GETFD); }
static inline int holdfast_set_nice(int nice) { return setpriority(PRIO_PROCESS, (id_t)syscall(SYS_gettid), nice); }
static inline int holdfast_duplicate(int fd) { return fcntl(fd, F_DUPFD_CLOEXEC, 3); }
static inline int holdfast_set_default(int sig) { struct sigaction a; memset(&a, 0, sizeof a); a.sa_handler = SIG_DFL; return sigaction(sig, &a, 0); }
static inline int holdfast_set_ignored(int sig) { struct sigaction a; memset(&a, 0, sizeof a); a.sa_handler = SIG_IGN; return sigaction(sig, &a, 0); }
static inline int holdfast_is_ignored(int sig) { struct sigaction a; return sigaction(sig, 0, &a) == 0 && a.sa_handler == SIG_IGN; }
// Processors that this process may run on; 0 where the kernel doesn't tell.
static inline int holdfast_processors(void) {
  unsigned long mask[128] = {0};
  long bytes = syscall(SYS_sched_getaffinity, 0, sizeof mask, mask);
  int count = 0;
  for (long i = 0; i < bytes / (long)sizeof mask[0]; i++) count += __builtin_popcountl(mask[i]);
  return count;
}
