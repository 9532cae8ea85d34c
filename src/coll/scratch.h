/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

/* The memory that a call works in, had before ranks agree to compress, so that no call can run out
 * of it half-way. */
#ifndef CGX_COLL_SCRATCH_H
#define CGX_COLL_SCRATCH_H

#include "codec/backend.h"
#include "coll/exchange.h"
#include "cuda/backend.h"

struct cgx_needs {
    unsigned lanes; /* 1 or CGX_LANES */
    size_t staging; /* bytes of each lane */
    size_t pieces;  /* of each lane */
    size_t parts;   /* of each lane: ranks */
};

/* One chunk's part of a slice: its message in the staging memory and its pieces. */
struct cgx_part {
    size_t message; /* offset of the header, a multiple of 16; the payload follows it */
    size_t spreads; /* offset of the spreads, which follow the pieces in the payload */
    size_t bytes;   /* of the payload */
    size_t first_piece;
    size_t npieces;
};

/* What one slice works in, while another has its own. */
struct cgx_lane {
    unsigned char *staging; /* whole pages */
    struct cgx_piece *pieces;
    struct cgx_part *parts;
};

/* Zero-initialised, it holds nothing. */
struct cgx_scratch {
    struct cgx_needs holds;
    struct cgx_lane lanes[CGX_LANES];
    struct cgx_transfer *transfers; /* two per part */
    const unsigned char **sources;  /* one per part */
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
