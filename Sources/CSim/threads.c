// Threads that take turns, and the clock they wait on. What the product calls of pthread, semaphores, futexes and clocks ends here.
#define _GNU_SOURCE
#include "inside.h"
#include <errno.h>
#include <linux/futex.h>
#include <pthread.h>
#include <semaphore.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <ucontext.h>

enum { STACK = 1 << 19, FOREVER = -1 };
enum wait { RUNS, SEMAPHORE, FUTEX, JOIN, TIMER, ENDED };

typedef struct thread {
  struct thread *next;
  jmp_buf at;
  char *stack;
  void *(*run)(void *);
  void *argument, *result;
  const char *name;
  enum wait waits;
  void *on;            // the semaphore, futex or thread
  int64_t until, call; // FOREVER for none
  bool detached, started;
} thread;

static thread *all, *current;
static char *spare_stacks[64];
static int spare_count;
static jmp_buf scheduler;
static ucontext_t entry, starter;
static int64_t now, slept, jumped, booted;
static uint64_t state;
static bool on;
static char waiting[2048];

bool machine_on(void) { return on; }
bool machine_in_thread(void) { return current != NULL; }

// MARK: chance

uint64_t chance(uint64_t *s) {
  uint64_t z = (*s += 0x9E3779B97F4A7C15u);
  z = (z ^ z >> 30) * 0xBF58476D1CE4E5B9u;
  z = (z ^ z >> 27) * 0x94D049BB133111EBu;
  return z ^ z >> 31;
}
uint64_t machine_chance(void) { return chance(&state); }
void sim_random(void *bytes, size_t count) {
  unsigned char *out = bytes;
  for (size_t i = 0; i < count; i++) out[i] = (unsigned char)chance(&state);
}

// MARK: turns

static void leave(void) {
  if (_setjmp(current->at) == 0) _longjmp(scheduler, 1);
}
static void wait_for(enum wait what, void *object, int64_t until, int64_t call) {
  current->waits = what;
  current->on = object;
  current->until = until;
  current->call = call;
  leave();
}
static void wake(enum wait what, void *object) {
  for (thread *t = all; t; t = t->next)
    if (t->waits == what && t->on == object) t->waits = RUNS;
}
void machine_called(int64_t calls) {
  for (thread *t = all; t; t = t->next)
    if (t->waits == TIMER && t->call != FOREVER && calls >= t->call) t->waits = RUNS;
}

static char *new_stack(void) {
  if (spare_count) return spare_stacks[--spare_count];
  char *stack = mmap(NULL, STACK, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_STACK | MAP_NORESERVE, -1, 0);
  if (stack == MAP_FAILED) abort();
  mprotect(stack, 4096, PROT_NONE);
  return stack;
}
static void begin_thread(void) {
  thread *me = current;
  me->result = me->run(me->argument);
  me->waits = ENDED;
  wake(JOIN, me);
  _longjmp(scheduler, 1);
}
static thread *spawn(void *(*run)(void *), void *argument) {
  thread *t = calloc(1, sizeof *t);
  t->stack = new_stack();
  t->run = run;
  t->argument = argument;
  t->name = "";
  t->until = t->call = FOREVER;
  thread **end = &all;
  while (*end) end = &(*end)->next;
  *end = t;
  return t;
}
static void bury(thread *t) {
  for (thread **p = &all; *p; p = &(*p)->next)
    if (*p == t) {
      *p = t->next;
      break;
    }
  if (spare_count < 64) spare_stacks[spare_count++] = t->stack; else munmap(t->stack, STACK);
  free(t);
}

static thread *pick(void) {
  for (;;) {
    thread *ready[64];
    unsigned count = 0;
    int64_t next = INT64_MAX;
    bool alive = false;
    for (thread *t = all; t; t = t->next) {
      if (t->waits == ENDED) continue;
      alive = true;
      if (t->waits != RUNS && t->until != FOREVER) {
        if (t->until <= now) t->waits = RUNS;
        else if (t->until < next) next = t->until;
      }
      if (t->waits == RUNS && count < 64) ready[count++] = t;
    }
    if (count) return ready[count == 1 ? 0 : chance(&state) % count];
    if (!alive || next == INT64_MAX) return NULL;
    now = next;
  }
}

