/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

#include "unit/lib/replay.h"

#include <stdlib.h>
#include <string.h>

#include "codec/encoding.h"
#include "coll/coll.h"
#include "coll/scratch.h"
#include "unit/lib/codec_data.h"
#include "unit/lib/loopback.h"

struct actor {
    struct cgx_scratch scratch;
    struct cgx_adapt *adapt; /* NULL: widths are fixed */
    struct cgx_schedule *schedules;
    float *output;
    size_t sent;
    bool failed;
};

struct replay {
    struct cgx_settings settings;
    unsigned ranks;
    struct cgx_nodes *nodes, *flat;
    uint32_t step;
    size_t ncounts, elements;
    size_t *counts;
    const struct cgx_plan **plans; /* as they are made, by layer */
    double *sum;
    const float *gradients;
    uint64_t checksum;
    struct actor actors[];
};

/* ---- memory ---- */

static bool create_shape(struct replay *replay, size_t layer, struct cgx_schedule *schedule)
{
    const struct cgx_plan *plan = replay->plans[layer];
    struct cgx_plan *widest = cgx_plan_widest(plan);
    const struct cgx_scheme scheme = {.nodes = replay->nodes,
                                      .flat = replay->flat,
                                      .leaders = replay->settings.leaders,
                                      .inter = replay->settings.cross_reduction};

    if (!widest)
        return false;
    *schedule = cgx_coll_schedule(plan, widest, &scheme, replay->settings.fusion_buffer_bytes);
    cgx_plan_free(widest);
    return true;
}

static bool create_actor(struct replay *replay, struct actor *actor)
{
    bool adaptive = false;

    actor->schedules = calloc(replay->ncounts, sizeof *actor->schedules);
    actor->output = calloc(replay->elements, sizeof *actor->output);
    if (!actor->schedules || !actor->output)
        return false;
    for (size_t i = 0; i < replay->ncounts; i++) {
        if (!create_shape(replay, i, &actor->schedules[i]) ||
            cgx_scratch_reserve(&actor->scratch, &actor->schedules[i].needs) != CGX_OK)
            return false;
        adaptive = adaptive || replay->plans[i]->adaptive;
    }
    if (!adaptive)
        return true;
    actor->adapt = cgx_adapt_create(&replay->settings, replay->plans, replay->ncounts);
    for (size_t i = 0; actor->adapt && i < replay->ncounts; i++) {
        if (actor->adapt->layers[i].plan)
            cgx_coll_follow(&actor->schedules[i], actor->adapt->layers[i].plan);
    }
    return actor->adapt != NULL;
}

/* Nodes of so many ranks; 0: of one. */
static bool create_nodes(struct replay *replay, unsigned per_node)
{
    int *keys = calloc(replay->ranks, sizeof *keys);

    for (unsigned r = 0; keys && r < replay->ranks; r++)
        keys[r] = (int)(per_node > 0 ? r / per_node : r);
    if (keys)
        replay->nodes = cgx_nodes_create(keys, replay->ranks);
    replay->flat = cgx_nodes_create(NULL, replay->ranks);
    free(keys);
    return replay->nodes && replay->flat;
}

struct replay *replay_create(const struct cgx_settings *settings, unsigned ranks,
                             const size_t *counts, size_t ncounts)
{
    struct replay *replay = calloc(1, sizeof *replay + ranks * sizeof replay->actors[0]);
    bool had;

    if (!replay)
        return NULL;
    replay->settings = *settings;
    replay->ranks = ranks;
    replay->ncounts = ncounts;
    replay->counts = calloc(ncounts, sizeof *replay->counts);
    replay->plans = calloc(ncounts, sizeof *replay->plans);
    had = replay->counts && replay->plans &&
          create_nodes(replay,
                       settings->topology > CGX_TOPOLOGY_FLAT ? (uint32_t)settings->topology : 0);
    for (size_t i = 0; had && i < ncounts; i++) {
        replay->counts[i] = counts[i];
        replay->elements += counts[i];
        replay->plans[i] = cgx_plan_create(settings, NULL, CGX_FLOAT32, counts[i]);
        had = replay->plans[i] != NULL;
    }
    replay->sum = calloc(replay->elements, sizeof *replay->sum);
    for (unsigned r = 0; had && r < ranks; r++)
        had = create_actor(replay, &replay->actors[r]);
    if (had && replay->sum)
        return replay;
    replay_free(replay);
    return NULL;
}

