/* LD_PRELOAD fault injector for everything a program does to a disk through libc.
 *
 *   cc -O2 -shared -fPIC -pthread -o faultdisk.so faultdisk.c -ldl
 *   FAULTDISK='fdatasync@2=EIO;renameat2@1=ENOSPC' FAULTDISK_UNDER=/some/dir FAULTDISK_LOG=log LD_PRELOAD=./faultdisk.so PROGRAM ...
 *
 * FAULTDISK  rules joined by ';', each   OP[TEXT]@N/STEPxCOUNT=WHAT
 *   OP       open openat mkdir mkdirat write pwrite writev fdatasync fsync syncfs rename renameat renameat2 unlink unlinkat
 *            rmdir link linkat ftruncate fallocate posix_fallocate close statvfs fstatvfs statfs fstatfs flock fchmod;
 *            the 64-suffixed names count with the plain ones. Groups: any, sync (fdatasync fsync syncfs), space (statvfs fstatvfs
 *            statfs fstatfs), reserve (fallocate posix_fallocate), store (write pwrite writev), moves (rename renameat renameat2).
 *   [TEXT]   optional: only calls with TEXT in one of their paths, e.g. write[audio.opus]@3=EIO
 *   @N       the rule's Nth matching call, 1 is the first; @N/STEP also N+STEP, N+2*STEP, ...; xCOUNT from the Nth on COUNT calls
 *            in a row, x0 for ever
 *   WHAT     an errno name or number (posix_fallocate returns it, the others set errno and return -1; the call isn't made)
 *            KILL       SIGKILL before the call     KILLAFTER   SIGKILL once the call is done     STOP   SIGSTOP before it
 *            SHORT:K    write, pwrite and writev store only the first K bytes and say so
 *            DELAY:MS   wait, then make the call; goes together with another rule's WHAT
 * FAULTDISK_UNDER  only calls with a path, or a descriptor that leads, to or below this folder are counted, logged and failed
 * FAULTDISK_LOG    a line a call, tab separated:  number  op  number-of-that-op  path[ -> path2]  size-or-flags  result  [INJECTED what]
 *                  result is the returned value or an errno name; a call that never returns has "killed".
 *
 * stdio's and the kernel's own writes (fwrite, sendfile, mappings) don't come by here. Descriptors are resolved by /proc/self/fd.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/vfs.h>
#include <time.h>
#include <unistd.h>

enum op { OPEN, OPENAT, MKDIR, MKDIRAT, WRITE, PWRITE, WRITEV, FDATASYNC, FSYNC, SYNCFS, RENAME, RENAMEAT, RENAMEAT2, UNLINK, UNLINKAT,
  RMDIR, LINK, LINKAT, FTRUNCATE, FALLOCATE, POSIX_FALLOCATE, CLOSE, STATVFS, FSTATVFS, STATFS, FSTATFS, FLOCK, FCHMOD, OPS };
static const char *const names[OPS] = {"open", "openat", "mkdir", "mkdirat", "write", "pwrite", "writev", "fdatasync", "fsync", "syncfs",
  "rename", "renameat", "renameat2", "unlink", "unlinkat", "rmdir", "link", "linkat", "ftruncate", "fallocate", "posix_fallocate",
  "close", "statvfs", "fstatvfs", "statfs", "fstatfs", "flock", "fchmod"};
#define B(x) (1ul << (x))
static const struct { const char *name; unsigned long ops; } groups[] = {{"any", B(OPS) - 1},
  {"sync", B(FDATASYNC) | B(FSYNC) | B(SYNCFS)}, {"space", B(STATVFS) | B(FSTATVFS) | B(STATFS) | B(FSTATFS)},
  {"reserve", B(FALLOCATE) | B(POSIX_FALLOCATE)}, {"store", B(WRITE) | B(PWRITE) | B(WRITEV)}, {"moves", B(RENAME) | B(RENAMEAT) | B(RENAMEAT2)}};
static const struct { const char *name; int value; } errors[] = {{"EPERM", EPERM}, {"ENOENT", ENOENT}, {"EINTR", EINTR}, {"EIO", EIO},
  {"EBADF", EBADF}, {"EAGAIN", EAGAIN}, {"ENOMEM", ENOMEM}, {"EACCES", EACCES}, {"EBUSY", EBUSY}, {"EEXIST", EEXIST}, {"EXDEV", EXDEV},
  {"ENODEV", ENODEV}, {"ENOTDIR", ENOTDIR}, {"EISDIR", EISDIR}, {"EINVAL", EINVAL}, {"ENFILE", ENFILE}, {"EMFILE", EMFILE},
  {"EFBIG", EFBIG}, {"ENOSPC", ENOSPC}, {"EROFS", EROFS}, {"EMLINK", EMLINK}, {"EPIPE", EPIPE}, {"ENAMETOOLONG", ENAMETOOLONG},
  {"ENOLCK", ENOLCK}, {"ENOSYS", ENOSYS}, {"ENOTEMPTY", ENOTEMPTY}, {"ELOOP", ELOOP}, {"EOPNOTSUPP", EOPNOTSUPP}, {"ENOTSUP", ENOTSUP},
  {"ESTALE", ESTALE}, {"EDQUOT", EDQUOT}, {"ETIMEDOUT", ETIMEDOUT}};

enum what { FAIL, KILL_BEFORE, KILL_AFTER, STOP, SHORTEN, DELAY };
struct rule {
  unsigned long ops;
  char text[128];
  long at, step, count;
  enum what what;
  long value;  /* errno, bytes or milliseconds */
  atomic_long seen;
};
static struct rule rules[64];
static int rule_count;
static char under[2][PATH_MAX];  /* as given, and with links followed */
static char log_path[PATH_MAX];
static atomic_long total, counts[OPS];
static pthread_once_t once = PTHREAD_ONCE_INIT;

