/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

#include "comm/ballot.h"
#include "mpi/config.h"
#include "observe/notices.h"
#include "util/float_state.h"
#include "util/integers.h"
#include "util/log.h"
#include "util/trace.h"

bool cgx_tables_serve(uint64_t count)
{
    return count >= cgx_config()->minimal_size;
}

void cgx_tables_catch_up(struct cgx_comm *state)
{
    const struct cgx_first *first = &state->stream.first;
    struct cgx_recurrence *recurrence = state->stream.recurrence;

    for (unsigned i = 0; i <= first->sums; i++) {
        recurrence->log.ignored += first->ignored[i];
        cgx_sum_log_add_small(&recurrence->log, first->small[i]);
        cgx_recurrence_wait(recurrence, first->pauses[i]);
        if (i < first->sums)
            cgx_recurrence_next(recurrence, first->keys[i].count, first->keys[i].type);
    }
}

void cgx_tables_wait(struct cgx_comm *state, int64_t begun)
{
    struct cgx_first *first = &state->stream.first;
    int64_t pause = begun - state->stream.left, *longest = &first->pauses[first->sums];

    if (state->stream.recurrence)
        cgx_recurrence_wait(state->stream.recurrence, pause);
    else if (pause > *longest)
        *longest = pause;
}

void cgx_tables_pause(struct cgx_comm *state)
{
    const struct cgx_recurrence *recurrence = state->stream.recurrence;
    bool wanted = !state->terms.refusal && (!recurrence || cgx_recurrence_needs_pauses(recurrence));

    state->stream.left = wanted ? cgx_trace_clock() : 0;
}

static void warn_of_step(struct cgx_comm *state)
{
    size_t length = cgx_recurrence_contradicts(state->stream.recurrence);

    if (length == 0 || state->rank != 0 || state->stream.contradicted)
        return;
    state->stream.contradicted = true;
    cgx_log(
        CGX_LOG_WARN,
        "step=%zu was set, but large sums repeat themselves after %zu: set step=%zu, or remove it",
        state->stream.recurrence->step, length, length);
}

/* Rank 0 says what would decide whether the sums are of steps. */
static void say_undecided(struct cgx_comm *state)
{
    uint64_t counts[CGX_NOTICED_COUNTS];
    size_t times, length = cgx_recurrence_undecided(state->stream.recurrence, &times, counts,
                                                    CGX_NOTICED_COUNTS);

    if (length > 0 && state->rank == 0)
        cgx_notice_undecided(length, times, counts, cgx_smaller(length, CGX_NOTICED_COUNTS));
}

int cgx_tables_compare(struct cgx_comm *state, struct cgx_occurrence *occurrence)
{
    enum { KIND, LENGTH = 2, HASH = 4, WORDS = 6 };
    union cgx_float_state caller;
    struct cgx_burst burst;
    uint32_t words[WORDS];
    bool same;
    int code;

    warn_of_step(state);
    if (!cgx_recurrence_should_compare(state->stream.recurrence))
        return CGX_MPI_SUCCESS;
    cgx_float_enter(&caller);
    burst = cgx_recurrence_burst(state->stream.recurrence);
    cgx_float_leave(&caller);
    cgx_ballot_pair(words + KIND, burst.kind);
    cgx_ballot_pair(words + LENGTH, burst.length);
    cgx_ballot_pair(words + HASH, burst.hash);
    code = cgx_ballot(state, CGX_BALLOT_STEP, NULL, words, WORDS);
    if (code != CGX_MPI_SUCCESS)
        return code;
    same = words[KIND] != CGX_BURST_NONE && cgx_ballot_is_one(words + KIND) &&
           cgx_ballot_is_one(words + LENGTH) && cgx_ballot_is_one(words + HASH);
    if (!same || !cgx_recurrence_take_burst(state->stream.recurrence, &burst, occurrence))
        say_undecided(state);
    return code;
}

bool cgx_tables_make(struct cgx_comm *state)
{
    if (!state->callsites)
        state->callsites = cgx_callsites_create();
    if (!state->callsites)
        return false;
    if (!state->stream.recurrence)
        state->stream.recurrence =
            cgx_recurrence_create(cgx_config()->warmup, cgx_config()->minimal_size);
    return state->stream.recurrence != NULL;
}

void cgx_tables_free(struct cgx_comm *state)
{
    cgx_recurrence_free(state->stream.recurrence);
    cgx_callsites_free(state->callsites);
    state->stream.recurrence = NULL;
    state->callsites = NULL;
}

struct cgx_occurrence cgx_tables_next(struct cgx_comm *state, uint64_t count, unsigned type)
{
    struct cgx_first *first = &state->stream.first;

    if (state->stream.recurrence)
        return cgx_recurrence_next(state->stream.recurrence, count, type);
    if (count >= CGX_REQUEST_LEAST)
        first->keys[first->sums++] =
            (struct cgx_callsite_key){.count = count, .type = (uint8_t)type};
    else
        (count < CGX_RECURRENCE_LEAST ? first->ignored : first->small)[first->sums] += count;
    return (struct cgx_occurrence){.position = CGX_POSITION_NONE};
}
