/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

#include "comm/ballot.h"

#include <stdio.h>
#include <string.h>

#include "comm/private_comm.h"
#include "mpi/stall.h"
#include "util/integers.h"

/* The head of the record, in pairs. */
enum { KIND = 0, SERIAL = 2, ELEMENTS = 4, POSITION = 6, WORDS = 8, HEAD = 10 };

_Static_assert(HEAD + CGX_BALLOT_WORDS == 32, "the record of any ballot");

static const char *const names[CGX_BALLOT_KINDS] = {
    [CGX_BALLOT_NONE] = "nothing",
    [CGX_BALLOT_STEP] = "the step",
    [CGX_BALLOT_OFFER] = "what a call needs",
    [CGX_BALLOT_HAVE] = "what is there for a call",
    [CGX_BALLOT_REACHED] = "connections",
    [CGX_BALLOT_SITES] = "what sums have shown",
    [CGX_BALLOT_TIMES] = "times of sums",
    [CGX_BALLOT_START] = "the start of an observed sum",
};

static bool is_one(const uint32_t *head)
{
    bool one = true;

    for (unsigned word = 0; word < HEAD; word += 2)
        one = one && cgx_ballot_is_one(head + word);
    return one;
}

static const char *name_of(uint32_t kind)
{
    return kind < CGX_BALLOT_KINDS ? names[kind] : "something of another version";
}

/* All ranks are here, with the same joint HEAD, and name the least and the greatest of what they
 * have come to. */
static int fail_different(struct cgx_comm *state, const uint32_t *head)
{
    uint32_t most[HEAD];
    char why[256];

    for (unsigned word = 0; word < HEAD; word += 2)
        most[word] = ~head[word + 1];
    snprintf(
        why, sizeof why,
        "ranks do not sum the same: one agrees on %s (its agreement %u, %u elements, position %d), "
        "another on %s (%u, %u elements, position %d)",
        name_of(head[KIND]), (unsigned)head[SERIAL], (unsigned)head[ELEMENTS], (int)head[POSITION],
        name_of(most[KIND]), (unsigned)most[SERIAL], (unsigned)most[ELEMENTS], (int)most[POSITION]);
    return cgx_private_fail(state, CGX_MPI_SUCCESS, why);
}

static int reduce_words(const struct cgx_comm *state, uint32_t *words, size_t count)
{
    return cgx_mpi_reduce(state->comm, words, (int)count, cgx_mpi()->MIN);
}

/* Reduces RECORD and, if it shows that all ranks are at ONE ballot, those of the COUNT WORDS that
 * do not fit in it. */
static int reduce_ballot(const struct cgx_comm *state, uint32_t *record, uint32_t *words,
                         size_t count, bool *one)
{
    const size_t first = cgx_smaller(count, CGX_BALLOT_WORDS);
    int code;

    memcpy(record + HEAD, words, first * sizeof *words);
    code = reduce_words(state, record, HEAD + CGX_BALLOT_WORDS);
    *one = code == CGX_MPI_SUCCESS && is_one(record);
    if (*one && count > first)
        code = reduce_words(state, words + first, count - first);
    memcpy(words, record + HEAD, first * sizeof *words);
    return code;
}

int cgx_ballot(struct cgx_comm *state, enum cgx_ballot_kind kind,
               const struct cgx_callsite_key *about, uint32_t *words, size_t count)
{
    uint32_t record[HEAD + CGX_BALLOT_WORDS] = {0};
    bool one = false;
    char why[64];
    int code;

    cgx_ballot_pair(record + KIND, kind);
    cgx_ballot_pair(record + SERIAL, ++state->shared.ballots);
    cgx_ballot_pair(record + ELEMENTS, about ? (uint32_t)cgx_smaller(about->count, UINT32_MAX) : 0);
    cgx_ballot_pair(record + POSITION, about ? about->position : CGX_POSITION_NONE);
    cgx_ballot_pair(record + WORDS, (uint32_t)count);
    code = reduce_ballot(state, record, words, count, &one);
    if (code != CGX_MPI_SUCCESS) {
        snprintf(why, sizeof why, "ranks could not agree on %s", names[kind]);
        return cgx_private_fail(state, code, why);
    }
    return one ? CGX_MPI_SUCCESS : fail_different(state, record);
}

/* ---- when ranks hold one ---- */

enum cgx_ballot_kind cgx_ballot_due(const struct cgx_site_shared *site)
{
    if (site->state == CGX_SITE_COMPRESSED)
        return site->served ? CGX_BALLOT_NONE : CGX_BALLOT_HAVE;
    if (cgx_callsite_waits(site) || (site->looks && !site->pending))
        return CGX_BALLOT_NONE;
    return site->served && site->state != CGX_SITE_DECLINED ? CGX_BALLOT_SITES : CGX_BALLOT_HAVE;
}
