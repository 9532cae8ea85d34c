/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

/* In which order the blocks of a launch and the threads of a block run: what SOFTCUDA_BLOCKS and
 * SOFTCUDA_ORDER say (softcuda.h). */
#ifndef SOFTCUDA_ORDER_H
#define SOFTCUDA_ORDER_H

#include <stdbool.h>

/* Begins a launch of BLOCKS blocks. False: the environment cannot be read or there is no memory;
 * a message says which. */
bool softcuda_order_begin(unsigned blocks);

/* The block that runs in turn TURN of the launch: each one has one turn. */
unsigned softcuda_order_block(unsigned turn);

/* The next round of turns: TURNS, of THREADS elements, gets the number of each thread once. */
void softcuda_order_threads(unsigned *turns, unsigned threads);

#endif
