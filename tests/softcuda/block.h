/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

/* Blocks that a device holds at once (threads.c). One of them runs. */
#ifndef SOFTCUDA_BLOCK_H
#define SOFTCUDA_BLOCK_H

#include "softcuda.h"

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

#endif