int sim_run(void (*body)(void *), void *context) {
  const int64_t end = now + (int64_t)900 * 1000000000;  // a thread that goes on for ever doesn't end either
  thread *first = spawn((void *(*)(void *))(void (*)(void))body, context);
  first->name = "front end";
  first->detached = true;
  for (;;) {
    for (thread *t = all; t;) {
      thread *next = t->next;
      if (t->waits == ENDED && t->detached) bury(t);
      t = next;
    }
    thread *t = pick();
    if (!t || now > end) break;
    if (_setjmp(scheduler) == 0) {
      current = t;
      if (t->started) _longjmp(t->at, 1);
      t->started = true;
      getcontext(&entry);
      entry.uc_stack.ss_sp = t->stack;
      entry.uc_stack.ss_size = STACK;
      entry.uc_link = NULL;
      makecontext(&entry, begin_thread, 0);
      swapcontext(&starter, &entry);
    }
    current = NULL;
  }
  static const char *const words[] = {"runs", "waits for a semaphore", "waits for a lock", "waits for a thread", "sleeps", "ended"};
  waiting[0] = 0;
  int left = 0;
  for (thread *t = all; t; t = t->next)
    if (t->waits != ENDED) {
      left++;
      size_t at = strlen(waiting);
      snprintf(waiting + at, sizeof waiting - at, "%s %s\n", t->name, words[t->waits]);
    }
  return left ? 1 : 0;
}
const char *sim_waiting(void) { return waiting; }

void sim_begin(uint64_t seed) {
  on = true;
  state = seed;
  now = 1000000000;
  slept = jumped = booted = 0;
  disk_begin();
}
void sim_end(void) {
  on = false;
  while (all) bury(all);
  disk_end();
}
int64_t sim_now(void) { return now; }
void sim_jump(int64_t nanoseconds) { jumped += nanoseconds; }
void sim_sleep(int64_t nanoseconds) { slept += nanoseconds; }
void sim_reboot(int64_t after) {
  jumped += after;
  booted = now;
  slept = 0;
}
void sim_yield(void) {
  if (current) leave();
}
void sim_wait(int64_t time, int64_t call) {
  if (current) wait_for(TIMER, NULL, time, call);
}
/// A call takes so long: nobody has a turn where nobody wants one before that.
void machine_spend(int64_t nanoseconds) {
  if (!current) return;
  int64_t until = now + nanoseconds;
  for (thread *t = all; t; t = t->next)
    if (t != current && (t->waits == RUNS || (t->waits != ENDED && t->until != FOREVER && t->until <= until))) {
      wait_for(TIMER, NULL, until, FOREVER);
      return;
    }
  now = until;
}

// MARK: what stands in libc's place

#define NEXT(name) ((__typeof__(&name))real(#name))

int pthread_create(pthread_t *made, const pthread_attr_t *attributes, void *(*run)(void *), void *argument) {
  if (!on) return NEXT(pthread_create)(made, attributes, run, argument);
  *made = (pthread_t)spawn(run, argument);
  return 0;
}
static thread *known(pthread_t handle) {
  for (thread *t = all; t; t = t->next)
    if ((pthread_t)t == handle) return t;
  return NULL;
}
int pthread_join(pthread_t handle, void **result) {
  if (!on) return NEXT(pthread_join)(handle, result);
  thread *t = known(handle);
  if (!t) return ESRCH;
  while (t->waits != ENDED) wait_for(JOIN, t, FOREVER, FOREVER);
  if (result) *result = t->result;
  bury(t);
  return 0;
}
int pthread_detach(pthread_t handle) {
  if (!on) return NEXT(pthread_detach)(handle);
  thread *t = known(handle);
  if (!t) return ESRCH;
  t->detached = true;
  return 0;
}
int pthread_setname_np(pthread_t handle, const char *name) {
  if (!on) return NEXT(pthread_setname_np)(handle, name);
  thread *t = known(handle);
  if (t) t->name = name;  // a literal of the product's
  return 0;
}