static void die(const char *why, const char *rule) {
  char line[512];
  int n = snprintf(line, sizeof line, "faultdisk: %s: %s\n", why, rule);
  syscall(SYS_write, 2, line, (size_t)n);
  _exit(97);
}

static int error_number(const char *s, size_t n) {
  for (unsigned i = 0; i < sizeof errors / sizeof *errors; i++)
    if (strlen(errors[i].name) == n && !strncmp(errors[i].name, s, n)) return errors[i].value;
  char *end;
  long v = strtol(s, &end, 10);
  return n > 0 && end == s + n && v > 0 && v < 4096 ? (int)v : 0;
}

static void parse(const char *s, size_t n) {
  char b[512];
  if (n == 0) return;
  if (n >= sizeof b || rule_count == (int)(sizeof rules / sizeof *rules)) die("too long or too many rules", s);
  memcpy(b, s, n), b[n] = 0;
  struct rule *r = &rules[rule_count];
  char *what = strrchr(b, '='), *at = strrchr(b, '@'), *open = strchr(b, '[');
  if (!what || !at || at > what) die("a rule is OP@N=WHAT", b);
  *what++ = 0, *at++ = 0;
  if (open && open < at) {
    char *close = strrchr(open, ']');
    if (!close || (size_t)(close - open) > sizeof r->text) die("bad [TEXT]", b);
    memcpy(r->text, open + 1, (size_t)(close - open - 1)), *open = 0;
  }
  for (unsigned i = 0; i < OPS; i++) if (!strcmp(names[i], b)) r->ops |= B(i);
  for (unsigned i = 0; i < sizeof groups / sizeof *groups; i++) if (!strcmp(groups[i].name, b)) r->ops |= groups[i].ops;
  if (!r->ops) die("unknown operation", b);
  char *end;
  r->at = strtol(at, &end, 10), r->count = 1;
  if (*end == '/') r->step = strtol(end + 1, &end, 10);
  if (*end == 'x') r->count = strtol(end + 1, &end, 10);
  if (*end || r->at < 1 || r->step < 0 || r->count < 0) die("bad number", at);
  if (!strcmp(what, "KILL")) r->what = KILL_BEFORE;
  else if (!strcmp(what, "KILLAFTER")) r->what = KILL_AFTER;
  else if (!strcmp(what, "STOP")) r->what = STOP;
  else if (!strncmp(what, "SHORT:", 6)) r->what = SHORTEN, r->value = strtol(what + 6, &end, 10);
  else if (!strncmp(what, "DELAY:", 6)) r->what = DELAY, r->value = strtol(what + 6, &end, 10);
  else if (!(r->what = FAIL, r->value = error_number(what, strlen(what)))) die("unknown error", what);
  rule_count++;
}

