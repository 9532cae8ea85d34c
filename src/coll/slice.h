/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

/* One slice of a compressed all-reduce: what the stages share. The staging memory holds a message
 * for every chunk's part. Those of a column lie together, that of the row of the rank's node last;
 * the columns of a shard likewise, and that of the node last; the rank's own shard is the last of
 * the shards, so that its own part is at the very end. Then comes what arrives to be summed, and
 * what is measured. Where local peers decode the own shard in its place (slice_pull.c) it is at the
 * end of all that. slice_layout.c lays that out, slice_messages.c sends and receives, slice_work.c
 * has what the backends do, slice_pull.c what the device copies from local peers. A slice keeps
 * where it is between exchanges, so that it can be left and taken up again.
 */
#ifndef CGX_COLL_SLICE_H
#define CGX_COLL_SLICE_H

#include "codec/backend.h"
#include "coll/task.h"

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

/* The operands of this rank's sum, in the order that they are summed in: what it brings itself and
 * what other members of a stage have sent. */
struct cgx_operands {
    /* COUNT of them, in the scratch memory. Each pointer is biased so that its first byte is that
     * of staging offset ORIGIN. NULL: the caller's input. */
    const unsigned char **at;
    size_t count, origin;
    /* Which of them are raw, or elements; raw ones begin with a message. */
    size_t first_raw, raws;
};

/* The payloads that a sum was formed from, as the host sees them; none where what was encoded are
 * elements. */
struct cgx_payloads {
    const unsigned char *const *at; /* COUNT of them, each from staging offset ORIGIN on */
    size_t count, origin;
};

/* What is measured while a slot's work is queued. */
struct cgx_measuring {
    const struct cgx_piece *pieces;
    size_t npieces; /* 0: nothing is */
    bool others;    /* those of families that are not measured are too, as if max-min quantised */
    bool failed;
};

/* Whether the family of PIECE is measured. */
static inline bool cgx_is_measured(const struct cgx_piece *piece)
{
    return cgx_encoding_quantiser(piece->bits)->is_measured;
}

/* PIECE as it is measured: if its family is not, as if max-min quantised, at whatever width. */
static inline struct cgx_piece cgx_measured(const struct cgx_piece *piece)
{
    struct cgx_piece measured = *piece;

    if (!cgx_is_measured(piece))
        measured.bits = CGX_WIDTHS;
    return measured;
}

/* The samples of PIECE. */
static inline size_t cgx_measuring_samples(const struct cgx_measuring *measuring,
                                           const struct cgx_piece *piece,
                                           const struct cgx_coding *coding)
{
    if (cgx_encoding_is_exact(piece->bits) || (!cgx_is_measured(piece) && !measuring->others))
        return 0;
    return cgx_sample_count(cgx_bucket_count(piece->count, coding->bucket_size), coding->sampling);
}

/* Messages of an exchange that are packed, in the scratch memory's room for them. */
struct cgx_packed {
    size_t taken;                  /* bytes of the room */
    const struct cgx_block *block; /* that was looked at last, whose message ... */
    unsigned char *message;        /* ... is here; NULL: it is not packed */
    size_t bytes;                  /* of the packed payload */
};

/* What a slice goes through, in order. */
enum cgx_phase {
    CGX_PHASE_ENCODE,
    CGX_PHASE_REDUCE_SCATTER_INTRA, /* reduce-scatter, stage by stage */
    CGX_PHASE_REDUCE_SCATTER_ROW,
    CGX_PHASE_REDUCE_SCATTER_COLUMN,
    CGX_PHASE_ALLGATHER_COLUMN, /* allgather, the other way */
    CGX_PHASE_ALLGATHER_ROW,
    CGX_PHASE_ALLGATHER_INTRA,
    CGX_PHASES
};

/* Who takes part in a stage: the ranks of a node, or a rank of each node in a row of the grid, or
 * in a column of it. */
enum cgx_level { CGX_LEVEL_NODE, CGX_LEVEL_ROW, CGX_LEVEL_COLUMN, CGX_LEVELS };

/* A stage of an all-reduce (stage.h). */
struct cgx_stage {
    enum cgx_level level;
    bool is_first;       /* what this rank brings are elements, which the start has encoded */
    unsigned size, self; /* members, and which one this rank is; 0 of them: it has no part in it */
    unsigned nblocks;    /* of the first so many members */
    const struct cgx_block *blocks;
    size_t incoming; /* where what is to be summed arrives, in the staging memory */
};

