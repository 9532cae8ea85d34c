/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

/* One slice of a compressed all-reduce: what the algorithms share. The staging memory holds a
 * message for every chunk's part, this rank's own last, then what the algorithm adds. slice.c has
 * the messages, slice_work.c what the backends do. */
#ifndef CGX_COLL_SLICE_H
#define CGX_COLL_SLICE_H

#include "coll/coll.h"

/* What is measured while a lane's work is queued. */
struct cgx_measuring {
    const struct cgx_piece *pieces;
    size_t npieces;               /* 0: nothing is */
    const unsigned char *payload; /* that they are encoded into */
    bool failed;
};

struct cgx_slice {
    const struct cgx_coll *coll;
    unsigned lane_number;
    struct cgx_lane *lane;
    struct cgx_coding coding;
    unsigned number;
    size_t pieces; /* of all parts */
    size_t end;    /* of the parts' messages in the staging memory */
    struct cgx_measuring measuring;
    size_t samples; /* where they come to in the staging memory */
    /* Set by the algorithm. */
    bool withheld; /* some rank cannot serve: all ranks know by the end of the slice */
    bool hopeless; /* and cannot serve exactly either */
    bool failed;   /* this rank has no result, and not all ranks know */
    size_t sent;   /* bytes */
};

/* ---- messages ---- */

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

/* Takes note of the flags of what came in transfer INDEX, and of what is not what the schedule says
 * (logged): that is withheld too while all ranks will still come to know (EARLY), and failed
 * afterwards. */
void cgx_slice_take(struct cgx_slice *slice, size_t index, unsigned step, bool early);

/* ---- work for the backends ----
 *
 * Where the slice is withheld nothing is done; what goes wrong makes it withheld. */

/* Encodes the NPIECES pieces from FIRST on of the input; the messages that hold them lie in BYTES
 * from MESSAGE on. */
void cgx_slice_encode(struct cgx_slice *slice, size_t first, size_t npieces, size_t message,
                      size_t bytes);

/* Sums the SOURCES, laid out as PIECES, into PART, and waits. What came from other ranks lies in
 * BYTES from ARRIVED on. */
void cgx_slice_reduce(struct cgx_slice *slice, const struct cgx_part *part,
                      const struct cgx_piece *pieces, size_t nsources, size_t arrived,
                      size_t bytes);

/* Until what was encoded may be sent. */
void cgx_slice_settle(struct cgx_slice *slice);

/* Decodes all parts into the output. An error is this rank's alone. */
enum cgx_status cgx_slice_decode(struct cgx_slice *slice);

/* ---- the algorithms ----
 *
 * A start queues what can be done before the slice before has been served. The rest leaves the
 * reduced parts in their messages and sets withheld, hopeless, failed and sent; CGX_ERR_MPI or
 * CGX_OK. */
void cgx_rsag_start(struct cgx_slice *slice);
enum cgx_status cgx_rsag_slice(struct cgx_slice *slice);
void cgx_ring_start(struct cgx_slice *slice);
enum cgx_status cgx_ring_slice(struct cgx_slice *slice);

/* Whether the ring keeps the contract for this plan; float32 at 4 bits: on up to 46 ranks. */
bool cgx_ring_serves(const struct cgx_plan *plan, unsigned ranks);

/* Steps that an algorithm counts in a slice. */
#define CGX_RSAG_STEPS 2
#define CGX_RING_STEPS(ranks) (2 * (ranks)-2)

/* Staging memory beyond the parts' messages, LARGEST being the largest of these. */
size_t cgx_rsag_extra(unsigned ranks, size_t largest);

#endif
