/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

#include "comm/weigh.h"

#include "comm/ballot.h"
#include "comm/callsites.h"
#include "observe/notices.h"

/* Rank 0 says that sums like SITE's are formed in another way from now on. */
static void notice_way(const struct cgx_comm *state, const struct cgx_callsite *site,
                       const struct cgx_worth *worth, const struct cgx_verdict *verdict)
{
    double seconds[CGX_WAYS];

    for (int way = 0; way < CGX_WAYS; way++)
        seconds[way] = 1e-12 * (double)verdict->medians[way] * (double)site->key.count;
    cgx_notice_way(state->comm, &site->key, worth->way, seconds, verdict->young);
}

/* Compares the times of sums like those of SITE. */
static int weigh(struct cgx_comm *state, const struct cgx_callsite *site, struct cgx_worth *worth)
{
    uint32_t words[CGX_WORTH_WORDS];
    struct cgx_verdict verdict;
    int code;

    cgx_worth_vote(worth, (int32_t *)words);
    code = cgx_ballot(state, CGX_BALLOT_TIMES, &site->key, words, CGX_WORTH_WORDS);
    if (code != CGX_MPI_SUCCESS)
        return code;
    verdict = cgx_worth_judge(worth, (int32_t *)words);
    if (state->rank == 0 && verdict.ends)
        notice_way(state, site, worth, &verdict);
    return code;
}

int cgx_weigh_next(struct cgx_comm *state, struct cgx_callsite *site, enum cgx_way *way)
{
    struct cgx_worth *worth = site->worth;
    int code = CGX_MPI_SUCCESS;

    site->shared.weighs = cgx_worth_is_due(worth);
    if (cgx_ballot_due(&state->shared, &site->shared) == CGX_BALLOT_TIMES)
        code = weigh(state, site, worth);
    site->shared.weighs = false;
    if (code == CGX_MPI_SUCCESS)
        *way =
            cgx_worth_next(worth, worth->begun ? NULL : cgx_callsites_neighbour(state, &site->key),
                           cgx_callsite_age(state, site));
    return code;
}
