#define _GNU_SOURCE
#include "CTestSupport.h"
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

int test_spawn(pid_t *pid, char *const argv[], char *const envp[], const char *folder, int in, const char *out,
               const char *err, const char *terminal) {
  posix_spawn_file_actions_t f;
  posix_spawnattr_t a;
  sigset_t all, none;
  sigfillset(&all), sigemptyset(&none);
  posix_spawn_file_actions_init(&f);
  if (terminal) {  // the first terminal that a session's leader opens is the one that controls it
    posix_spawn_file_actions_addopen(&f, 0, terminal, O_RDWR, 0);
    posix_spawn_file_actions_adddup2(&f, 0, 1);
    posix_spawn_file_actions_adddup2(&f, 0, 2);
  } else {
    if (in >= 0) posix_spawn_file_actions_adddup2(&f, in, 0);
    posix_spawn_file_actions_addopen(&f, 1, out, O_WRONLY | O_CREAT | O_APPEND, 0600);
    posix_spawn_file_actions_addopen(&f, 2, err, O_WRONLY | O_CREAT | O_APPEND, 0600);
    if (in < 0) posix_spawn_file_actions_addclose(&f, 0);
  }
  posix_spawn_file_actions_addclosefrom_np(&f, 3);
  if (folder) posix_spawn_file_actions_addchdir_np(&f, folder);
  posix_spawnattr_init(&a);
  posix_spawnattr_setsigdefault(&a, &all);
  posix_spawnattr_setsigmask(&a, &none);
  posix_spawnattr_setflags(&a, POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETSIGMASK | (terminal ? POSIX_SPAWN_SETSID : POSIX_SPAWN_SETPGROUP));
  int code = posix_spawnp(pid, argv[0], &f, &a, argv, envp);
  posix_spawnattr_destroy(&a);
  posix_spawn_file_actions_destroy(&f);
  return code;
}

int test_pipe(int ends[2]) { return pipe2(ends, O_CLOEXEC); }

int test_terminal(char *name, size_t size, int columns, int rows) {
  struct winsize w = {.ws_row = (unsigned short)rows, .ws_col = (unsigned short)columns};
  int master = posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC);
  if (master < 0) return -1;
  if (grantpt(master) || unlockpt(master) || ptsname_r(master, name, size) || ioctl(master, TIOCSWINSZ, &w)) return close(master), -1;
  return master;
}

int test_ended(pid_t pid, int *status, double *cpu_seconds, long *peak_kb, long *own_kb) {
  struct rusage child, own;
  if (wait4(pid, status, WNOHANG, &child) != pid) return 0;
  getrusage(RUSAGE_SELF, &own);
  *cpu_seconds = (double)(child.ru_utime.tv_sec + child.ru_stime.tv_sec) + (double)(child.ru_utime.tv_usec + child.ru_stime.tv_usec) / 1e6;
  *peak_kb = child.ru_maxrss, *own_kb = own.ru_maxrss;
  return 1;
}
