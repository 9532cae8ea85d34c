/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

/* The memory that a call works in, had before ranks agree to compress, so that no call can run out
 * of it half-way. */
#ifndef CGX_COLL_SCRATCH_H
#define CGX_COLL_SCRATCH_H

#include "codec/backend.h"
#include "coll/exchange.h"
#include "coll/shm.h"
#include "coll/trailer/trailer.h"
#include "cuda/backend.h"

struct cgx_needs {
    size_t slots;   /* 1 or CGX_SLOTS */
    size_t staging; /* bytes of each slot */
    size_t pieces;  /* of each slot */
    size_t blocks;  /* of each slot */
    size_t shown;   /* ranges of a payload that the host is shown */
    size_t sources; /* the most that one sum has */
    size_t packed;  /* bytes of room for packed messages (codec/packing.h) */
    size_t transfers;
};

/* As much as either. */
struct cgx_needs cgx_needs_most(const struct cgx_needs *a, const struct cgx_needs *b);

/* Whether what HELD is there for has room for NEEDS. */
bool cgx_needs_fit(const struct cgx_needs *needs, const struct cgx_needs *held);

/* Pieces that lie one after the other in the staging memory, with a place for a message's header in
 * front: a chunk's part of a slice, or several of them, each with its own such place. */
struct cgx_block {
    size_t message; /* offset of the header, a multiple of 16; the payload follows it */
    size_t bytes;   /* of the payload */
    size_t first_piece;
    size_t npieces;
    bool is_raw; /* the elements of a shard as they are, with no headers in between */
    /* Of a part: its first bucket, and the offsets of its trailers, each up to the next; the last
     * offset is the end of the payload. */
    size_t first_bucket;
    size_t trailers[CGX_TRAILERS + 1];
};

/* A message of a local peer that its payload did not come to the host with. */
struct cgx_pulled {
    const unsigned char *at; /* where it belongs in the staging memory */
    size_t bytes;
    const unsigned char *seen; /* in that of the local peer */
};

/* What one slice works in, while another has its own. */
struct cgx_slot {
    unsigned char *staging; /* whole pages */
    struct cgx_piece *pieces;
    struct cgx_block *blocks;  /* parts by chunk, then shards, raw ones, and columns */
    struct cgx_pulled *pulled; /* as many as sources */
};

struct cgx_slice;

/* Zero-initialised, it holds nothing. Serves one call at a time. */
struct cgx_scratch {
    /* To be set: with how many ranks a node may share staging memory; below 2: with none. */
    unsigned local_peers;
    struct cgx_shared shared; /* that the staging memory lies in, if it can be shared */
    struct cgx_needs holds;
    struct cgx_slot slots[CGX_SLOTS];
    struct cgx_slice *slices; /* by slot: what is under way (slice.h) */
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
