/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

/* Ballots: how the ranks of a communicator decide together, in an all-reduce on the caller's
 * communicator, which all ranks are calling at that moment. Settings have a record of their own;
 * all other ballots move the same 32 words, headed by what they are about. So ranks
 * that come to different ballots, since the program's sums differ or the library is wrong, find
 * that on all ranks in this one all-reduce, and none of them waits for ever. */
#ifndef CGX_COMM_BALLOT_H
#define CGX_COMM_BALLOT_H

#include "comm/state.h"

enum cgx_ballot_kind {
    CGX_BALLOT_NONE,
    CGX_BALLOT_STEP,    /* the step that ranks have found */
    CGX_BALLOT_OFFER,   /* what a call needs: places, a private communicator; ... */
    CGX_BALLOT_HAVE,    /* whether ranks have that, memory and backends, ... */
    CGX_BALLOT_REACHED, /* and reach each other's memory (resources.c) */
    CGX_BALLOT_SITES,   /* what the sums of sites have shown */
    CGX_BALLOT_TIMES,   /* the times of sums of one size */
    CGX_BALLOT_START,   /* of an observed sum */
    CGX_BALLOT_KINDS
};

/* What a rank says is words, of which all ranks take the least. A word is below 2^31, since MPI_MIN
 * of MPICH 4.0 compares MPI_UINT32_T as signed, or one of a pair: a value and its complement, which
 * show whether all ranks have the same. */
static inline void cgx_ballot_pair(uint32_t *words, uint32_t value)
{
    words[0] = value;
    words[1] = ~value;
}

static inline bool cgx_ballot_is_one(const uint32_t *words)
{
    return words[0] == ~words[1];
}

/* How many words the record has for a ballot; others follow in a second all-reduce, once all ranks
 * have shown that they have as many. */
#define CGX_BALLOT_WORDS 22

/* Holds STATE's next ballot, of KIND and about the sum ABOUT (NULL: about none). The COUNT WORDS
 * are this rank's and become the joint ones. Where ranks are at different ballots, all of them log
 * both. Returns the code of the communicator's error handler, after that or an error of MPI; the
 * communicator is broken then. */
int cgx_ballot(struct cgx_comm *state, enum cgx_ballot_kind kind,
               const struct cgx_callsite_key *about, uint32_t *words, size_t count);

/* The ballot in which ranks decide SITE's next state in the present sum: about its data, or about
 * what its calls need (HAVE, for which they may have to meet at OFFER first). It is the same on all
 * ranks, since what a rank has to itself is not to be seen from here. */
enum cgx_ballot_kind cgx_ballot_due(const struct cgx_site_shared *site);

/* ---- settings (agreement.c) ----
 *
 * The first agreement between the ranks of a communicator, which every version of the library
 * understands. */

/* Compares version, message format, settings, and the hashes of hints and name that STATE's terms
 * have, in the first call on its communicator that some setting could compress, and in the first
 * after a hint. READY: this rank has all memory that it needs. *EQUAL: all ranks have the same and
 * are ready. Terms become final if ranks differ in more than hints, so that comparing again is
 * useless. If they differ, rank 0 names the variables. After an error *EQUAL is false. A rank
 * without this library takes part with its own program's all-reduce: this is an error if MPI or the
 * results show it; if MPI waits for ever, so does this function. Logs an error and returns its
 * code, with which the caller calls the error handler. */
int cgx_agree_settings(struct cgx_comm *state, bool ready, bool *equal);

#endif
