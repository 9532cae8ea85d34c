/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

/* One slice of a compressed all-reduce: the state that the stages share. The staging memory holds a
 * message for every chunk's part. Parts of a column are adjacent, the row of the rank's node last;
 * columns of a shard likewise, the node's own last; the rank's own shard is the last shard. So the
 * rank's own part is at the very end. Behind it come incoming messages to be summed. Where local
 * peers decode the own shard in place (slice_pull.c) it is behind these. slice_layout.c lays this
 * out, slice_messages.c sends and receives, slice_work.c calls the backends, slice_pull.c lets the
 * device copy from local peers. A slice keeps its position between exchanges, so that it can be
 * interrupted and resumed. */
#ifndef CGX_COLL_SLICE_H
#define CGX_COLL_SLICE_H

#include "codec/backend.h"
#include "codec/packing.h"
#include "coll/task.h"

/* Adjacent pieces in the staging memory, preceded by space for a message header: a chunk's part of
 * a slice, or several parts, each with such a space. */
struct cgx_block {
    size_t message; /* offset of the header, a multiple of 16; the payload follows it */
    size_t bytes;   /* of the payload */
    size_t first_piece;
    size_t npieces;
};

/* The memory of one slice; slices alternate between slots. */
struct cgx_slot {
    unsigned char *staging; /* whole pages */
    struct cgx_piece *pieces;
    struct cgx_block *blocks; /* parts by chunk, then shards and columns */
};

/* The operands of this rank's sum, in order: its own contribution and those of other members of the
 * stage. */
struct cgx_operands {
    /* COUNT pointers, in the scratch memory; each points to what belongs at staging offset ORIGIN.
     * NULL: the caller's input. */
    const unsigned char **at;
    size_t count, origin;
};

/* The packed messages of an exchange, in the scratch memory's space for them. */
struct cgx_packed {
    size_t taken;                  /* bytes of that space in use */
    const struct cgx_block *block; /* examined last; its message ... */
    unsigned char *message;        /* ... is here; NULL: not packed */
    size_t bytes;                  /* of the packed payload */
};

/* The phases of a slice, in order. */
enum cgx_phase {
    CGX_PHASE_ENCODE,
    CGX_PHASE_REDUCE_SCATTER_INTRA, /* reduce-scatter, stage by stage */
    CGX_PHASE_REDUCE_SCATTER_ROW,
    CGX_PHASE_REDUCE_SCATTER_COLUMN,
    CGX_PHASE_ALLGATHER_COLUMN, /* allgather, in reverse order */
    CGX_PHASE_ALLGATHER_ROW,
    CGX_PHASE_ALLGATHER_INTRA,
    CGX_PHASES
};

/* A stage of an all-reduce (stage.h). */
struct cgx_stage {
    enum cgx_level level;
    bool is_first;       /* this rank contributes elements, encoded by cgx_stages_start */
    unsigned size, self; /* members, and this rank's number; size 0: this rank takes no part */
    unsigned nblocks;    /* owned by the first members */
    const struct cgx_block *blocks;
    size_t incoming; /* staging offset of incoming messages to be summed */
};

struct cgx_slice {
    const struct cgx_coll *coll;
    unsigned node, local; /* of this rank */
    unsigned row, column; /* of its node */
    enum cgx_vote vote;   /* set by the stages: the worst known here; at the end, of all ranks */
    bool is_shard_owner;  /* this rank owns one ... */
    bool is_owner;        /* ... and a chunk of it */
    enum cgx_pull pull;   /* NONE without local peers */
    unsigned slot_number;
    struct cgx_slot *slot;
    const struct cgx_block *parts, *shards;
    const struct cgx_block *columns; /* of this rank's shard */
    struct cgx_coding coding;
    unsigned number;
    size_t pieces;           /* of all parts */
    struct cgx_segment near; /* that was laid out last */
    size_t end; /* of the parts' messages in the staging memory; of foreign ones if they decode in
                   place */
    struct cgx_stage stages[CGX_LEVELS];
    size_t incoming[CGX_LEVELS]; /* staging offsets of incoming messages to be summed */
    struct cgx_operands operands;
    enum cgx_phase phase;
    bool waits;                 /* for the exchange of the phase ... */
    bool posted;                /* ... which is under way */
    size_t ntransfers;          /* of the exchange that is being listed or under way */
    struct cgx_packed packed;   /* of its messages */
    unsigned heard, agreeing;   /* messages of the exchange, and those with this rank's sketch */
    unsigned seq;               /* number of messages so far between a pair of ranks */
    int64_t begun, phase_begun; /* for CGX_TRACE */
    /* Results of the stages: */
    bool held;     /* declined since the data is no gradient */
    bool alike;    /* as this rank has found by sketches */
    bool lost;     /* this rank has no result, and not all ranks know it */
    bool missed;   /* nor what other ranks' messages said */
    bool unpulled; /* copying from local peers failed */
    bool lent;     /* local peers may have begun to decode the own shard */
    size_t sent;   /* bytes */
};

/* This rank's own part; it must own one. */
static inline const struct cgx_block *cgx_slice_own_part(const struct cgx_slice *slice)
{
    return &slice->parts[cgx_schedule_chunk(slice->coll->schedule, slice->local, slice->column,
                                            slice->row)];
}

