/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

/* What all calls of a site share: its plan, the program by which they are summed, the number of
 * slices, and the memory that they need. */
#ifndef CGX_COLL_SCHEDULE_H
#define CGX_COLL_SCHEDULE_H

#include "coll/program.h"
#include "policy/cost.h"
#include "policy/plan.h"

struct cgx_needs {
    size_t slots;   /* number of slots: 1 or CGX_SLOTS */
    size_t staging; /* bytes of each slot */
    size_t pieces;
    size_t parts;
    size_t sources; /* the most sources of one sum */
    size_t packed;  /* bytes for packed messages (codec/packing.h) */
    size_t transfers;
};

/* The maximum of each need. */
struct cgx_needs cgx_needs_most(const struct cgx_needs *a, const struct cgx_needs *b);

/* Whether memory reserved for RESERVED suffices for NEEDS. */
bool cgx_needs_fit(const struct cgx_needs *needs, const struct cgx_needs *reserved);

/* How the sums of a communicator are formed. */
struct cgx_scheme {
    struct cgx_nodes *nodes;
    struct cgx_nodes *flat; /* the same ranks, each as its own node */
    bool leaders;           /* one rank of each node exchanges data with other nodes */
    enum cgx_reduction inter;
    struct cgx_network network; /* the network between nodes */
    unsigned rank;              /* the rank whose program is made */
};

struct cgx_schedule {
    struct cgx_plan plan;
    struct cgx_program program;
    struct cgx_network network;
    unsigned slices;
    uint32_t hash;   /* hash of all of this but the rank, sent in every message */
    uint64_t serial; /* no other schedule of this process has it */
    struct cgx_needs needs;
};

/* Sets PAYLOADS to the number of payloads, at each level and among results, that contain a given
 * element. In each sum all members but its owner send a payload; the owner's contribution stays as
 * it is. */
void cgx_schedule_payloads(const struct cgx_schedule *schedule,
                           unsigned payloads[CGX_LEVEL_RESULT + 1]);

/* The schedule of calls with PLAN, the same on all ranks but for the program. STAGING is the most
 * bytes of staging memory on the host that a call may use; a device backend uses as much on the
 * device. The schedule uses less if that keeps links busier, and more if even parts of two units
 * need more. It falls back to flat sums if sums of several levels could exceed the error bound.
 * PLAN's layers and SCHEME's nodes must outlive the schedule. */
struct cgx_schedule cgx_coll_schedule(const struct cgx_plan *plan, const struct cgx_scheme *scheme,
                                      size_t staging);

/* ---- slices ----
 *
 * A slice is a part of every chunk. Chunks, and the parts of a chunk, are equal in encoded bytes to
 * within a unit. A part's pieces are its intersections with the plan's segments. In the staging
 * memory it is preceded by space for a message header. */

struct cgx_part {
    size_t at; /* staging offset of the message header, a multiple of 16; the payload follows it */
    size_t bytes; /* of the payload */
    size_t piece; /* number of its first piece */
};

struct cgx_cut {
    uint64_t serial; /* serial of the schedule that the cut was made for; 0: none yet */
    unsigned slice;
    bool lends;              /* whether the cut was made to lend the own shard */
    struct cgx_part *part;   /* by place, with an entry more for the end of pieces */
    struct cgx_piece *piece; /* by place */
    /* By round: staging offset of what arrives to be summed, behind all parts but those that are
     * lent; then where all that ends. */
    size_t input[CGX_LEVELS + 1];
};

/* Lays slice NUMBER of SCHEDULE out in CUT, unless CUT has that slice already. With LENDS local
 * peers may read the own shard in place (pull.c), even while this rank encodes the next slice of
 * the slot. So nothing else of that slice may lie there: the own shard ends where the memory for
 * the largest slice ends, which nothing else reaches. */
void cgx_cut_slice(const struct cgx_schedule *schedule, unsigned number, bool lends,
                   struct cgx_cut *cut);

/* Bytes of a message with BLOCK, which is not empty. */
static inline size_t cgx_cut_bytes(const struct cgx_cut *cut, struct cgx_block block)
{
    const struct cgx_part *last = &cut->part[block.end - 1];

    return last->at + CGX_MESSAGE_HEADER_BYTES + last->bytes - cut->part[block.first].at;
}

static inline size_t cgx_cut_pieces(const struct cgx_cut *cut, struct cgx_block block)
{
    return cut->part[block.end].piece - cut->part[block.first].piece;
}

#endif
