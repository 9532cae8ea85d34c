/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

/* What device.h asks of the engine for the thread that runs. FILE and LINE are where threads meet.
 */
#ifndef SOFTCUDA_THREADS_H
#define SOFTCUDA_THREADS_H

#include <stdbool.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

struct softcuda_dim {
    unsigned x;
};

/* Of the thread that runs. */
struct softcuda_place {
    struct softcuda_dim thread, block;
};
#ifdef SOFTCUDA_RESIDENT
extern __thread struct softcuda_place softcuda_here;
#else
extern struct softcuda_place softcuda_here;
#endif

/* Waits for all threads that have not exited. */
void softcuda_barrier(const char *file, int line);

/* These wait for the lanes that MASK names. */
/* The VALUE of lane SOURCE. */
uint64_t softcuda_shuffle(const char *file, int line, unsigned mask, uint64_t value,
                          unsigned source);
/* A bit for each lane with PREDICATE. */
unsigned softcuda_ballot(const char *file, int line, unsigned mask, bool predicate);
void softcuda_syncwarp(const char *file, int line, unsigned mask);

/* Lets other threads and blocks go on: to be called in each round of a loop that waits for them. */
void softcuda_poll(void);

#ifdef __cplusplus
}
#endif

#endif
