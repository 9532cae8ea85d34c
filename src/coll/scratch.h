/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

/* The memory that a call works in, had before ranks agree to compress, so that no call can run out
 * of it half-way. */
#ifndef CGX_COLL_SCRATCH_H
#define CGX_COLL_SCRATCH_H

#include "coll/shm.h"
#include "coll/slice.h"

/* Zero-initialised, it holds nothing. Serves one call at a time. */
struct cgx_scratch {
    /* To be set: with how many ranks a node may share staging memory; below 2: with none. */
    unsigned local_peers;
    struct cgx_shared shared; /* that the staging memory lies in, if it can be shared */
    struct cgx_needs reserved;
    struct cgx_slot slots[CGX_SLOTS];
    struct cgx_slice *slices; /* by slot: what is under way */
    struct cgx_transfer *transfers;
    const unsigned char **sources;  /* of the sum that is being formed */
    const unsigned char **operands; /* as many */
    struct cgx_shown *shown;        /* of the payload that is being formed */
    unsigned char *packed;          /* messages of the exchange that is under way */
    struct cgx_exchange *exchange;
    struct cgx_cuda_backends *devices; /* that work on the staging memory */
};

/* Grows SCRATCH to at least NEEDS; what grows has lost its device backends. CGX_ERR_NOMEM: it holds
 * what it held. */
enum cgx_status cgx_scratch_reserve(struct cgx_scratch *scratch, const struct cgx_needs *needs);

/* The staging memory as backends see it. */
struct cgx_area cgx_scratch_area(const struct cgx_scratch *scratch);

void cgx_scratch_release(struct cgx_scratch *scratch);

#endif
