/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

#include "storm.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

enum { TENSORS = 6, ROUNDS = 12 };

struct episode {
    uint64_t number;
    struct draw draw;
    struct storm_limits limits;
    bool wanted;
    enum make_comm kind;
    MPI_Comm comm; /* MPI_COMM_NULL where this rank takes no part */
    int group, rank;
    struct hint hint;
    struct storm_call calls[TENSORS];
    unsigned tensors, rounds, made;
    double loudest; /* of its sums, as in loudness.h */
};

static double world_loudest; /* episodes on MPI_COMM_WORLD follow one another on it */

/* A call and what came of it, on this rank. */
struct made {
    struct storm_call call;
    struct placed sum;
    bool must_be_exact;
    void *result;
    struct oracle_verdict verdict;
    const char *wrong; /* what is, or NULL */
};

struct episode *episode_begin(uint64_t seed, uint64_t number, const struct storm_limits *limits,
                              bool wanted)
{
    struct episode *episode = check_memory(sizeof *episode);
    struct draw *draw = &episode->draw;

    *episode = (struct episode){.number = number,
                                .draw = {seed, 1000 + number, 0},
                                .limits = *limits,
                                .wanted = wanted,
                                .comm = MPI_COMM_NULL};
    episode->kind = (enum make_comm)draw_below(draw, MAKE_COMMS);
    episode->tensors = 1 + (unsigned)draw_below(draw, TENSORS);
    episode->rounds = draw_once_in(draw, 4) ? 1 : 2 + (unsigned)draw_below(draw, ROUNDS - 1);
    for (unsigned i = 0; i < episode->tensors; i++)
        episode->calls[i] = draw_call(draw, limits);
    if (wanted)
        episode->comm = make_comm(episode->kind, &episode->group);
    if (episode->comm != MPI_COMM_NULL)
        PMPI_Comm_rank(episode->comm, &episode->rank);
    hint_begin(&episode->hint, draw, episode->calls, episode->tensors, limits);
    if (episode->kind == MAKE_WORLD)
        episode->hint = (struct hint){.none = true};
    else if (episode->comm != MPI_COMM_NULL)
        hint_give(&episode->hint, episode->comm);
    return episode;
}

void episode_end(struct episode *episode)
{
    if (episode->kind != MAKE_WORLD && episode->comm != MPI_COMM_NULL)
        MPI_Comm_free(&episode->comm);
    free(episode);
}

/* ---- one call ---- */

/* Whether the manual says that it is exact, whatever rules and hints say. */
static bool must_be_exact(const struct episode *episode, const struct storm_call *call,
                          const struct oracle *oracle)
{
    const char *enable = getenv("CGX_ENABLE"), *buffers = getenv("CGX_BUFFERS");
    bool on_host = !call->apart && call->to == PLACE_HOST && call->from == PLACE_HOST;

    return call->what >= STORM_SUMS || oracle->ranks == 1 ||
           call->count < episode->limits.minimal ||
           (enable && (strcmp(enable, "0") == 0 || strcmp(enable, "observe") == 0)) ||
           (on_host && buffers && strcmp(buffers, "device") == 0);
}

/* Whether RESULT has the bits of PMPI_Allreduce. MPICH 4.0 has no sum of float16. */
static bool is_bitwise(const struct episode *episode, const struct made *made)
{
    size_t bytes = made->sum.count * element_size(made->sum.type);
    void *exact;
    bool same;

    if (made->call.what == STORM_FLOAT16)
        return true;
    exact = check_memory(bytes);
    same = placed_exact(&made->sum, episode->comm, exact);
    make_clear_gaps(made->call.what, made->sum.count, exact);
    same = same && memcmp(made->result, exact, bytes) == 0;
    free(exact);
    return same;
}

/* Ranks may have NaNs of other bits in exact sums: which operand's MPI keeps is up to the order. */
static uint64_t digest_of(const struct made *made)
{
    const struct placed *sum = &made->sum;

    if (make_is_sum(made->call.what) && sum->kind >= DATA_HUGE)
        for (size_t i = 0; i < sum->count; i++)
            if (isnan(element_load(sum->type, made->result, i)))
                element_store(sum->type, made->result, i, NAN);
    return check_digest(made->result, sum->count * element_size(sum->type));
}

static void look(struct episode *episode, const struct oracle *oracle, struct made *made)
{
    double *loudest = episode->kind == MAKE_WORLD ? &world_loudest : &episode->loudest, step = 0;

    if (made->must_be_exact && !is_bitwise(episode, made))
        made->wrong = "a call that must be exact has not the bits that the MPI gives";
    if (made->call.what >= STORM_SUMS)
        return;
    if (oracle->uniform > 0)
        step = loudness_step(oracle, &made->sum, episode->comm, loudest);
    made->verdict = oracle_judge(oracle, &made->sum, episode->rank, step, made->result);
    if (!made->verdict.right)
        made->wrong = made->wrong ? made->wrong : "a result is beyond its bound";
    if (made->must_be_exact && made->verdict.compressed)
        made->wrong = "a call that must be exact is compressed";
}