static void start(void) {
  const char *s = getenv("FAULTDISK"), *u = getenv("FAULTDISK_UNDER"), *l = getenv("FAULTDISK_LOG");
  for (; s && *s; s += *s == ';') {
    size_t n = strcspn(s, ";");
    parse(s, n), s += n;
  }
  if (u && *u) {
    snprintf(under[0], PATH_MAX, "%s", u);
    for (size_t n = strlen(under[0]); n > 1 && under[0][n - 1] == '/';) under[0][--n] = 0;
    if (!realpath(under[0], under[1])) under[1][0] = 0;
  }
  if (l && *l) snprintf(log_path, PATH_MAX, "%s", l);
}
__attribute__((constructor)) static void early(void) { pthread_once(&once, start); }

/* One call on its way through: who it is, what it leads to, and what is to happen to it. */
struct call {
  enum op op;
  int matched, after, injected;
  long error, keep;  /* keep: how many bytes of a write get through, -1 for all */
  long number, nth;
  char path[2][PATH_MAX];
  long detail;
  char note[32];
};

static void absolute(char *out, int dir, const char *path) {
  char link[40];
  long n = 0;
  if (!path) path = "";
  if (*path != '/') {
    if (dir == AT_FDCWD) snprintf(link, sizeof link, "/proc/self/cwd");
    else snprintf(link, sizeof link, "/proc/self/fd/%d", dir);
    n = syscall(SYS_readlinkat, AT_FDCWD, link, out, PATH_MAX - 1);
    if (n < 0) n = 0;
    if (*path && n > 0 && n < PATH_MAX - 1) out[n++] = '/';
  }
  snprintf(out + n, (size_t)(PATH_MAX - n), "%s", path);
}

static int below(const char *path, const char *folder) {
  size_t n = strlen(folder);
  return n && !strncmp(path, folder, n) && (path[n] == '/' || path[n] == 0 || (n == 1 && *folder == '/') || !strcmp(path + n, " (deleted)"));
}

static const char *error_name(long value, char *buffer) {
  for (unsigned i = 0; i < sizeof errors / sizeof *errors; i++) if (errors[i].value == value) return errors[i].name;
  sprintf(buffer, "errno%ld", value);
  return buffer;
}

static void note_line(const struct call *c, const char *result) {
  if (!log_path[0]) return;
  char line[2 * PATH_MAX + 256];
  int n = snprintf(line, sizeof line, "%ld\t%s\t%ld\t%s%s%s\t%ld\t%s%s%s\n", c->number, names[c->op], c->nth, c->path[0],
                   c->path[1][0] ? " -> " : "", c->path[1], c->detail, result, c->injected ? "\tINJECTED " : "", c->note);
  int fd = (int)syscall(SYS_openat, AT_FDCWD, log_path, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0600);
  if (fd < 0) return;
  if (syscall(SYS_write, fd, line, (size_t)n) < 0) { /* the log is a help, not a duty */ }
  syscall(SYS_close, fd);
}

static void kill_here(struct call *c) {
  note_line(c, "killed");
  syscall(SYS_kill, syscall(SYS_getpid), SIGKILL);
  for (;;) pause();
}

