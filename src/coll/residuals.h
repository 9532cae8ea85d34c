/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

/* Error feedback in a sum of several stages: every quantisation of this rank has residuals of its
 * own (codec.h), by the place of its elements. What a rank sends of its input has those of the
 * buffer; what it sums of its shard inside the node or a row, and sends to other nodes, has those
 * of the shard; the sum of its chunk has those of the chunk. The partial sums that go round in a
 * ring inside a node have none: in them a rank quantises nearly the whole buffer once more, which
 * would take as much memory again. */
#ifndef CGX_COLL_RESIDUALS_H
#define CGX_COLL_RESIDUALS_H

#include "coll/slice.h"

/* Bytes of memory for those of RANK: of float32, half of the buffer, and for each stage that sums
 * half of what the rank sums there. */
size_t cgx_residuals_bytes(const struct cgx_schedule *schedule, unsigned rank);

/* They lie in MEMORY like this, while the plan is as it is. */
struct cgx_error_feedback cgx_residuals_in(void *memory, const struct cgx_schedule *schedule,
                                           unsigned rank);

/* Of BLOCK, where it is encoded from the input ... */
struct cgx_residuals cgx_residuals_of_input(const struct cgx_slice *slice,
                                            const struct cgx_block *block);

/* ... and where it is summed; PARTIAL: the sum will be added to others. */
struct cgx_residuals cgx_residuals_of_sum(const struct cgx_slice *slice,
                                          const struct cgx_block *block, bool partial);

#endif
