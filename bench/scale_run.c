/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

#include <stdlib.h>

#include "scale_world.h"
#include "util/settings.h"

struct scale_world scale_world;
struct scale_rank *scale_now;

/* ---- who is run ---- */

/* Finds out which chunks have units in the first slice. */
static bool find_units(void)
{
    const struct cgx_schedule *schedule = &scale_world.schedule;
    struct cgx_cut cut = {.part = calloc(schedule->needs.parts, sizeof *cut.part),
                          .piece = calloc(schedule->needs.pieces, sizeof *cut.piece)};
    bool had;

    scale_world.has_units = calloc(schedule->program.parts, sizeof *scale_world.has_units);
    had = cut.part && cut.piece && scale_world.has_units;
    if (had)
        cgx_cut_slice(schedule, 0, false, &cut);
    for (uint32_t place = 0; had && place < schedule->program.parts; place++)
        scale_world.has_units[cgx_program_chunk(&schedule->program, place)] =
            cut.part[place].bytes > 0;
    free(cut.part);
    free(cut.piece);
    return had;
}

/* How RANK takes part in the first slice: what it has to sum. */
static unsigned char part_of(unsigned rank)
{
    enum { CHUNK = 1, UNITS = 2, COLUMN_UNITS = 4 };
    const struct cgx_program program = cgx_program_of(&scale_world.schedule.program.shape, rank);
    unsigned chunk, rows = program.shape.rows;
    unsigned char part = CHUNK;

    if (!program.owns)
        return 0;
    chunk = cgx_program_chunk(&program, program.parts - 1);
    part |= scale_world.has_units[chunk] ? UNITS : 0;
    for (unsigned row = 0; row < rows && !(part & COLUMN_UNITS); row++)
        part |= scale_world.has_units[chunk / rows * rows + row] ? COLUMN_UNITS : 0;
    return part;
}

static struct cgx_schedule schedule_of(unsigned rank)
{
    const struct scale_call *call = scale_world.call;
    const struct cgx_settings settings = {.bits = call->bits, .codec = CGX_FAMILY_MAXMIN};
    const struct cgx_plan plan = cgx_plan_of(&settings, NULL, CGX_FLOAT32, call->elements);
    struct cgx_scheme scheme = scale_world.scheme;

    scheme.rank = rank;
    return cgx_coll_schedule(&plan, &scheme, call->staging);
}

static struct scale_rank *create_rank(unsigned number)
{
    const struct scale_call *call = scale_world.call;
    struct scale_rank *rank = calloc(1, sizeof *rank);
    struct cgx_needs needs = scale_world.schedule.needs;
    /* More than exchange.c has under way of a transfer. */
    size_t requests = needs.transfers * 16;

    if (!rank)
        return NULL;
    rank->number = number;
    rank->backend.ops = &scale_codec;
    rank->requests = calloc(requests, sizeof *rank->requests);
    rank->spare = calloc(requests, sizeof *rank->spare);
    rank->channels = calloc(call->ranks, sizeof *rank->channels);
    /* Nothing is packed: payloads are zeros here. */
    needs.packed = 1;
    scale_world.ranks[number] = scale_world.run[scale_world.nrun++] = rank;
    if (!rank->requests || !rank->spare || !rank->channels ||
        cgx_scratch_reserve(&rank->scratch, &needs) != CGX_OK)
        return NULL;
    for (size_t i = 0; i < requests; i++)
        rank->spare[rank->nspare++] = (int)(requests - i);
    for (unsigned peer = 0; peer < call->ranks; peer++) {
        rank->channels[peer].last_message = &rank->channels[peer].messages;
        rank->channels[peer].last_receive = &rank->channels[peer].receives;
    }
    rank->schedule = schedule_of(number);
    rank->coll =
        (struct cgx_coll){.transports = {.mpi = &scale_mpi, .pace = {.fragment = call->fragment}},
                          .schedule = &rank->schedule,
                          .backend = &rank->backend,
                          .scratch = &rank->scratch,
                          .input = rank,
                          .output = rank,
                          .vote = CGX_ABLE};
    return rank;
}

static void free_rank(struct scale_rank *rank)
{
    if (!rank)
        return;
    scale_mpi_release(rank);
    cgx_scratch_release(&rank->scratch);
    free(rank->requests);
    free(rank->spare);
    free(rank->channels);
    free(rank);
}

static bool create_node(unsigned node)
{
    unsigned members = scale_world.call->members;

    for (unsigned rank = node * members; rank < (node + 1) * members; rank++) {
        if (!scale_world.ranks[rank] && !create_rank(rank))
            return false;
    }
    return true;
}

/* The run rank that GHOST does as: of the same place in its node, with the same part. One of
 * several by its number. NULL: there is none. */
static const struct scale_rank *model_of(unsigned ghost)
{
    unsigned members = scale_world.call->members, run = scale_world.nrun / members;

    for (unsigned i = 0; i < run; i++) {
        const struct scale_rank *rank =
            scale_world.run[(ghost / members + i) % run * members + ghost % members];

        if (scale_world.parts[rank->number] == scale_world.parts[ghost])
            return rank;
    }
    return NULL;
}