static inline struct cgx_piece *cgx_slice_pieces(const struct cgx_slice *slice,
                                                 const struct cgx_block *block)
{
    return slice->slot->pieces + block->first_piece;
}

/* Lists the pieces of BLOCK again, with offsets from ORIGIN, which are the same in all sources of a
 * sum. The list holds until the next one. */
static inline struct cgx_piece *cgx_slice_list(const struct cgx_slice *slice,
                                               const struct cgx_block *block, size_t origin)
{
    struct cgx_piece *pieces = slice->slot->pieces + slice->pieces;

    for (size_t i = 0; i < block->npieces; i++) {
        pieces[i] = cgx_slice_pieces(slice, block)[i];
        pieces[i].offset -= origin;
    }
    return pieces;
}

/* The payload of BLOCK. */
static inline struct cgx_extent cgx_slice_extent(const struct cgx_slice *slice,
                                                 const struct cgx_block *block)
{
    size_t begin = block->message + CGX_MESSAGE_HEADER_BYTES;

    return (struct cgx_extent){.pieces = cgx_slice_pieces(slice, block),
                               .npieces = block->npieces,
                               .bucket_size = slice->coding.bucket_size,
                               .begin = begin,
                               .end = begin + block->bytes};
}

/* Whether BLOCK has pieces whose size varies. */
static inline bool cgx_slice_varies(const struct cgx_slice *slice, const struct cgx_block *block)
{
    const struct cgx_extent extent = cgx_slice_extent(slice, block);

    return cgx_extent_varies(&extent);
}

/* Whether PART lies in BLOCK. */
static inline bool cgx_slice_has(const struct cgx_block *block, const struct cgx_block *part)
{
    return part->message >= block->message &&
           part->message < block->message + CGX_MESSAGE_HEADER_BYTES + block->bytes;
}

/* Whether a flag in this rank's messages will still reach all ranks. */
static inline bool cgx_slice_is_early(const struct cgx_slice *slice)
{
    return slice->phase < CGX_PHASE_ALLGATHER_COLUMN;
}

/* Lays out the parts of slice NUMBER. */
void cgx_slice_begin(const struct cgx_coll *coll, unsigned number, struct cgx_slice *slice);

/* ---- messages: list all of an exchange, then post it ---- */

/* Lists BLOCK to be sent and writes its message header; if SLICE's state sets flags, no payload is
 * sent. A message by MPI that is mostly zeros is packed. */
void cgx_slice_send(struct cgx_slice *slice, unsigned peer, const struct cgx_block *block);

/* Lists BLOCK to be received at staging offset AT. */
void cgx_slice_receive(struct cgx_slice *slice, unsigned peer, const struct cgx_block *block,
                       size_t at);

/* Begins the listed exchange. */
enum cgx_status cgx_slice_post(struct cgx_slice *slice);

/* Progresses the exchange. When it is COMPLETE, unpacks packed messages, reads their flags, and
 * checks them against the schedule. After a mismatch (logged) this rank declines if all ranks can
 * still learn it, and otherwise has lost its result. */
enum cgx_status cgx_slice_poll(struct cgx_slice *slice, bool *complete);

/* ---- work for the backends ----
 *
 * If any rank's vote is not CGX_ABLE these do nothing. An error makes this rank decline. */

/* Takes the worse of the slice's vote and VOTE, any rank's. */
static inline void cgx_slice_decline(struct cgx_slice *slice, enum cgx_vote vote)
{
    slice->vote = vote > slice->vote ? vote : slice->vote;
}

/* Records that this rank's encoder has failed. */
void cgx_slice_give_up(struct cgx_slice *slice);

/* Encodes the pieces of BLOCK from the input, for the stage of LEVEL. */
void cgx_slice_encode(struct cgx_slice *slice, const struct cgx_block *block, enum cgx_level level);

/* Gives COUNT messages with BLOCK that have arrived at staging offset AT of the host, one behind
 * the other, to the next sums. */
void cgx_slice_store(struct cgx_slice *slice, const struct cgx_block *block, size_t at,
                     unsigned count);

/* Gives the parts that the host has from staging offset BEGIN to END to BACKEND. */
void cgx_slice_store_parts(const struct cgx_slice *slice, struct cgx_backend *backend, size_t begin,
                           size_t end);

/* Sums NSOURCES of the scratch memory's sources into BLOCK and waits. Each source begins with the
 * data for BLOCK's message. The sum is a result, or will be added to others in the stage of
 * LEVEL. */
void cgx_slice_reduce(struct cgx_slice *slice, const struct cgx_block *block, size_t nsources,
                      enum cgx_level level);

/* Waits until BLOCK's encoded data is in the staging memory and may be sent. */
void cgx_slice_settle(struct cgx_slice *slice, const struct cgx_block *block);

/* Decodes all parts into the output. An error concerns this rank only. */
enum cgx_status cgx_slice_decode(struct cgx_slice *slice);

/* ---- payloads that the device copies from local peers ---- */

/* The puller for local peers' messages, if the device copies them. */
struct cgx_puller cgx_slice_puller(struct cgx_slice *slice);

/* Before local peers read this rank's shard: copies to the device what it lacks of it. If that
 * fails and peers copy from the device, neither this rank nor they have a result. */
void cgx_slice_publish(struct cgx_slice *slice);

#endif
