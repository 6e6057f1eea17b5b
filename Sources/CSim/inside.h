// What the two halves of the machine share.
#pragma once
#include "sim.h"
#include <stdbool.h>
#include <stdint.h>

bool machine_on(void);
bool machine_in_thread(void);
uint64_t chance(uint64_t *state);
uint64_t machine_chance(void);
void machine_called(int64_t calls);
void machine_spend(int64_t nanoseconds);
int64_t machine_wall(void);
void disk_begin(void);
void disk_end(void);
/// libc's own.
void *real(const char *name);
/// The kernel's own, errno set as libc does.
long direct(long number, long a, long b, long c, long d, long e, long f);
