/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

/* One slice of a compressed all-reduce: what the algorithms share. The staging memory holds a
 * message for every chunk's part, this rank's own last, then what the algorithm adds. */
#ifndef CGX_COLL_SLICE_H
#define CGX_COLL_SLICE_H

#include "coll/coll.h"

struct cgx_slice {
    const struct cgx_coll *coll;
    struct cgx_coding coding;
    unsigned number;
    size_t pieces; /* of all parts */
    size_t end;    /* of the parts' messages in the staging memory */
    /* Set by the algorithm. */
    bool withheld; /* some rank cannot serve: all ranks know by the end of the slice */
    bool failed;   /* this rank has no result, and not all ranks know */
    size_t sent;   /* bytes */
};

/* Lays the parts of slice NUMBER out. */
void cgx_slice_begin(const struct cgx_coll *coll, unsigned number, struct cgx_slice *slice);

/* Queues the message whose header lies at MESSAGE (payload of BYTES behind it) as transfer INDEX.
 * Sending writes the header: its flags say what SLICE knows, and then there is no payload. STEP
 * counts the messages between a pair of ranks. */
void cgx_slice_send(struct cgx_slice *slice, size_t index, unsigned peer, size_t message,
                    size_t bytes, unsigned step);
void cgx_slice_receive(struct cgx_slice *slice, size_t index, unsigned peer, size_t message,
                       size_t bytes);

/* Moves transfers 0 to COUNT - 1. */
enum cgx_status cgx_slice_exchange(struct cgx_slice *slice, size_t count);

/* What came in transfer INDEX. */
enum cgx_arrival {
    CGX_ARRIVAL_PAYLOAD,  /* the payload, whole */
    CGX_ARRIVAL_WITHHELD, /* flagged: some rank cannot serve, and all come to know */
    CGX_ARRIVAL_FAILED,   /* flagged, or not what the schedule says (logged) */
};
enum cgx_arrival cgx_slice_arrival(const struct cgx_slice *slice, size_t index, unsigned step);

/* The algorithms. Each leaves the reduced parts in their messages and sets withheld, failed and
 * sent; CGX_ERR_MPI or CGX_OK. */
enum cgx_status cgx_rsag_slice(struct cgx_slice *slice);
enum cgx_status cgx_ring_slice(struct cgx_slice *slice);

/* Whether the ring keeps the contract for this plan; float32 at 4 bits: on up to 46 ranks. */
bool cgx_ring_serves(const struct cgx_plan *plan, unsigned ranks);

/* Steps that an algorithm counts in a slice. */
#define CGX_RSAG_STEPS 2
#define CGX_RING_STEPS(ranks) (2 * (ranks)-2)

/* Staging memory beyond the parts' messages, LARGEST being the largest of these. */
size_t cgx_rsag_extra(unsigned ranks, size_t largest);

#endif
