/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

/* A slice of a call on its way through the rounds of its program (rounds.c). work.c gives sums to
 * the backends, messages.c sends and receives, pull.c lets devices copy from local peers. A slice
 * keeps its position between exchanges, so that it can be interrupted and resumed. */
#ifndef CGX_COLL_SLICE_H
#define CGX_COLL_SLICE_H

#include "codec/backend.h"
#include "codec/packing.h"
#include "coll/coll.h"
#include "coll/shm.h"

/* The packed messages of an exchange, in the scratch memory's space for them. */
struct cgx_packed {
    size_t taken;           /* bytes of that space in use so far */
    struct cgx_block block; /* the block that was asked for last */
    unsigned char *message; /* the packed message of BLOCK; NULL: not packed */
    size_t bytes;           /* of the packed payload */
};

struct cgx_slice {
    const struct cgx_coll *coll;
    unsigned number, slot;
    unsigned char *staging; /* memory of the slot, in whole pages */
    struct cgx_cut cut;     /* of the slice, in that memory */
    enum cgx_pull pull; /* how payloads come from local peers; NONE without any. DEVICE: peers may
                         * decode the own shard in place */
    /* Where the slice is: */
    unsigned round;
    bool formed; /* the sum of the round is formed, and its messages are on their way */
    size_t ntransfers;
    struct cgx_packed packed; /* packed messages of that exchange */
    /* Numbers of messages received, of those with this rank's sketch, and of those whose sketch is
     * of zeros where this rank's is not. */
    unsigned heard, agreeing, zeros;
    unsigned seq;               /* number of the round's messages between a pair of ranks */
    int64_t begun, round_begun; /* for CGX_TRACE */
    /* What has become of the slice: */
    enum cgx_vote vote; /* the worst vote known here; at the end, the worst of all ranks */
    bool held;          /* declined since the data is no gradient */
    enum cgx_look look; /* what this rank has found by sketches */
    bool lost;          /* this rank has no result, and not all ranks know it */
    bool missed;        /* this rank lacks what other ranks' messages said */
    bool lent;          /* local peers may have begun to decode the own shard */
    size_t sent;        /* bytes */
};

static inline const struct cgx_program *cgx_slice_program(const struct cgx_slice *slice)
{
    return &slice->coll->schedule->program;
}

/* Whether a flag in this rank's messages will still reach all ranks. */
static inline bool cgx_slice_is_early(const struct cgx_slice *slice)
{
    return !cgx_program_gathers(cgx_slice_program(slice), slice->round);
}

/* Whether the messages of ROUND stay inside the node. */
static inline bool cgx_slice_is_local(const struct cgx_slice *slice, unsigned round)
{
    const struct cgx_program *program = cgx_slice_program(slice);

    return program->levels > 0 && cgx_program_level(program, round)->kind == CGX_LEVEL_NODE;
}

static inline struct cgx_extent cgx_slice_extent(const struct cgx_slice *slice,
                                                 struct cgx_block block)
{
    const struct cgx_cut *cut = &slice->cut;
    size_t at = cut->part[block.first].at;

    return (struct cgx_extent){.pieces = cut->piece + cut->part[block.first].piece,
                               .npieces = cgx_cut_pieces(cut, block),
                               .begin = at + CGX_MESSAGE_HEADER_BYTES,
                               .end = at + cgx_cut_bytes(cut, block)};
}

static inline bool cgx_slice_has_variable_size(const struct cgx_slice *slice,
                                               struct cgx_block block)
{
    const struct cgx_extent extent = cgx_slice_extent(slice, block);

    return cgx_extent_has_variable_size(&extent);
}

/* Makes VOTE, which any rank may have cast, the slice's vote if it is the worse one. */
static inline void cgx_slice_decline(struct cgx_slice *slice, enum cgx_vote vote)
{
    slice->vote = vote > slice->vote ? vote : slice->vote;
}

/* ---- rounds ---- */

/* Begins slice NUMBER with the sum that needs nothing but the caller's elements. */
void cgx_slice_start(const struct cgx_coll *coll, unsigned number, struct cgx_slice *slice);

/* Progresses the slice as far as arrived messages allow. COMPLETE: the reduced parts are in their
 * messages, and the slice says what has become of it. Waits for this rank's device only.
 * CGX_ERR_MPI or CGX_OK. */
enum cgx_status cgx_slice_advance(struct cgx_slice *slice, bool *complete);

/* ---- messages ---- */

/* Lists the messages of the present round and begins their exchange. If SLICE's state sets flags,
 * no payload is sent. Messages by MPI of pieces of variable size are packed. */
enum cgx_status cgx_slice_post(struct cgx_slice *slice);

/* Progresses that exchange. When it is COMPLETE, unpacks packed messages, reads their flags, and
 * checks them against the schedule. After a mismatch (logged) this rank declines if all ranks can
 * still learn that, and otherwise has lost its result. */
enum cgx_status cgx_slice_poll(struct cgx_slice *slice, bool *complete);

/* ---- work for the backends ----
 *
 * If any rank's vote is not CGX_ABLE these do nothing. An error makes this rank decline. */

void cgx_slice_sum(struct cgx_slice *slice, unsigned round);

/* Waits until the sum of this round is in the staging memory and may be sent. */
void cgx_slice_settle(struct cgx_slice *slice);

/* Gives the backend what the host has received in this round; of pieces of variable size, only the
 * bytes in use. */
void cgx_slice_store(struct cgx_slice *slice);

/* Decodes all parts into the output. An error concerns this rank only. */
enum cgx_status cgx_slice_decode(struct cgx_slice *slice);

/* Records that this rank's backend has failed. */
void cgx_slice_give_up(struct cgx_slice *slice);

/* ---- messages of local peers ---- */

struct cgx_taker cgx_slice_taker(struct cgx_slice *slice);

/* Before local peers read this rank's shard on its device: waits until the parts that the host has
 * received are there. If that fails, neither this rank nor they have a result. */
void cgx_slice_publish(struct cgx_slice *slice);

/* ---- the memory that a call works in (scratch.c) ----
 *
 * It is reserved before ranks agree to compress, so that no call runs out of memory half-way. */

/* Holds nothing when zero-initialised. Serves one call at a time. */
struct cgx_scratch {
    /* Set by the caller: the number of ranks of the node that may share staging memory; below 2,
     * none may. */
    unsigned local_peers;
    struct cgx_shared shared; /* the segment with the staging memory, if memory can be shared */
    struct cgx_needs reserved;
    struct cgx_slice slices[CGX_SLOTS]; /* by slot */
    struct cgx_transfer *transfers;
    const unsigned char **sources;
    unsigned char *packed; /* packed messages of the current exchange */
    struct cgx_exchange *exchange;
    struct cgx_cuda_work *devices; /* backends that were made for this staging memory */
};

/* Grows SCRATCH to at least NEEDS; memory that grows loses its device backends. CGX_ERR_NOMEM:
 * SCRATCH is unchanged. */
enum cgx_status cgx_scratch_reserve(struct cgx_scratch *scratch, const struct cgx_needs *needs);

struct cgx_area cgx_scratch_area(const struct cgx_scratch *scratch);

void cgx_scratch_release(struct cgx_scratch *scratch);

#endif
