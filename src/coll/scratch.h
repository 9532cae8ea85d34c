/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

/* The memory that a call works in. It is reserved before ranks agree to compress, so that no call
 * runs out of memory half-way. */
#ifndef CGX_COLL_SCRATCH_H
#define CGX_COLL_SCRATCH_H

#include "coll/shm.h"
#include "coll/slice.h"

/* Holds nothing when zero-initialised. Serves one call at a time. */
struct cgx_scratch {
    /* Set by the caller: the number of ranks of the node that may share staging memory; below 2,
     * none may. */
    unsigned local_peers;
    struct cgx_shared shared; /* the segment with the staging memory, if memory can be shared */
    struct cgx_needs reserved;
    struct cgx_slot slots[CGX_SLOTS];
    struct cgx_slice slices[CGX_SLOTS]; /* in progress, by slot */
    struct cgx_transfer *transfers;
    const unsigned char **sources;
    unsigned char *packed; /* packed messages of the current exchange */
    struct cgx_exchange *exchange;
    struct cgx_cuda_backends *devices; /* backends that were made for this staging memory */
};

/* Grows SCRATCH to at least NEEDS; memory that grows loses its device backends. CGX_ERR_NOMEM:
 * SCRATCH is unchanged. */
enum cgx_status cgx_scratch_reserve(struct cgx_scratch *scratch, const struct cgx_needs *needs);

struct cgx_area cgx_scratch_area(const struct cgx_scratch *scratch);

void cgx_scratch_release(struct cgx_scratch *scratch);

#endif