void replay_free(struct replay *replay)
{
    if (!replay)
        return;
    for (unsigned r = 0; r < replay->ranks; r++) {
        cgx_adapt_free(replay->actors[r].adapt);
        cgx_scratch_release(&replay->actors[r].scratch);
        free(replay->actors[r].schedules);
        free(replay->actors[r].output);
    }
    for (size_t i = 0; replay->plans && i < replay->ncounts; i++)
        cgx_plan_free((struct cgx_plan *)replay->plans[i]);
    cgx_nodes_free(replay->nodes);
    cgx_nodes_free(replay->flat);
    free(replay->plans);
    free(replay->counts);
    free(replay->sum);
    free(replay);
}

const struct cgx_adapt *replay_adapt(const struct replay *replay)
{
    return replay->actors[0].adapt;
}

uint64_t replay_checksum(const struct replay *replay)
{
    return replay->checksum;
}

/* ---- the calls of a step ---- */

static void run_calls(void *context, unsigned rank)
{
    struct replay *replay = context;
    struct actor *actor = &replay->actors[rank];
    size_t first = 0;

    actor->sent = 0;
    for (size_t i = 0; i < replay->ncounts; first += replay->counts[i++]) {
        struct cgx_adapt_layer *layer = actor->adapt ? &actor->adapt->layers[i] : NULL;
        struct cgx_feedback feedback = {0};
        struct cgx_coll coll = {
            .mpi = &loopback_mpi,
            .rank = rank,
            .pace = {.fragment = 16384},
            .schedule = &actor->schedules[i],
            .encoder = cgx_backend_host(),
            .decoder = cgx_backend_host(),
            .scratch = &actor->scratch,
            .call = (uint32_t)(replay->step * replay->ncounts + i),
            .input = replay->gradients + rank * replay->elements + first,
            .output = actor->output + first,
        };

        if (layer && layer->plan) {
            feedback.energies = layer->energies;
            feedback.findings = cgx_adapt_measures(actor->adapt) ? layer->findings : NULL;
            feedback.sampling = cgx_adapt_sampling(actor->adapt);
            coll.feedback = &feedback;
        }
        actor->failed = cgx_coll_run(&coll) != CGX_OUTCOME_DONE || actor->failed;
        actor->sent += coll.sent;
    }
}

double replay_segment_error(const struct replay *replay, size_t first, size_t count)
{
    const float *output = replay->actors[0].output;
    double error = 0;

    for (size_t i = first; i < first + count; i++) {
        double difference = (double)output[i] - replay->sum[i];

        error += difference * difference;
    }
    return error;
}

static void add_up(struct replay *replay)
{
    memset(replay->sum, 0, replay->elements * sizeof *replay->sum);
    for (unsigned r = 0; r < replay->ranks; r++) {
        const float *values = replay->gradients + r * replay->elements;

        for (size_t i = 0; i < replay->elements; i++)
            replay->sum[i] += (double)values[i];
    }
}

static double code_bytes(const struct replay *replay)
{
    double bytes = 0;

    for (size_t i = 0; i < replay->ncounts; i++) {
        const struct cgx_plan *plan = replay->actors[0].schedules[i].plan;

        for (size_t s = 0; s < plan->nsegments; s++)
            bytes += (double)cgx_piece_layout(plan->segments[s].count, plan->segments[s].bits,
                                              plan->bucket_size, plan->dtype)
                         .bytes;
    }
    return bytes;
}

