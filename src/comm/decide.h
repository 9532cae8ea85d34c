/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

/* Ranks decide together which recurring calls are compressed. They agree once per kind of calls
 * (one type): where buffers are, how much staging memory there is, and how nodes are connected. A
 * new count needs no agreement unless it needs more memory than any before, which then grows by
 * half. Unless a rule or hint has consensus=off, ranks also look at the data of exact calls of each
 * site, and agree on what a window of them shows. */
#ifndef CGX_COMM_DECIDE_H
#define CGX_COMM_DECIDE_H

#include "comm/ballot.h"
#include "comm/connect.h"

/* Whether a window of exact calls is looked at before calls are compressed. */
bool cgx_decide_looks(const struct cgx_callsite *site);

/* Whether calls of the new SITE, whose window has not begun, are compressed at once, since those of
 * its count in the step before were gradients, or it has no position and those of its kind are: of
 * counts that vary, few come often enough for a window. Ranks then look at their inputs alone. */
bool cgx_decide_trusts(struct cgx_comm *state, struct cgx_callsite *site);

/* Whether ranks decide SITE's next state in this call. */
bool cgx_decide_is_due(struct cgx_comm *state, struct cgx_callsite *site);

/* Decides the site's next state, where that is due. Collective on the caller's communicator.
 * CAPABILITY is this rank's, without backends yet. Returns MPI's code. */
int cgx_decide(struct cgx_comm *state, struct cgx_callsite *site,
               struct cgx_capability *capability);

/* Sets *WAY to that of the next sum of SITE, of those that ranks have agreed to compress, if times
 * decide that (policy/worth.h); ranks compare them in a ballot where that is due. Returns the
 * ballot's code. */
int cgx_decide_way(struct cgx_comm *state, struct cgx_callsite *site, enum cgx_way *way);

/* Raises an error since a rank (this one if its REFUSAL says so) can serve a call neither
 * compressed nor exactly. The next call is tried again: as an exact call it would be an error on
 * that rank only. */
int cgx_decide_raise(cgx_mpi_comm comm, enum cgx_reason refusal);

/* ---- what compressed calls need (resources.c) ----
 *
 * It is where ranks are, a private communicator, memory, backends, and connections between local
 * peers. All ranks get it, or none. */

/* What ranks say about a call. */
struct cgx_answer {
    enum cgx_vote vote;            /* the worst counts */
    uint32_t data[CGX_LOOK_WORDS]; /* of the data; the least of each word counts */
};

/* Whether what SITE's calls need is there, which its served then says. */
bool cgx_resources_suffice(struct cgx_comm *state, struct cgx_callsite *site);

/* A ballot of KIND about SITE. The first of the COUNT WORDS are set here: what this rank can do
 * with CAPABILITY, and its element type. *VOTE becomes that of all ranks. Returns the ballot's
 * code. */
#define CGX_VOTE_WORDS 3
int cgx_resources_ballot(struct cgx_comm *state, enum cgx_ballot_kind kind,
                         const struct cgx_callsite *site, const struct cgx_capability *capability,
                         uint32_t *words, size_t count, enum cgx_vote *vote);

/* Gets what SITE's calls need and, unless a rank could not have that before, those of the other
 * sites of the step. *ALL, this rank's data, becomes the joint answer; CAPABILITY, this rank's,
 * gets its backends, or the reason why it or all ranks cannot compress. Ranks meet in up to three
 * ballots: to say what they lack (OFFER), whether they have it then (HAVE), and whether local peers
 * reach each other (REACHED). Returns the code of the communicator's error handler. */
int cgx_resources_get(struct cgx_comm *state, struct cgx_callsite *site,
                      struct cgx_capability *capability, struct cgx_answer *all);

#endif
