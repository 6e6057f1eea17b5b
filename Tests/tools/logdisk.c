/* LD_PRELOAD recorder of everything a program does to a disk through libc, with the data, for benchmarks/powerloss.py.
 *
 *   cc -O2 -shared -fPIC -pthread -o logdisk.so logdisk.c -ldl
 *   LOGDISK=log LOGDISK_UNDER=/some/dir LD_PRELOAD=./logdisk.so PROGRAM ...
 *
 * LOGDISK        the log: of binary records, in the order in which the calls were through; put it on another disk
 * LOGDISK_UNDER  only what happens to or below this folder (no links in its path), and what is written to standard output
 *
 * A record: u32 size of all of it, u8 kind, u8[3] 0, u64 CLOCK_MONOTONIC ns, u64 inode, u64 a, u64 b, then bytes.
 *   'F' the folder itself: inode                      'O' opened, not made: inode; its path
 *   'C' a file made: inode, a = its folder's inode; name        'M' a folder made, likewise
 *   'W' written: inode, a = offset; the data          'T' ftruncate: inode, a = size     'A' allocated: inode, a = size
 *   'R' renamed: inode of what was moved, a and b the two folders' inodes; u32 flags, name, 0, name
 *   'U' unlinked: inode of what it was, a = its folder's; name  'D' a folder removed, likewise
 *   'S' a sync begins: inode, a = which               'E' it has ended well: inode, a = which
 *   'P' printed to standard output: the data
 * Calls that failed aren't logged. Everything but a sync is made with a lock held, so that the log's order is the disk's;
 * between a sync's two records other calls may stand. Mappings, sendfile and stdio don't come by here.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_once_t once = PTHREAD_ONCE_INIT;
static int out = -1;
static char under[PATH_MAX];
static uint64_t syncs;

struct head { uint32_t size; uint8_t kind, zero[3]; uint64_t time, inode, a, b; };

static void put(char kind, uint64_t inode, uint64_t a, uint64_t b, const void *data, size_t n) {
  struct timespec t;
  struct head h = {(uint32_t)(sizeof h + n), (uint8_t)kind, {0}, 0, inode, a, b};
  clock_gettime(CLOCK_MONOTONIC, &t);
  h.time = (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
  struct iovec parts[2] = {{&h, sizeof h}, {(void *)(uintptr_t)data, n}};
  if (syscall(SYS_writev, out, parts, n ? 2 : 1) < 0) _exit(98);
}
static int inode_of(int fd, uint64_t *inode) {
  struct stat s;
  if (syscall(SYS_newfstatat, fd, "", &s, AT_EMPTY_PATH) != 0) return 0;
  return *inode = s.st_ino, 1;
}
static uint64_t inode_at(int dir, const char *path) {
  struct stat s;
  return syscall(SYS_newfstatat, dir, path, &s, AT_SYMLINK_NOFOLLOW) == 0 ? s.st_ino : 0;
}
static void start(void) {
  const char *l = getenv("LOGDISK"), *u = getenv("LOGDISK_UNDER");
  if (!l || !u) return;
  snprintf(under, sizeof under, "%s", u);
  for (size_t n = strlen(under); n > 1 && under[n - 1] == '/';) under[--n] = 0;
  int fd = (int)syscall(SYS_openat, AT_FDCWD, l, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0600);
  if (fd < 0) _exit(98);
  out = (int)syscall(SYS_fcntl, fd, F_DUPFD_CLOEXEC, 900);  /* out of the way of the program's own numbers */
  syscall(SYS_close, fd);
  put('F', inode_at(AT_FDCWD, under), 0, 0, NULL, 0);
}
__attribute__((constructor)) static void early(void) { pthread_once(&once, start); }

static int below(const char *path) {
  size_t n = strlen(under);
  return out >= 0 && !strncmp(path, under, n) && (path[n] == '/' || path[n] == 0);
}
static void absolute(char *to, int dir, const char *path) {
  char link[40];
  long n = 0;
  if (*path != '/') {
    if (dir == AT_FDCWD) snprintf(link, sizeof link, "/proc/self/cwd");
    else snprintf(link, sizeof link, "/proc/self/fd/%d", dir);
    n = syscall(SYS_readlinkat, AT_FDCWD, link, to, PATH_MAX - 1);
    if (n < 0) n = 0;
    if (*path && n > 0 && n < PATH_MAX - 1) to[n++] = '/';
  }
  snprintf(to + n, (size_t)(PATH_MAX - n), "%s", path);
}
static int ours(int dir, const char *path) {
  char b[PATH_MAX];
  pthread_once(&once, start);
  if (out < 0) return 0;
  absolute(b, dir, path);
  return below(b);
}
static const char *last(const char *path) { const char *s = strrchr(path, '/'); return s ? s + 1 : path; }
/* The folder a path lies in. */
static uint64_t folder_of(int dir, const char *path) {
  char b[PATH_MAX];
  absolute(b, dir, path);
  char *s = strrchr(b, '/');
  if (!s) return 0;
  if (s == b) s++;
  *s = 0;
  return inode_at(AT_FDCWD, b);
}

