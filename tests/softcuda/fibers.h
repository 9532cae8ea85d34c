/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

/* What runs threads of a device. Fibers: stacks that one thread of the process switches between.
 * The sanitizers are told. */
#ifndef SOFTCUDA_FIBERS_H
#define SOFTCUDA_FIBERS_H

#include <stdbool.h>
#include <stddef.h>

#include "softcuda.h"

#ifndef __x86_64__
#define SOFTCUDA_UCONTEXT /* slower: each switch is a system call */
#endif
#ifdef SOFTCUDA_UCONTEXT
#include <ucontext.h>
#endif

/* Of each thread of the process that has fibers: one alone, or those of resident.h. */
#ifdef SOFTCUDA_RESIDENT
#define SOFTCUDA_LOCAL __thread
#else
#define SOFTCUDA_LOCAL
#endif

struct softcuda_fiber {
#ifdef SOFTCUDA_UCONTEXT
    ucontext_t context;
#else
    void *saved; /* where its registers are, on its stack */
#endif
    void (*entry)(void);
    void *stack; /* of a started fiber: its own; kept for ever. Of an adopted one: the thread's */
    size_t size;
    void *fake; /* AddressSanitizer's, while it does not run */
    void *tsan; /* ThreadSanitizer's */
};

/* The next switch to the fiber calls ENTRY, which never returns, on a stack of its own; what a
 * fiber started before did is given up. False: no memory. */
bool softcuda_fiber_start(struct softcuda_fiber *fiber, void (*entry)(void));

/* Makes a fiber of the thread that runs. */
void softcuda_fiber_adopt(struct softcuda_fiber *fiber);

/* Runs TO until something switches to FROM, which is the one that runs. */
void softcuda_fiber_switch(struct softcuda_fiber *from, struct softcuda_fiber *to);

/* For ThreadSanitizer, which takes fibers for threads that nothing orders: what a fiber did before
 * it released PLACE happens before what follows an acquire. */
void softcuda_fiber_release(const void *place);
void softcuda_fiber_acquire(const void *place);

/* ---- blocks that a device holds at once (threads.c); one of them runs ---- */

/* ThreadSanitizer would take the shared variables of blocks, which have one address, for races. */
#define SOFTCUDA_PLACES 8
#ifdef SOFTCUDA_TSAN
#define SOFTCUDA_HELD 1
#else
#define SOFTCUDA_HELD SOFTCUDA_PLACES
#endif

/* Lets BLOCK of GRID begin at PLACE, below SOFTCUDA_HELD, and turns to it. False: it cannot (a
 * message says why). */
bool softcuda_block_begin(unsigned place, const struct softcuda_grid *grid, unsigned block);

/* Turns to the block at PLACE. */
void softcuda_block_turn(unsigned place);

/* Runs it to its end, or until its threads poll in vain. */
enum softcuda_ran softcuda_block_go_on(void);

/* In which order the blocks of a launch and the threads of a block run: what SOFTCUDA_BLOCKS and
 * SOFTCUDA_ORDER say (softcuda.h), in grid.c. */

/* Begins a launch of BLOCKS blocks. False: the environment cannot be read or there is no memory;
 * a message says which. */
bool softcuda_order_begin(unsigned blocks);

/* The block that runs in turn TURN of the launch: each one has one turn. */
unsigned softcuda_order_block(unsigned turn);

/* The next round of turns: TURNS, of THREADS elements, gets the number of each thread once. */
void softcuda_order_threads(unsigned *turns, unsigned threads);

#endif