/* Counts the call and decides. Returns 1 where the call must not be made. */
static int enter(struct call *c, enum op op, int dir, const char *path, int dir2, const char *path2, long detail) {
  int saved = errno;
  pthread_once(&once, start);
  c->op = op, c->after = 0, c->injected = 0, c->error = 0, c->keep = -1, c->detail = detail, c->matched = 0;
  c->path[0][0] = c->path[1][0] = c->note[0] = 0;
  if (!rule_count && !log_path[0]) return errno = saved, 0;
  absolute(c->path[0], dir, path);
  if (path2) absolute(c->path[1], dir2, path2);
  if (under[0][0] && !below(c->path[0], under[0]) && !below(c->path[0], under[1]) && !below(c->path[1], under[0])
      && !below(c->path[1], under[1]))
    return errno = saved, 0;
  c->matched = 1;
  c->number = atomic_fetch_add(&total, 1) + 1;
  c->nth = atomic_fetch_add(&counts[op], 1) + 1;
  for (int i = 0; i < rule_count; i++) {
    struct rule *r = &rules[i];
    if (!(r->ops & B(op)) || (r->text[0] && !strstr(c->path[0], r->text) && !strstr(c->path[1], r->text))) continue;
    long past = atomic_fetch_add(&r->seen, 1) + 1 - r->at;
    if (past < 0) continue;
    if (r->step ? past % r->step >= (r->count ? r->count : 1) : r->count && past >= r->count) continue;
    c->injected = 1;
    switch (r->what) {
      case DELAY: {
        struct timespec t = {r->value / 1000, r->value % 1000 * 1000000};
        snprintf(c->note, sizeof c->note, "DELAY:%ld", r->value);
        while (nanosleep(&t, &t) && errno == EINTR) {}
        break;
      }
      case KILL_BEFORE: snprintf(c->note, sizeof c->note, "KILL"), kill_here(c); break;
      case KILL_AFTER: snprintf(c->note, sizeof c->note, "KILLAFTER"), c->after = 1; break;
      case STOP: snprintf(c->note, sizeof c->note, "STOP"), syscall(SYS_kill, syscall(SYS_getpid), SIGSTOP); break;
      case SHORTEN: snprintf(c->note, sizeof c->note, "SHORT:%ld", r->value), c->keep = r->value; break;
      case FAIL: {
        char b[32];
        snprintf(c->note, sizeof c->note, "%s", error_name(r->value, b));
        if (!c->error) c->error = r->value;
      }
    }
  }
  errno = saved;
  return c->error != 0;
}

/* Notes the result and hands it through; errno is the caller's again. `by_value`: the result itself is an errno. */
static long leave(struct call *c, long result, int by_value) {
  if (!c->matched) return result;
  int saved = errno;
  if (c->after) kill_here(c);
  char b[32], text[32];
  if (result < 0) snprintf(text, sizeof text, "%s", error_name(saved, b));
  else if (by_value && result > 0) snprintf(text, sizeof text, "%s", error_name(result, b));
  else snprintf(text, sizeof text, "%ld", result);
  note_line(c, text);
  errno = saved;
  return result;
}

