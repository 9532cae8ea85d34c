/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

/* The two agreements between the ranks of a communicator: small all-reduces on the caller's own
 * communicator, in which every rank is at that moment anyway. All return MPI's code; results are
 * the same on all ranks. */
#ifndef CGX_COMM_AGREEMENT_H
#define CGX_COMM_AGREEMENT_H

#include <stdbool.h>

#include "coll/coll.h"
#include "mpi/table.h"
#include "policy/consensus.h"
#include "policy/step/bursts.h"

/* What ranks compare, besides version and settings. */
struct cgx_agreement {
    uint32_t hints; /* hash of what the program has said of the communicator */
    uint32_t name;  /* hash of its name, where rules ask for it */
    bool ready;     /* this rank has the memory that it needs */
};

/* In the first call on COMM that some setting could make compressed, and in the first after a hint:
 * *EQUAL if all ranks have the same version, format of messages, settings and hints and are ready;
 * *FINAL if they differ in something other than hints, so that comparing again is useless. If they
 * differ, rank 0 of COMM names the variables; *EQUAL is false after an error too. A rank without
 * this library takes part in its all-reduces as if they were the program's own: that is an error
 * where MPI sees it or it can be seen in what they give. Where MPI waits for ever, so does this. */
int cgx_agree_settings(cgx_mpi_comm comm, const struct cgx_agreement *agreement, bool *equal,
                       bool *final);

/* What a rank says of a call, and what follows from what all say. */
struct cgx_answer {
    enum cgx_vote vote;
    unsigned dtype;                          /* of the elements */
    uint32_t data_vote[CGX_CONSENSUS_WORDS]; /* of the data: the least of each word counts */
};

/* In a call that is to be compressed from now on, on all ranks: *ALL is what all can do, CGX_ABLE
 * only for the same type of elements. */
int cgx_agree_call(cgx_mpi_comm comm, const struct cgx_answer *mine, struct cgx_answer *all);

/* Whether all ranks have the burst MINE (*SAME; never if it is none): a step by pauses. */
int cgx_agree_burst(cgx_mpi_comm comm, const struct cgx_burst *mine, bool *same);

#endif