// Counts of a semaphore stand in its first word, on every machine: nobody else looks into one.
static int *count_of(sem_t *s) { return (int *)s; }
int sem_init(sem_t *s, int shared, unsigned value) {
  (void)shared;
  *count_of(s) = (int)value;
  return 0;
}
int sem_destroy(sem_t *s) {
  (void)s;
  return 0;
}
int sem_post(sem_t *s) {
  ++*count_of(s);
  wake(SEMAPHORE, s);
  return 0;
}
static int take(sem_t *s, int64_t until) {
  while (*count_of(s) <= 0) {
    if (!current) abort();  // nobody could ever post it
    if (until != FOREVER && now >= until) {
      errno = ETIMEDOUT;
      return -1;
    }
    wait_for(SEMAPHORE, s, until, FOREVER);
  }
  --*count_of(s);
  return 0;
}
int sem_wait(sem_t *s) { return take(s, FOREVER); }
int sem_clockwait(sem_t *s, clockid_t clock, const struct timespec *t);
int sem_clockwait(sem_t *s, clockid_t clock, const struct timespec *t) {
  (void)clock;
  return take(s, t->tv_sec * 1000000000 + t->tv_nsec);
}

static int64_t clock_value(clockid_t clock) {
  switch (clock) {
  case CLOCK_MONOTONIC: case CLOCK_MONOTONIC_RAW: case CLOCK_MONOTONIC_COARSE: return now;
  case CLOCK_BOOTTIME: return now - booted + slept;
  default: return 1798000000000000000 + now + slept + jumped;  // some day in 2026
  }
}
int64_t machine_wall(void) { return clock_value(CLOCK_REALTIME); }
int clock_gettime(clockid_t clock, struct timespec *t) {
  if (!on || (clock != CLOCK_MONOTONIC && clock != CLOCK_REALTIME && clock != CLOCK_BOOTTIME)) return (int)direct(SYS_clock_gettime, clock, (long)t, 0, 0, 0, 0);
  int64_t value = clock_value(clock);
  t->tv_sec = value / 1000000000;
  t->tv_nsec = value % 1000000000;
  return 0;
}
int usleep(useconds_t microseconds) {
  if (!on) return NEXT(usleep)(microseconds);
  sim_wait(now + (int64_t)microseconds * 1000, FOREVER);
  return 0;
}

/// Swift's Mutex locks by a futex where it is contended; threads that take turns meet a lock only across a wait.
static long lock_futex(unsigned *word) {
  while (*word & FUTEX_TID_MASK) {
    if (!current) abort();
    *word |= FUTEX_WAITERS;  // so that its release comes by here too
    wait_for(FUTEX, word, FOREVER, FOREVER);
  }
  *word = (unsigned)direct(SYS_gettid, 0, 0, 0, 0, 0, 0);
  return 0;
}
static long unlock_futex(unsigned *word) {
  *word = 0;
  wake(FUTEX, word);
  return 0;
}
long syscall(long number, ...) {
  va_list list;
  va_start(list, number);
  long a[6];
  for (int i = 0; i < 6; i++) a[i] = va_arg(list, long);
  va_end(list);
  if (on && number == SYS_futex && (a[1] & FUTEX_CMD_MASK) == FUTEX_LOCK_PI) return lock_futex((unsigned *)a[0]);
  if (on && number == SYS_futex && (a[1] & FUTEX_CMD_MASK) == FUTEX_UNLOCK_PI) return unlock_futex((unsigned *)a[0]);
  if (on && number == SYS_getrandom) {
    sim_random((void *)a[0], (size_t)a[1]);
    return a[1];
  }
  return direct(number, a[0], a[1], a[2], a[3], a[4], a[5]);
}