#define NEXT(type, name, ...)                                              \
  static type (*real)(__VA_ARGS__);                                        \
  if (!real) real = (type (*)(__VA_ARGS__))dlsym(RTLD_NEXT, #name);        \
  pthread_once(&once, start);
#define HOLD int saved; pthread_mutex_lock(&lock)
#define LET saved = errno; pthread_mutex_unlock(&lock); errno = saved

static int opened(int fd, int dir, const char *path, int existed) {
  uint64_t inode;
  if (fd >= 0 && inode_of(fd, &inode)) {
    if (existed) put('O', inode, 0, 0, path, strlen(path));
    else put('C', inode, folder_of(dir, path), 0, last(path), strlen(last(path)));
  }
  return fd;
}
#define MODE mode_t mode = 0; if (flags & (O_CREAT | O_TMPFILE)) { va_list v; va_start(v, flags); mode = va_arg(v, mode_t); va_end(v); }
#define OPENAT(name)                                                       \
  int name(int dir, const char *path, int flags, ...) {                    \
    NEXT(int, name, int, const char *, int, ...)                           \
    MODE                                                                   \
    if (!ours(dir, path)) return real(dir, path, flags, mode);             \
    HOLD;                                                                  \
    int existed = !(flags & O_CREAT) || inode_at(dir, path);               \
    int fd = opened(real(dir, path, flags, mode), dir, path, existed);     \
    LET;                                                                   \
    return fd;                                                             \
  }
OPENAT(openat)
OPENAT(openat64)
#define OPEN(name)                                                         \
  int name(const char *path, int flags, ...) {                             \
    NEXT(int, name, const char *, int, ...)                                \
    MODE                                                                   \
    if (!ours(AT_FDCWD, path)) return real(path, flags, mode);             \
    HOLD;                                                                  \
    int existed = !(flags & O_CREAT) || inode_at(AT_FDCWD, path);          \
    int fd = opened(real(path, flags, mode), AT_FDCWD, path, existed);     \
    LET;                                                                   \
    return fd;                                                             \
  }
OPEN(open)
OPEN(open64)

static int made(int result, int dir, const char *path) {
  if (result == 0) put('M', inode_at(dir, path), folder_of(dir, path), 0, last(path), strlen(last(path)));
  return result;
}
int mkdirat(int dir, const char *path, mode_t mode) {
  NEXT(int, mkdirat, int, const char *, mode_t)
  if (!ours(dir, path)) return real(dir, path, mode);
  HOLD;
  int result = made(real(dir, path, mode), dir, path);
  LET;
  return result;
}
int mkdir(const char *path, mode_t mode) {
  NEXT(int, mkdir, const char *, mode_t)
  if (!ours(AT_FDCWD, path)) return real(path, mode);
  HOLD;
  int result = made(real(path, mode), AT_FDCWD, path);
  LET;
  return result;
}

static int fd_is_ours(int fd, uint64_t *inode) { return ours(fd, "") && inode_of(fd, inode); }
#define PWRITE(name)                                                       \
  ssize_t name(int fd, const void *data, size_t n, off_t at) {             \
    NEXT(ssize_t, name, int, const void *, size_t, off_t)                  \
    uint64_t inode;                                                        \
    if (!fd_is_ours(fd, &inode)) return real(fd, data, n, at);             \
    HOLD;                                                                  \
    ssize_t done = real(fd, data, n, at);                                  \
    if (done > 0) put('W', inode, (uint64_t)at, 0, data, (size_t)done);    \
    LET;                                                                   \
    return done;                                                           \
  }
PWRITE(pwrite)
PWRITE(pwrite64)
ssize_t write(int fd, const void *data, size_t n) {
  NEXT(ssize_t, write, int, const void *, size_t)
  uint64_t inode;
  int mine = fd_is_ours(fd, &inode);
  if (!mine && (fd != 1 || out < 0)) return real(fd, data, n);
  HOLD;
  off_t at = mine ? lseek(fd, 0, SEEK_CUR) : 0;
  ssize_t done = real(fd, data, n);
  if (done > 0) put(mine ? 'W' : 'P', mine ? inode : 0, (uint64_t)at, 0, data, (size_t)done);
  LET;
  return done;
}
#define FTRUNCATE(name)                                                    \
  int name(int fd, off_t size) {                                           \
    NEXT(int, name, int, off_t)                                            \
    uint64_t inode;                                                        \
    if (!fd_is_ours(fd, &inode)) return real(fd, size);                    \
    HOLD;                                                                  \
    int result = real(fd, size);                                           \
    if (result == 0) put('T', inode, (uint64_t)size, 0, NULL, 0);          \
    LET;                                                                   \
    return result;                                                         \
  }
FTRUNCATE(ftruncate)
FTRUNCATE(ftruncate64)
#define ALLOCATE(name)                                                     \
  int name(int fd, off_t from, off_t size) {                               \
    NEXT(int, name, int, off_t, off_t)                                     \
    uint64_t inode;                                                        \
    if (!fd_is_ours(fd, &inode)) return real(fd, from, size);              \
    HOLD;                                                                  \
    int result = real(fd, from, size);                                     \
    if (result == 0) put('A', inode, (uint64_t)(from + size), 0, NULL, 0); \
    LET;                                                                   \
    return result;                                                         \
  }
ALLOCATE(posix_fallocate)
ALLOCATE(posix_fallocate64)

static void renamed(int d1, const char *from, int d2, const char *to, unsigned flags, uint64_t inode) {
  char b[4 + 2 * NAME_MAX + 3];
  memcpy(b, &flags, 4);
  size_t n = strlen(last(from)) + 1, m = strlen(last(to));
  if (n > NAME_MAX + 1 || m > NAME_MAX) _exit(98);
  memcpy(b + 4, last(from), n), memcpy(b + 4 + n, last(to), m);
  put('R', inode, folder_of(d1, from), folder_of(d2, to), b, 4 + n + m);
}
int renameat2(int d1, const char *from, int d2, const char *to, unsigned flags) {
  NEXT(int, renameat2, int, const char *, int, const char *, unsigned)
  if (!ours(d1, from) && !ours(d2, to)) return real(d1, from, d2, to, flags);
  HOLD;
  uint64_t inode = inode_at(d1, from);
  int result = real(d1, from, d2, to, flags);
  if (result == 0) renamed(d1, from, d2, to, flags, inode);
  LET;
  return result;
}
int renameat(int d1, const char *from, int d2, const char *to) {
  NEXT(int, renameat, int, const char *, int, const char *)
  if (!ours(d1, from) && !ours(d2, to)) return real(d1, from, d2, to);
  HOLD;
  uint64_t inode = inode_at(d1, from);
  int result = real(d1, from, d2, to);
  if (result == 0) renamed(d1, from, d2, to, 0, inode);
  LET;
  return result;
}
int unlinkat(int dir, const char *path, int flags) {
  NEXT(int, unlinkat, int, const char *, int)
  if (!ours(dir, path)) return real(dir, path, flags);
  HOLD;
  uint64_t inode = inode_at(dir, path), folder = folder_of(dir, path);
  int result = real(dir, path, flags);
  if (result == 0) put(flags & AT_REMOVEDIR ? 'D' : 'U', inode, folder, 0, last(path), strlen(last(path)));
  LET;
  return result;
}

#define SYNC(name)                                                         \
  int name(int fd) {                                                       \
    NEXT(int, name, int)                                                   \
    uint64_t inode;                                                        \
    if (!fd_is_ours(fd, &inode)) return real(fd);                          \
    pthread_mutex_lock(&lock);                                             \
    uint64_t number = ++syncs;                                             \
    put('S', inode, number, 0, NULL, 0);                                   \
    pthread_mutex_unlock(&lock);                                           \
    int result = real(fd), saved = errno;                                  \
    pthread_mutex_lock(&lock);                                             \
    if (result == 0) put('E', inode, number, 0, NULL, 0);                  \
    pthread_mutex_unlock(&lock);                                           \
    errno = saved;                                                         \
    return result;                                                         \
  }
SYNC(fdatasync)
SYNC(fsync)
