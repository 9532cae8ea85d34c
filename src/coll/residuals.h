/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

/* Error feedback in a sum of several stages. Each quantisation of this rank has its own residuals
 * (codec.h), indexed by element: those of the buffer for the input it sends, those of its shard for
 * sums inside the node or a row that go to other nodes, and those of its chunk for the chunk's sum.
 */
#ifndef CGX_COLL_RESIDUALS_H
#define CGX_COLL_RESIDUALS_H

#include "coll/slice.h"

/* Bytes for all residuals of RANK: for float32 half of the buffer's size, and for each stage that
 * sums half of what the rank sums there. */
size_t cgx_residuals_bytes(const struct cgx_schedule *schedule, unsigned rank);

/* The residuals in MEMORY. Valid while the plan does not change. */
struct cgx_error_feedback cgx_residuals_in(void *memory, const struct cgx_schedule *schedule,
                                           unsigned rank);

/* The residuals for encoding a block from the input ... */
struct cgx_residuals cgx_residuals_of_input(const struct cgx_slice *slice);

/* ... and for encoding the sum in BLOCK; PARTIAL: the sum will be added to others. */
struct cgx_residuals cgx_residuals_of_sum(const struct cgx_slice *slice,
                                          const struct cgx_block *block, bool partial);

#endif