/* The first node, the last, some in between, and one for each part that a rank may have. */
static bool create_ranks(void)
{
    const struct scale_call *call = scale_world.call;
    unsigned nodes = call->ranks / call->members;
    unsigned run = call->run > 0 && call->run < nodes ? call->run : nodes;

    for (unsigned i = 0; i < run; i++) {
        if (!create_node(run > 1 ? (unsigned)((size_t)i * (nodes - 1) / (run - 1)) : 0))
            return false;
    }
    for (unsigned rank = 0; rank < call->ranks; rank++) {
        if (!model_of(rank) && !create_node(rank / call->members))
            return false;
    }
    return true;
}

/* ---- the call ---- */

static bool open_world(const struct scale_call *call)
{
    struct cgx_scheme scheme = {
        .inter = call->inter, .network = call->network, .leaders = call->leaders};
    int *keys = calloc(call->ranks, sizeof *keys);

    scale_world = (struct scale_world){.call = call};
    if (!keys)
        return false;
    for (unsigned i = 0; i < call->ranks; i++)
        keys[i] = (int)(i / call->members);
    scale_world.nodes = cgx_nodes_create(keys, call->ranks);
    scale_world.flat = cgx_nodes_create(NULL, call->ranks);
    scale_world.ranks = calloc(call->ranks, sizeof *scale_world.ranks);
    scale_world.run = calloc(call->ranks, sizeof *scale_world.run);
    scale_world.models = calloc(call->ranks, sizeof *scale_world.models);
    scale_world.parts = calloc(call->ranks, sizeof *scale_world.parts);
    free(keys);
    if (!scale_world.nodes || !scale_world.flat || !scale_world.ranks || !scale_world.run ||
        !scale_world.models || !scale_world.parts || !scale_network_open())
        return false;
    scheme.nodes = scale_world.nodes;
    scheme.flat = scale_world.flat;
    scale_world.scheme = scheme;
    scale_world.schedule = schedule_of(0);
    if (!find_units())
        return false;
    for (unsigned i = 0; i < call->ranks; i++)
        scale_world.parts[i] = part_of(i);
    if (!create_ranks())
        return false;
    for (unsigned i = 0; i < call->ranks; i++)
        scale_world.models[i] = scale_world.ranks[i] ? i : model_of(i)->number;
    return true;
}

static void close_world(void)
{
    for (unsigned i = 0; i < scale_world.nrun; i++)
        free_rank(scale_world.run[i]);
    scale_network_close();
    free(scale_world.ranks);
    free(scale_world.run);
    free(scale_world.models);
    free(scale_world.parts);
    free(scale_world.has_units);
    cgx_nodes_free(scale_world.nodes);
    cgx_nodes_free(scale_world.flat);
}

void scale_run_poll(double time, struct scale_rank *rank)
{
    enum cgx_outcome outcome;

    rank->polls = false;
    if (rank->complete)
        return;
    if (rank->clock < time)
        rank->clock = time;
    scale_now = rank;
    rank->complete = cgx_coll_poll(&rank->coll, &outcome);
    scale_mpi_flush(rank);
    if (rank->complete && outcome != CGX_OUTCOME_DONE)
        abort();
    if (!rank->complete && (rank->ready > 0 || rank->pending == 0)) {
        rank->polls = true;
        scale_network_poll(rank->clock, rank);
    }
}

static void most(uint64_t *value, uint64_t other)
{
    *value = *value > other ? *value : other;
}

/* False: some rank waits for ever. */
static bool gather(struct scale_result *result)
{
    *result = (struct scale_result){.slices = scale_world.schedule.slices,
                                    .rows = scale_world.schedule.program.shape.rows,
                                    .staging = scale_world.schedule.needs.slots *
                                               scale_world.schedule.needs.staging};
    for (unsigned i = 0; i < scale_world.nrun; i++) {
        const struct scale_rank *rank = scale_world.run[i];

        if (!rank->complete)
            return false;
        if (result->seconds < rank->clock)
            result->seconds = rank->clock;
        most(&result->messages, rank->counts.messages);
        most(&result->empty, rank->counts.empty);
        most(&result->fragments, rank->counts.fragments);
        most(&result->bytes, rank->counts.bytes);
        most(&result->polls, rank->counts.polls);
        most(&result->polled, rank->counts.polled);
        result->all_fragments += rank->counts.fragments;
        result->all_bytes += rank->counts.bytes;
    }
    return true;
}

bool scale_run(const struct scale_call *call, struct scale_result *result)
{
    bool run = open_world(call);

    for (unsigned i = 0; run && i < scale_world.nrun; i++) {
        scale_now = scale_world.run[i];
        cgx_coll_begin(&scale_now->coll);
        scale_now->polls = true;
        scale_network_poll(scale_now->clock, scale_now);
    }
    while (run && scale_network_step()) {
    }
    run = run && gather(result);
    close_world();
    return run;
}