/* Ends the job. */
static void complain(const struct episode *episode, const struct made *made,
                     const struct oracle *oracle)
{
    const struct storm_call *call = &made->call;
    const struct oracle_verdict *verdict = &made->verdict;

    fprintf(stderr,
            "storm: rank %d: %s: episode %" PRIu64
            " (%s, %d ranks on %d nodes, this is %d), call %u, "
            "tensor %u of %u: %s, %zu elements, %s, data \"%s\", seed %" PRIu64 "%s, %s to %s, "
            "ahead %zu, further %zu; least width %u%s\n",
            check_rank, made->wrong, episode->number, make_comm_name(episode->kind), oracle->ranks,
            oracle->nodes, episode->rank, episode->made, episode->made % episode->tensors,
            episode->tensors, make_name(call->what), call->count,
            call->in_place ? "in place" : "apart", data_name(call->kind), made->sum.seed,
            call->large ? ", MPI_Allreduce_c" : "", place_name(call->from), place_name(call->to),
            call->ahead, call->further, oracle->scheme.bits, episode->hint.text);
    if (!verdict->right)
        fprintf(stderr,
                "storm: element %zu is %.9g, and the sum is %.9g: %.3g off, with %.3g allowed\n",
                verdict->element, verdict->result, verdict->exact,
                fabs(verdict->result - verdict->exact), verdict->allowed);
    if (*rules_text())
        fprintf(stderr, "storm: the rules are:\n%s", rules_text());
    fprintf(stderr, "storm: perhaps the episode alone shows it too: the argument %" PRIu64 "\n",
            episode->number);
    MPI_Abort(MPI_COMM_WORLD, 1);
}

static void count(const struct made *made, bool compressed, uint64_t digest,
                  struct episode_tally *tally)
{
    tally->elements += made->call.count;
    tally->compressed += compressed;
    tally->exact += made->must_be_exact;
    tally->compared += made->must_be_exact && made->call.what != STORM_FLOAT16;
    tally->digest = tally->digest * 31 + digest;
}

static void make_one(struct episode *episode, const struct storm_call *call,
                     struct episode_tally *tally)
{
    uint64_t seed = data_random(episode->draw.seed, episode->number * 16 + (uint64_t)episode->group,
                                episode->made);
    struct made made = {.call = draw_own(call, seed, episode->rank, &episode->limits),
                        .verdict.right = true};
    struct oracle oracle = oracle_from_environment(make_type(call->what), episode->comm);
    uint64_t words[3];

    oracle.own_op = call->what == STORM_OPAQUE16;
    made.sum = make_sum(&made.call, seed);
    made.must_be_exact =
        rules_apply(&episode->hint, call, make_comm_name(episode->kind), &oracle) ||
        must_be_exact(episode, call, &oracle);
    made.result = check_memory(call->count * element_size(made.sum.type) + 1);
    if (!make_call(&made.call, &made.sum, episode->comm, made.result))
        made.wrong = "a call fails, changes its input or writes beyond its buffer";
    make_clear_gaps(call->what, made.sum.count, made.result);
    look(episode, &oracle, &made);
    words[0] = digest_of(&made);
    words[1] = ~words[0];
    words[2] = !made.verdict.compressed;
    PMPI_Allreduce(MPI_IN_PLACE, words, 3, MPI_UINT64_T, MPI_MIN, episode->comm);
    if (words[0] != ~words[1])
        made.wrong = made.wrong ? made.wrong : "ranks have different results";
    if (made.wrong)
        complain(episode, &made, &oracle);
    count(&made, words[2] == 0, words[0], tally);
    free(made.result);
}

bool episode_call(struct episode *episode, struct episode_tally *tally)
{
    struct draw *draw = &episode->draw;
    unsigned tensor = episode->made % episode->tensors;
    struct storm_call call = draw_again(draw, &episode->calls[tensor]);

    if (draw_once_in(draw, 16))
        call = draw_call(draw, &episode->limits);
    if (tensor == 0 && episode->made > 0 && draw_once_in(draw, 16)) {
        hint_change(&episode->hint, draw);
        if (episode->comm != MPI_COMM_NULL)
            hint_give(&episode->hint, episode->comm);
    }
    tally->calls += episode->wanted;
    if (episode->comm != MPI_COMM_NULL)
        make_one(episode, &call, tally);
    episode->made++;
    return episode->made < episode->tensors * episode->rounds;
}