static void look_at(struct replay *replay, struct replay_result *result)
{
    const struct actor *first = &replay->actors[0];
    size_t bytes = replay->elements * sizeof(float);

    *result = (struct replay_result){.same = true, .codes = code_bytes(replay)};
    result->error = replay_segment_error(replay, 0, replay->elements);
    for (unsigned r = 0; r < replay->ranks; r++) {
        result->sent += (double)replay->actors[r].sent;
        if (memcmp(replay->actors[r].output, first->output, bytes) != 0)
            result->same = false;
    }
    replay->checksum = replay->checksum * 31 + data_checksum(first->output, bytes);
}

/* ---- between steps ---- */

/* What the root believes of the step that has gone by, before plans change. Not its own estimate,
 * which after a measurement is of the mean of all steps that were measured. */
static void ask_policy(const struct cgx_adapt *adapt, struct replay_result *result)
{
    for (size_t i = 0; i < adapt->nlayers; i++) {
        const struct cgx_adapt_layer *layer = &adapt->layers[i];

        for (size_t s = 0; layer->plan && s < layer->plan->nsegments; s++) {
            double scale = layer->segments[s].latest / layer->segments[s].reference;

            if (isnan(layer->segments[s].known.errors[0]) || !(layer->segments[s].reference > 0))
                continue;
            result->predicted +=
                layer->segments[s].known.errors[layer->plan->segments[s].bits - 1] * scale;
            for (unsigned w = 0; w < CGX_WIDTHS; w++)
                result->widths[w] += layer->segments[s].known.errors[w] * scale;
        }
    }
}

static void add_measurements(struct replay *replay)
{
    struct cgx_adapt *root = replay->actors[0].adapt;

    memcpy(root->summed, root->measured, root->nsegments * sizeof root->measured[0]);
    for (unsigned r = 1; r < replay->ranks; r++) {
        for (size_t s = 0; s < root->nsegments; s++) {
            for (unsigned w = 0; w < CGX_ADAPT_ROW; w++)
                ((double *)&root->summed[s])[w] +=
                    ((const double *)&replay->actors[r].adapt->measured[s])[w];
        }
    }
}

static void follow_root(struct replay *replay, struct replay_result *result)
{
    const struct cgx_adapt *root = replay->actors[0].adapt;

    for (unsigned r = 0; r < replay->ranks; r++) {
        struct actor *actor = &replay->actors[r];

        if (r > 0)
            memcpy(actor->adapt->summed, root->summed, cgx_adapt_block(root));
        cgx_adapt_take(actor->adapt, result->due);
        for (size_t i = 0; i < replay->ncounts; i++) {
            if (!actor->adapt->layers[i].plan)
                continue;
            cgx_coll_follow(&actor->schedules[i], actor->adapt->layers[i].plan);
            if (actor->schedules[i].hash != replay->actors[0].schedules[i].hash)
                result->same = false;
        }
    }
}

static void end_step(struct replay *replay, struct replay_result *result)
{
    struct cgx_adapt *root = replay->actors[0].adapt;

    for (unsigned r = 0; r < replay->ranks; r++) {
        enum cgx_adapt_due due = cgx_adapt_step(replay->actors[r].adapt);

        if (r == 0)
            result->due = due;
        else if (due != result->due)
            result->same = false;
    }
    if (result->due == CGX_ADAPT_MEASURED)
        add_measurements(replay);
    if (result->due != CGX_ADAPT_NOTHING)
        cgx_adapt_choose(root, result->due);
    ask_policy(root, result);
    if (result->due != CGX_ADAPT_NOTHING)
        follow_root(replay, result);
}

bool replay_step(struct replay *replay, const float *gradients, struct replay_result *result)
{
    bool failed = false;

    replay->gradients = gradients;
    loopback_run(replay->ranks, run_calls, replay);
    for (unsigned r = 0; r < replay->ranks; r++)
        failed = failed || replay->actors[r].failed;
    add_up(replay);
    look_at(replay, result);
    if (replay->actors[0].adapt)
        end_step(replay, result);
    replay->step++;
    return !failed;
}