/* `NEXT` finds the real function once; a race only finds it twice. */
#define NEXT(type, name, ...)                                              \
  static _Atomic(type (*)(__VA_ARGS__)) next_##name;                       \
  type (*real)(__VA_ARGS__) = atomic_load(&next_##name);                   \
  if (!real) {                                                             \
    real = (type (*)(__VA_ARGS__))dlsym(RTLD_NEXT, #name);                 \
    if (!real) return errno = ENOSYS, -1;                                  \
    atomic_store(&next_##name, real);                                      \
  }
#define THROUGH(op, dir, path, dir2, path2, detail, made)                  \
  struct call c;                                                           \
  if (enter(&c, op, dir, path, dir2, path2, detail)) {                     \
    errno = (int)c.error;                                                  \
    return (int)leave(&c, -1, 0);                                          \
  }                                                                        \
  return (int)leave(&c, made, 0)
#define MODE(last)                                                         \
  mode_t mode = 0;                                                         \
  if (flags & O_CREAT || (flags & O_TMPFILE) == O_TMPFILE) {               \
    va_list a;                                                             \
    va_start(a, last);                                                     \
    mode = va_arg(a, mode_t);                                              \
    va_end(a);                                                             \
  }

#define OPEN_AS(name)                                                      \
  int name(const char *path, int flags, ...) {                             \
    MODE(flags)                                                            \
    NEXT(int, name, const char *, int, ...)                                \
    THROUGH(OPEN, AT_FDCWD, path, 0, NULL, flags, real(path, flags, mode)); \
  }
OPEN_AS(open)
OPEN_AS(open64)
#define OPENAT_AS(name)                                                    \
  int name(int dir, const char *path, int flags, ...) {                    \
    MODE(flags)                                                            \
    NEXT(int, name, int, const char *, int, ...)                           \
    THROUGH(OPENAT, dir, path, 0, NULL, flags, real(dir, path, flags, mode)); \
  }
OPENAT_AS(openat)
OPENAT_AS(openat64)
/* What _FORTIFY_SOURCE makes of calls with two (three) arguments. */
int __open_2(const char *path, int flags) { return open(path, flags); }
int __open64_2(const char *path, int flags) { return open64(path, flags); }
int __openat_2(int dir, const char *path, int flags) { return openat(dir, path, flags); }
int __openat64_2(int dir, const char *path, int flags) { return openat64(dir, path, flags); }
int creat(const char *path, mode_t mode) { return open(path, O_WRONLY | O_CREAT | O_TRUNC, mode); }
int creat64(const char *path, mode_t mode) { return open64(path, O_WRONLY | O_CREAT | O_TRUNC, mode); }

int mkdir(const char *path, mode_t mode) {
  NEXT(int, mkdir, const char *, mode_t)
  THROUGH(MKDIR, AT_FDCWD, path, 0, NULL, (long)mode, real(path, mode));
}
int mkdirat(int dir, const char *path, mode_t mode) {
  NEXT(int, mkdirat, int, const char *, mode_t)
  THROUGH(MKDIRAT, dir, path, 0, NULL, (long)mode, real(dir, path, mode));
}
int rmdir(const char *path) {
  NEXT(int, rmdir, const char *)
  THROUGH(RMDIR, AT_FDCWD, path, 0, NULL, 0, real(path));
}
int unlink(const char *path) {
  NEXT(int, unlink, const char *)
  THROUGH(UNLINK, AT_FDCWD, path, 0, NULL, 0, real(path));
}
int unlinkat(int dir, const char *path, int flags) {
  NEXT(int, unlinkat, int, const char *, int)
  THROUGH(UNLINKAT, dir, path, 0, NULL, flags, real(dir, path, flags));
}
int rename(const char *from, const char *to) {
  NEXT(int, rename, const char *, const char *)
  THROUGH(RENAME, AT_FDCWD, from, AT_FDCWD, to, 0, real(from, to));
}
int renameat(int d1, const char *from, int d2, const char *to) {
  NEXT(int, renameat, int, const char *, int, const char *)
  THROUGH(RENAMEAT, d1, from, d2, to, 0, real(d1, from, d2, to));
}
int renameat2(int d1, const char *from, int d2, const char *to, unsigned flags) {
  NEXT(int, renameat2, int, const char *, int, const char *, unsigned)
  THROUGH(RENAMEAT2, d1, from, d2, to, (long)flags, real(d1, from, d2, to, flags));
}
int link(const char *from, const char *to) {
  NEXT(int, link, const char *, const char *)
  THROUGH(LINK, AT_FDCWD, from, AT_FDCWD, to, 0, real(from, to));
}
int linkat(int d1, const char *from, int d2, const char *to, int flags) {
  NEXT(int, linkat, int, const char *, int, const char *, int)
  THROUGH(LINKAT, d1, from, d2, to, flags, real(d1, from, d2, to, flags));
}
int fdatasync(int fd) {
  NEXT(int, fdatasync, int)
  THROUGH(FDATASYNC, fd, NULL, 0, NULL, 0, real(fd));
}
int fsync(int fd) {
  NEXT(int, fsync, int)
  THROUGH(FSYNC, fd, NULL, 0, NULL, 0, real(fd));
}
int syncfs(int fd) {
  NEXT(int, syncfs, int)
  THROUGH(SYNCFS, fd, NULL, 0, NULL, 0, real(fd));
}
int fchmod(int fd, mode_t mode) {
  NEXT(int, fchmod, int, mode_t)
  THROUGH(FCHMOD, fd, NULL, 0, NULL, (long)mode, real(fd, mode));
}
int flock(int fd, int operation) {
  NEXT(int, flock, int, int)
  THROUGH(FLOCK, fd, NULL, 0, NULL, operation, real(fd, operation));
}
/* As the kernel does it: the descriptor is gone, whatever close says. */
int close(int fd) {
  NEXT(int, close, int)
  struct call c;
  int failed = enter(&c, CLOSE, fd, NULL, 0, NULL, fd), result = real(fd);
  if (failed) errno = (int)c.error, result = -1;
  return (int)leave(&c, result, 0);
}

static size_t shortened(const struct call *c, size_t n) { return c->keep >= 0 && (size_t)c->keep < n ? (size_t)c->keep : n; }
ssize_t write(int fd, const void *data, size_t n) {
  NEXT(ssize_t, write, int, const void *, size_t)
  struct call c;
  if (enter(&c, WRITE, fd, NULL, 0, NULL, (long)n)) return errno = (int)c.error, leave(&c, -1, 0);
  return leave(&c, real(fd, data, shortened(&c, n)), 0);
}
#define PWRITE_AS(name)                                                    \
  ssize_t name(int fd, const void *data, size_t n, off_t at) {             \
    NEXT(ssize_t, name, int, const void *, size_t, off_t)                  \
    struct call c;                                                         \
    if (enter(&c, PWRITE, fd, NULL, 0, NULL, (long)n)) return errno = (int)c.error, leave(&c, -1, 0); \
    return leave(&c, real(fd, data, shortened(&c, n), at), 0);             \
  }
PWRITE_AS(pwrite)
PWRITE_AS(pwrite64)
ssize_t writev(int fd, const struct iovec *parts, int count) {
  NEXT(ssize_t, writev, int, const struct iovec *, int)
  struct call c;
  struct iovec cut[64];
  size_t n = 0;
  for (int i = 0; i < count; i++) n += parts[i].iov_len;
  if (enter(&c, WRITEV, fd, NULL, 0, NULL, (long)n)) return errno = (int)c.error, leave(&c, -1, 0);
  size_t left = shortened(&c, n);
  if (left == n || count > 64) return leave(&c, real(fd, parts, count), 0);
  for (int i = 0; i < count; i++) {
    cut[i] = parts[i];
    if (cut[i].iov_len > left) cut[i].iov_len = left;
    left -= cut[i].iov_len;
  }
  return leave(&c, real(fd, cut, count), 0);
}
#define FTRUNCATE_AS(name)                                                 \
  int name(int fd, off_t size) {                                           \
    NEXT(int, name, int, off_t)                                            \
    THROUGH(FTRUNCATE, fd, NULL, 0, NULL, size, real(fd, size));           \
  }
FTRUNCATE_AS(ftruncate)
FTRUNCATE_AS(ftruncate64)
#define FALLOCATE_AS(name)                                                 \
  int name(int fd, int mode, off_t at, off_t size) {                       \
    NEXT(int, name, int, int, off_t, off_t)                                \
    THROUGH(FALLOCATE, fd, NULL, 0, NULL, size, real(fd, mode, at, size)); \
  }
FALLOCATE_AS(fallocate)
FALLOCATE_AS(fallocate64)
#define POSIX_FALLOCATE_AS(name)                                           \
  int name(int fd, off_t at, off_t size) {                                 \
    NEXT(int, name, int, off_t, off_t)                                     \
    struct call c;                                                         \
    if (enter(&c, POSIX_FALLOCATE, fd, NULL, 0, NULL, size)) return (int)leave(&c, c.error, 1); \
    return (int)leave(&c, real(fd, at, size), 1);                          \
  }
POSIX_FALLOCATE_AS(posix_fallocate)
POSIX_FALLOCATE_AS(posix_fallocate64)
#define SPACE_AS(name, op, kind, type, dir, path)                            \
  int name(type where, struct kind *out) {                                 \
    NEXT(int, name, type, struct kind *)                                   \
    THROUGH(op, dir, path, 0, NULL, 0, real(where, out));                  \
  }
SPACE_AS(statvfs, STATVFS, statvfs, const char *, AT_FDCWD, where)
SPACE_AS(statvfs64, STATVFS, statvfs64, const char *, AT_FDCWD, where)
SPACE_AS(fstatvfs, FSTATVFS, statvfs, int, where, NULL)
SPACE_AS(fstatvfs64, FSTATVFS, statvfs64, int, where, NULL)
SPACE_AS(statfs, STATFS, statfs, const char *, AT_FDCWD, where)
SPACE_AS(statfs64, STATFS, statfs64, const char *, AT_FDCWD, where)
SPACE_AS(fstatfs, FSTATFS, statfs, int, where, NULL)
SPACE_AS(fstatfs64, FSTATFS, statfs64, int, where, NULL)
