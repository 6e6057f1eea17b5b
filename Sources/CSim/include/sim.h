// A machine of its own for one process: threads that take turns on one stack of the operating system, a clock that only this
// machine moves, and a disk in memory that knows what of it is synced. The executable that has these symbols has them in place
// of libc's, so that the product runs on it unchanged. One thread; seeded; the same seed gives the same run.
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

// MARK: the machine

/// Switches the machine on: a clock at its start, no threads, no disk. `seed` decides whose turn it is.
void sim_begin(uint64_t seed);
void sim_end(void);
/// Runs `body` and all threads it starts until every one has ended. 0, or 1 where they wait for one another for ever or some
/// haven't ended after a quarter of an hour of their clock.
int sim_run(void (*body)(void *), void *context);
/// What the threads wait for, one a line; valid until the next call.
const char *sim_waiting(void);
/// Nanoseconds of CLOCK_MONOTONIC.
int64_t sim_now(void);
/// Calls to the disk so far.
int64_t sim_calls(void);
/// Waits until a moment, or until the disk has been called so many times; -1 for no limit. The disk is asked before the call.
void sim_wait(int64_t time, int64_t call);
/// Lets others have a turn.
void sim_yield(void);
/// Sets the wall clock off by so much more, or lets the machine have slept.
void sim_jump(int64_t nanoseconds);
void sim_sleep(int64_t nanoseconds);
/// A reboot: CLOCK_BOOTTIME and CLOCK_MONOTONIC begin anew.
void sim_reboot(int64_t after);
void sim_random(void *bytes, size_t count);

// MARK: the disk

typedef struct sim_disk sim_disk;
/// An empty disk, mounted at /sim.
sim_disk *sim_disk_make(void);
void sim_disk_free(sim_disk *);
void sim_mount(sim_disk *);
/// Descriptors that are open on the mounted disk.
int sim_open_files(void);

enum {  // kinds of calls
  SIM_OPEN = 1, SIM_WRITE = 2, SIM_SYNC = 4, SIM_RENAME = 8, SIM_REMOVE = 16, SIM_FOLDER = 32, SIM_ALLOCATE = 64,
  SIM_READ = 128, SIM_CUT = 256, SIM_LOCK = 512, SIM_ALL = 1023
};
/// The next `count` calls of these kinds fail with `error`; where it is 0, writes are cut short. One such rule at a time.
void sim_fault(int kinds, int error, int count);
/// The next `count` calls of these kinds take so long.
void sim_stall(int kinds, int64_t nanoseconds, int count);
/// What a call takes at least and at most, and a sync.
void sim_latency(int64_t least, int64_t most, int64_t sync_most);
/// Bytes the disk has room for from now on; -1 for any.
void sim_room(int64_t bytes);
/// What the file system hasn't: locks, RENAME_NOREPLACE and EXCHANGE, syncs.
void sim_lacks(bool locks, bool flags, bool syncs);
/// Until when the disk was, or will be, in trouble: a fault, or a stall that the bounds don't cover.
int64_t sim_trouble(void);

/// What a power cut leaves of what isn't synced.
enum { SIM_KILL = 0, SIM_TORN = 1, SIM_POSIX = 2, SIM_JOURNAL = 3 };
/// Before the `call`th call to the disk (in the middle of it for SIM_TORN) a copy of it is made, as it is then or as a power
/// cut leaves it. `spread` 0: nothing unsynced, 1: all of it, 2: some.
void sim_crash(int64_t call, int model, int spread, uint64_t seed);
typedef struct {
  sim_disk *disk;
  int64_t call, time, trouble;
  int model;
} sim_image;
/// How many copies there are now; they are the caller's.
int sim_images(void);
sim_image sim_image_at(int index);
/// The mounted disk as it is now, or as a power cut leaves it.
sim_disk *sim_copy(int model, int spread, uint64_t seed);

/// Every name on a disk, by path: calls `each` with its bytes; with size -1 for a folder.
void sim_walk(sim_disk *, void *context, void (*each)(void *context, const char *path, const uint8_t *bytes, int64_t size));
/// Puts a file there, synced. Its folder must be there.
void sim_put(sim_disk *, const char *path, const uint8_t *bytes, size_t size);