struct cgx_slice {
    const struct cgx_coll *coll;
    unsigned node, local; /* of this rank */
    unsigned row, column; /* of its node */
    enum cgx_vote vote;   /* set by the stages: of all ranks, as far as this one knows; by
                           * the end all do */
    bool is_shard_owner;  /* this rank owns one ... */
    bool is_owner;        /* ... and a chunk of it */
    enum cgx_pull pull;   /* NONE where there are no local peers */
    bool lends;           /* local peers may decode the own shard where it is */
    unsigned slot_number;
    struct cgx_slot *slot;
    const struct cgx_block *parts, *shards, *raw_shards;
    const struct cgx_block *columns; /* of the own shard */
    struct cgx_coding coding;
    unsigned number;
    size_t pieces; /* of all parts */
    size_t end;    /* of the parts' messages in the staging memory; of foreign ones if it lends */
    struct cgx_measuring measuring;
    struct cgx_stage stages[CGX_LEVELS];
    size_t incoming[CGX_LEVELS]; /* where what is to be summed arrives in the staging memory ... */
    size_t samples;              /* ... and where samples come to */
    struct cgx_operands operands;
    size_t npulled; /* messages that were pulled to be summed */
    /* Where it is: how many exchanges of the phase are over, of how many, and which is under way.
     */
    enum cgx_phase phase;
    unsigned round, rounds;
    bool posted;                /* one is */
    size_t ntransfers;          /* of the exchange that is listed, or under way */
    struct cgx_packed packed;   /* of its messages */
    unsigned seq;               /* number of its messages between a pair of ranks */
    int64_t begun, phase_begun; /* for CGX_TRACE */
    /* Set by the stages. */
    bool consensus; /* it is declined since the call must not be compressed */
    bool lost;      /* this rank has no result, and not all ranks know */
    bool missed;    /* this rank lacks even what the owners have seen */
    bool changed;   /* the host has written into what a device backend has of the own part */
    bool unpulled;  /* what local peers have sent could not be copied */
    bool lent;      /* local peers may have begun to decode the own shard */
    size_t sent;    /* bytes */
};

/* The own part; the slice's rank owns one. */
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

/* Whether PART lies in BLOCK. */
static inline bool cgx_slice_has(const struct cgx_block *block, const struct cgx_block *part)
{
    return part->message >= block->message &&
           part->message < block->message + CGX_MESSAGE_HEADER_BYTES + block->bytes;
}

static inline bool cgx_slice_has_trailer(const struct cgx_block *part, int kind)
{
    return part->trailers[kind] < part->trailers[kind + 1];
}

/* Whether all ranks will still come to know of what this one says in its messages. */
static inline bool cgx_slice_is_early(const struct cgx_slice *slice)
{
    return slice->phase < CGX_PHASE_ALLGATHER_COLUMN;
}

/* Lays the parts of slice NUMBER out. */
void cgx_slice_begin(const struct cgx_coll *coll, unsigned number, struct cgx_slice *slice);

/* Lists the pieces of RUN, which is all raw shards that are sent, as what is to be encoded. */
void cgx_slice_list_raw(const struct cgx_slice *slice, const struct cgx_block *run,
                        struct cgx_piece *pieces);

/* ---- messages: first all of an exchange are listed ---- */

/* Sending writes the header of BLOCK's message: its flags say what SLICE knows, and where there are
 * any there is no payload. What goes by MPI and is mostly zeros is packed. */
void cgx_slice_send(struct cgx_slice *slice, unsigned peer, const struct cgx_block *block);

/* The message of BLOCK is to come to offset AT of the staging memory. */
void cgx_slice_receive(struct cgx_slice *slice, unsigned peer, const struct cgx_block *block,
                       size_t at);

/* Begins the exchange of what was listed. */
enum cgx_status cgx_slice_post(struct cgx_slice *slice);

/* Moves the exchange on. When it is COMPLETE it unpacks what came packed, and takes note of the
 * flags of what came, and of what is not what the schedule says (logged): then this rank declines
 * while all ranks will still come to know, and has lost its result afterwards. */
enum cgx_status cgx_slice_poll(struct cgx_slice *slice, bool *complete);

/* ---- work for the backends ----
 *
 * Where some rank is not able nothing is done; what goes wrong makes this one decline. */

/* VOTE is that of some rank. */
static inline void cgx_slice_decline(struct cgx_slice *slice, enum cgx_vote vote)
{
    slice->vote = vote > slice->vote ? vote : slice->vote;
}

/* The encoder of this rank has failed. */
void cgx_slice_give_up(struct cgx_slice *slice);

/* To whom what is formed is sent: payloads to local peers alone may stay on the device. */
enum cgx_reach { CGX_REACH_NODE, CGX_REACH_ALL };

/* Encodes the pieces of BLOCK from the input. */
void cgx_slice_encode(struct cgx_slice *slice, const struct cgx_block *block, enum cgx_reach reach);

/* Takes BYTES that have arrived at offset AT of the host for the next sums. */
void cgx_slice_store(struct cgx_slice *slice, size_t at, size_t bytes);

/* Sums NSOURCES of the scratch memory's sources into BLOCK, and waits; each source has what is at
 * BLOCK's message at its start. PARTIAL: the sum will be added to others. */
void cgx_slice_reduce(struct cgx_slice *slice, const struct cgx_block *block, size_t nsources,
                      bool partial, enum cgx_reach reach);

/* Until what was encoded of BLOCK is in the staging memory and may be sent. */
void cgx_slice_settle(struct cgx_slice *slice, const struct cgx_block *block);

/* Decodes all parts into the output. An error is this rank's alone. */
enum cgx_status cgx_slice_decode(struct cgx_slice *slice);

/* ---- where the device copies payloads from local peers ---- */

/* Takes the messages of local peers, if the device copies them. */
struct cgx_puller cgx_slice_puller(struct cgx_slice *slice);

/* Where the host sees a SOURCE of the sum that was just formed; of what goes from device to device,
 * as much as the local peer has brought there. */
const unsigned char *cgx_slice_seen(const struct cgx_slice *slice, const unsigned char *source);

/* Before local peers get the own shard: brings to the device what it lacks of it. If that fails
 * where they copy it from there, this rank and they have no result. */
void cgx_slice_publish(struct cgx_slice *slice);

#endif
