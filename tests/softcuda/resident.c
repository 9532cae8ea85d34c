/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

#define _GNU_SOURCE /* syscall */

#include "resident.h"

#include <linux/futex.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "fibers.h"

/* Polls in vain, of each block on average, before nobody is taken to be able to go on. */
enum { VAIN = 200 };

/* A thread of the process that runs a block, and sleeps while it is not its turn. */
struct worker {
    atomic_int turn;
    bool exists;
    unsigned block, burst;
    bool given_up;
};

static struct {
    const struct softcuda_grid *grid;
    unsigned burst;
    struct worker workers[SOFTCUDA_RESIDENTS], main;
    struct worker *live[SOFTCUDA_RESIDENTS]; /* whose blocks have not ended */
    unsigned nlive;
    unsigned long vain; /* rounds since some block made progress */
    uint64_t random;
    bool failed, stuck;
    char begin, end; /* names for what happens before */
} all;

static __thread struct worker *self;

/* ThreadSanitizer does not look into these files: what passes a turn orders nothing for it. */
static void give_turn(struct worker *to)
{
    atomic_store_explicit(&to->turn, 1, memory_order_relaxed);
    syscall(SYS_futex, &to->turn, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0);
}

static void await_turn(struct worker *worker)
{
    while (atomic_load_explicit(&worker->turn, memory_order_relaxed) == 0)
        syscall(SYS_futex, &worker->turn, FUTEX_WAIT_PRIVATE, 0, NULL, NULL, 0);
    atomic_store_explicit(&worker->turn, 0, memory_order_relaxed);
}

static unsigned draw(unsigned below)
{
    all.random = all.random * 6364136223846793005u + 1442695040888963407u;
    return (unsigned)((all.random >> 32) * below >> 32);
}

static bool between(bool progress)
{
    struct worker *next;

    all.vain = progress ? 0 : all.vain + 1;
    all.stuck = all.stuck || all.vain > (unsigned long)VAIN * all.nlive;
    self->given_up = all.stuck;
    if (self->given_up)
        return false;
    if (progress && self->burst-- > 0)
        return true;
    self->burst = draw(all.burst + 1);
    next = all.live[draw(all.nlive)];
    if (next != self) {
        give_turn(next);
        await_turn(self);
    }
    return true;
}

/* A block has ended: the next one goes on, or else the program. */
static void leave(bool good)
{
    unsigned i = 0;

    all.failed |= !good && !self->given_up;
    all.vain = 0;
    while (all.live[i] != self)
        i++;
    all.live[i] = all.live[--all.nlive];
    give_turn(all.nlive > 0 ? all.live[draw(all.nlive)] : &all.main);
}

static void *work(void *worker)
{
    self = worker;
    for (;;) {
        bool good;

        await_turn(self);
        softcuda_fiber_acquire(&all.begin);
        self->given_up = false;
        self->burst = 0;
        good = softcuda_run_block(all.grid, self->block, between);
        softcuda_fiber_release(&all.end);
        leave(good);
    }
    return NULL;
}

static void add(unsigned block)
{
    struct worker *worker = &all.workers[all.nlive];
    pthread_t thread;

    worker->block = block;
    if (!worker->exists && pthread_create(&thread, NULL, work, worker) != 0) {
        fprintf(stderr, "softcuda: no thread for a block\n");
        exit(1);
    }
    worker->exists = true;
    all.live[all.nlive++] = worker;
}

bool softcuda_run_together(const struct softcuda_grid *grid, uint64_t seed, unsigned burst)
{
    all.grid = grid;
    all.random = seed;
    all.burst = burst;
    all.vain = 0;
    all.failed = all.stuck = false;
    for (unsigned block = 0; block < grid->blocks; block++)
        add(block);
    softcuda_fiber_release(&all.begin);
    give_turn(all.live[draw(all.nlive)]);
    await_turn(&all.main);
    softcuda_fiber_acquire(&all.end);
    if (all.stuck)
        fprintf(stderr, "softcuda: all blocks wait in vain\n");
    return !all.failed && !all.stuck;
}
