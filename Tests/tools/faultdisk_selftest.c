/* Makes one call of each kind that faultdisk.c knows, in DIR, and prints what came of each: "name result" or "name ERRNO".
 *   cc -O2 -o faultdisk_selftest faultdisk_selftest.c && mkdir -p DIR && ./faultdisk_selftest DIR
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/uio.h>
#include <sys/vfs.h>
#include <unistd.h>

static long show(const char *name, long result) {
  if (result < 0) printf("%s %s\n", name, strerrorname_np(errno));
  else printf("%s %ld\n", name, result);
  fflush(stdout);
  return result;
}
#define SHOW(call) show(#call, call)
/* Descriptors as 0 or an error: their numbers are the machine's business. */
static int opened(const char *name, int fd) { return show(name, fd < 0 ? -1 : 0), fd; }

int main(int count, char **arguments) {
  if (count != 2 || chdir(arguments[1])) return 64;
  struct statvfs v;
  struct statfs f;
  struct iovec parts[2] = {{"abc", 3}, {"defg", 4}};
  int folder = opened("open folder", open(".", O_RDONLY | O_DIRECTORY));
  SHOW(mkdir("part", 0700));
  SHOW(mkdirat(folder, "part2", 0700));
  int a = opened("open a", open("part/a", O_RDWR | O_CREAT | O_EXCL, 0600));
  int b = opened("openat b", openat(folder, "part/b", O_RDWR | O_CREAT | O_EXCL, 0600));
  SHOW(flock(a, LOCK_EX | LOCK_NB));
  SHOW(fchmod(a, 0600));
  SHOW(fallocate(a, 0, 0, 100));
  SHOW(posix_fallocate(b, 0, 100));
  SHOW(ftruncate(a, 0));
  SHOW(write(a, "0123456789", 10));
  SHOW(write(a, "0123456789", 10));
  SHOW(pwrite(a, "xyz", 3, 20));
  SHOW(writev(a, parts, 2));
  SHOW(fdatasync(a));
  SHOW(fsync(a));
  SHOW(fsync(folder));
  SHOW(syncfs(a));
  SHOW(statvfs(".", &v));
  SHOW(fstatvfs(a, &v));
  SHOW(statfs(".", &f));
  SHOW(fstatfs(a, &f));
  SHOW(link("part/b", "c"));
  SHOW(linkat(folder, "part/b", folder, "d", 0));
  SHOW(rename("c", "c2"));
  SHOW(renameat(folder, "d", folder, "d2"));
  SHOW(renameat2(folder, "part/a", folder, "a", RENAME_NOREPLACE));
  SHOW(lseek(a, 0, SEEK_END));
  SHOW(close(a));
  SHOW(close(b));
  SHOW(unlink("a"));
  SHOW(unlink("c2"));
  SHOW(unlinkat(folder, "d2", 0));
  SHOW(unlinkat(folder, "part/b", 0));
  SHOW(rmdir("part2"));
  SHOW(rmdir("part"));
  SHOW(close(folder));
  return 0;
}
