// What the tests need of the GNU extensions that Swift's Glibc module hides.
#pragma once
#include <sys/types.h>

// Starts `argv[0]` (looked up on PATH) with descriptors 0, 1 and 2 and no others, every signal at its default and none
// blocked, in a process group of its own. `in` becomes 0 (-1: closed), `out` and `err` are opened for appending.
// With `terminal` (a path) it gets a session and that terminal as 0, 1 and 2 instead. Returns 0 or an errno.
int test_spawn(pid_t *pid, char *const argv[], char *const envp[], const char *folder, int in, const char *out,
               const char *err, const char *terminal);

// A pipe, close-on-exec. 0 or -1.
int test_pipe(int ends[2]);

// A pseudo-terminal of `columns` x `rows`: its master, or -1; the other side's path goes to `name`.
int test_terminal(char *name, size_t size, int columns, int rows);

// wait4 without blocking: 1 if it has ended, else 0. `own_kb` is the caller's own largest size.
int test_ended(pid_t pid, int *status, double *cpu_seconds, long *peak_kb, long *own_kb);
