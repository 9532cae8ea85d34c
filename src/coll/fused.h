/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

/* A slice as one kernel on each rank of a node (cuda/fused.h), in place of SRA's encode, reduce and
 * decode. Ranks exchange only message headers:
 *
 *   all ranks say that they are about to launch, or decline
 *   each rank launches, and all say whether they could
 *   all ranks wait for their kernels, and then for the other ranks
 *
 * A rank that declines, or cannot launch, says so like any other: no rank has written an element
 * then, and all stop their kernels. If a rank's device fails later, or MPI does, the ranks that
 * know stop the kernels that still wait. */
#ifndef CGX_COLL_FUSED_H
#define CGX_COLL_FUSED_H

#include "coll/stage.h"

/* Whether COLL's slices are summed so. Depends on what all ranks know alike: there is one node, of
 * at most CGX_FUSED_RANKS ranks, which have agreed on blocks, and nothing is to be added to, or
 * read from, payloads: no widths are adaptive, and neither consensus nor errors are watched. Pieces
 * are max-min quantised, rotated or exact, and round to nearest; elements may have a history. */
bool cgx_fused_serves(const struct cgx_coll *coll);

extern const struct cgx_stage_ops cgx_fused_stage;

/* To be called between polls of SLICE's exchanges: takes note when its kernel ends. False: it must
 * end before the slice goes on. */
bool cgx_fused_progress(struct cgx_slice *slice);

/* Ends SLICE's kernel, if it runs, since MPI has failed. */
void cgx_fused_abandon(struct cgx_slice *slice);

#endif
