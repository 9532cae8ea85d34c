/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

/* How a buffer is cut. Chunks: the units that one rank owns, alike in encoded bytes to within a
 * unit; a function of the plan and the number of chunks alone. Slices: each chunk is cut
 * into the same number of parts, alike in the same way, so that the parts with the same number, one
 * of every chunk, fit the staging memory. Pieces: what the plan's segments make of such a part. */
#ifndef CGX_COLL_SPLIT_H
#define CGX_COLL_SPLIT_H

#include "policy/plan.h"

/* Units [first, end) of the buffer. */
struct cgx_element_range {
    size_t first;
    size_t end;
};

/* What chunk CHUNK of CHUNKS has of slice number SLICE of SLICES. */
struct cgx_element_range cgx_split_part(const struct cgx_plan *plan, unsigned chunks,
                                        unsigned chunk, unsigned slices, unsigned slice);

/* The pieces of RANGE, the first at byte OFFSET, and their number, at most the plan's segments.
 * PIECES of NULL: counts only. *END, where END is not NULL: the byte after the last piece. */
size_t cgx_split_pieces(const struct cgx_plan *plan, struct cgx_element_range range, size_t offset,
                        struct cgx_piece *pieces, size_t *end);

#endif
