/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

/* The memory that a call works in, had before ranks agree to compress, so that no call can run out
 * of it half-way. */
#ifndef CGX_COLL_SCRATCH_H
#define CGX_COLL_SCRATCH_H

#include "codec/format.h"
#include "coll/exchange.h"

struct cgx_needs {
    size_t staging; /* bytes */
    size_t pieces;
    size_t parts; /* ranks */
};

/* One chunk's part of a slice: its message in the staging memory and its pieces. */
struct cgx_part {
    size_t message; /* offset of the header, a multiple of 16; the payload follows it */
    size_t bytes;   /* of the payload */
    size_t first_piece;
    size_t npieces;
};

/* Zero-initialised, it holds nothing. */
struct cgx_scratch {
    struct cgx_needs holds;
    unsigned char *staging;
    struct cgx_piece *pieces;
    struct cgx_part *parts;
    struct cgx_transfer *transfers; /* two per part */
    const unsigned char **sources;  /* one per part */
    struct cgx_exchange *exchange;
};

/* Grows SCRATCH to at least NEEDS. CGX_ERR_NOMEM: it holds what it held. */
enum cgx_status cgx_scratch_reserve(struct cgx_scratch *scratch, const struct cgx_needs *needs);

void cgx_scratch_release(struct cgx_scratch *scratch);

#endif
