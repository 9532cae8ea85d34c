/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

/* A grid whose blocks are all resident at once and wait for each other. Each block is a thread of
 * the process, and one of them runs at a time: after some rounds a random other one goes on.
 * ThreadSanitizer sees nothing that orders them but what kernels do. The engine must be compiled
 * with SOFTCUDA_RESIDENT. */
#ifndef SOFTCUDA_RESIDENT_H
#define SOFTCUDA_RESIDENT_H

#include <stdint.h>

#include "softcuda.h"

#ifdef __cplusplus
extern "C" {
#endif

#define SOFTCUDA_RESIDENTS 64 /* blocks at most */

/* Runs GRID to its end, in an order that SEED says: a block has BURST rounds at most before another
 * goes on. False: threads of a block did not meet, or blocks poll in vain (a message says so). */
bool softcuda_run_together(const struct softcuda_grid *grid, uint64_t seed, unsigned burst);

#ifdef __cplusplus
}
#endif

#endif
