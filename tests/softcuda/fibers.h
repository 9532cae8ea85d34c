/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

/* Fibers: stacks that one thread of the process switches between. The sanitizers are told. */
#ifndef SOFTCUDA_FIBERS_H
#define SOFTCUDA_FIBERS_H

#include <stdbool.h>
#include <stddef.h>

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

#endif
