/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

/* Agreements between the ranks of a communicator: small all-reduces on the caller's own
 * communicator, which all ranks are calling at that moment. All return MPI's code; results are the
 * same on all ranks. */
#ifndef CGX_COMM_AGREEMENT_H
#define CGX_COMM_AGREEMENT_H

#include <stdbool.h>

#include "coll/coll.h"
#include "mpi/table.h"
#include "policy/look.h"
#include "policy/step/bursts.h"

/* What ranks compare, besides version and settings. */
struct cgx_agreement {
    uint32_t hints; /* hash of the program's hints for the communicator */
    uint32_t name;  /* hash of its name, if rules use names */
    bool ready;     /* this rank has all memory that it needs */
};

/* Compares version, message format, settings and hints in the first call on COMM that some setting
 * could compress, and in the first after a hint. *EQUAL: all ranks have the same and are ready.
 * *FINAL: they differ in more than hints, so comparing again is useless. If they differ, rank 0 of
 * COMM names the variables. After an error *EQUAL is false. A rank without this library takes part
 * with its own program's all-reduce: this is an error if MPI or the results show it; if MPI waits
 * for ever, so does this function. */
int cgx_agree_settings(cgx_mpi_comm comm, const struct cgx_agreement *agreement, bool *equal,
                       bool *final);

/* What a rank says about a call, and the joint result. */
struct cgx_answer {
    enum cgx_vote vote;
    unsigned dtype;                     /* of the elements */
    uint64_t count;                     /* of the elements; 0: ranks need not have the same */
    uint32_t data_vote[CGX_LOOK_WORDS]; /* of the data; the minimum of each word counts */
};

/* In a call that is to be compressed from now on, on all ranks: *ALL is what all ranks can do,
 * CGX_ABLE only if their element types and counts are equal. Rank 0 logs that counts differ. */
int cgx_agree_call(cgx_mpi_comm comm, const struct cgx_answer *mine, struct cgx_answer *all);

/* *SAME: all ranks have found the step MINE by the same evidence; false if MINE is none. */
int cgx_agree_burst(cgx_mpi_comm comm, const struct cgx_burst *mine, bool *same);

#endif
