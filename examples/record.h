/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

/* Writes the gradients of every rank, as they are before they are summed, to a file for
 * bench/policy --replay:
 *
 *     RECORD_GRADIENTS=FILE     nothing is recorded where it is not set
 *     RECORD_STEPS=FIRST:COUNT:STRIDE
 *                               which steps, from 0; the last two can be left out; 0:10:10
 *
 * The file, in the machine's byte order: "CGXG"; version (1), ranks, steps, tensors, as uint32;
 * the elements of each tensor as uint64; then for each step and each rank all tensors as float32,
 * in the order in which the backward pass finishes them. */
#ifndef RECORD_H
#define RECORD_H

#include <stddef.h>

/* Collective, as all of these but record_gradient, on MPI_COMM_WORLD, without all-reduces. Rank
 * 0's environment counts, and it writes. PARAMETERS: elements of all tensors. A fault of the file
 * aborts the program. */
void record_start(size_t parameters);

/* The next tensor of this step. */
void record_gradient(const float *values, int count);

void record_step(void);
void record_end(void);

#endif
