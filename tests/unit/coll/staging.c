/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

/* Staging memory is had once, when ranks agree, for all that widths may become: slices of plans
 * with other widths are laid out here, as calls lay them out, and held to it. */
#include <stdlib.h>

#include "coll/scratch.h"
#include "lib/tap.h"

enum { RANKS = 64, LAYERS = 400, PIECES = 2 * (LAYERS + 64 + RANKS) };

/* ---- buffers ---- */

/* Layers, each of which takes some width, one bucket being BUCKET elements. */
static void one_bucket_each(struct cgx_layer_list *list, unsigned bucket)
{
    for (size_t i = 0; i < LAYERS; i++)
        list->layers[i] = (struct cgx_layer_size){bucket, 0};
}

/* Narrow ones are all in one rank's part, which holds a few that are wide. */
static void one_bucket_each_and_large(struct cgx_layer_list *list, unsigned bucket)
{
    one_bucket_each(list, bucket);
    list->layers[LAYERS - 1] = (struct cgx_layer_size){(uint64_t)bucket * 11 * LAYERS, 8};
}

static void fixed_among_them(struct cgx_layer_list *list, unsigned bucket)
{
    for (size_t i = 0; i < LAYERS; i++)
        list->layers[i] = (struct cgx_layer_size){bucket, i % 3 == 1    ? 1 + (unsigned)i % 8
                                                          : i % 31 == 0 ? CGX_BITS_EXACT
                                                                        : 0};
}

static void odd_counts(struct cgx_layer_list *list, unsigned bucket)
{
    for (size_t i = 0; i < LAYERS; i++)
        list->layers[i] = (struct cgx_layer_size){1 + i * i * 37 % (i % 5 == 0 ? 20 * bucket : 90),
                                                  i % 7 == 3 ? 1 + (unsigned)i % 8 : 0};
}

/* Fewer buckets than some of the numbers of ranks. */
static void few(struct cgx_layer_list *list, unsigned bucket)
{
    list->nlayers = 20;
    for (size_t i = 0; i < list->nlayers; i++)
        list->layers[i] = (struct cgx_layer_size){bucket, i == 9 ? CGX_BITS_EXACT : 0};
    list->layers[list->nlayers - 1].count = 1;
}

/* Segments are cut from them. */
static void large(struct cgx_layer_list *list, unsigned bucket)
{
    list->nlayers = 3;
    list->layers[0] = (struct cgx_layer_size){9 * CGX_SEGMENT_ELEMENTS + 1, 0};
    list->layers[1] = (struct cgx_layer_size){bucket + 1, 2};
    list->layers[2] = (struct cgx_layer_size){20 * CGX_SEGMENT_ELEMENTS + 77, 0};
}

static const struct {
    const char *name;
    void (*fill)(struct cgx_layer_list *list, unsigned bucket);
} buffers[] = {{"layers of one bucket", one_bucket_each},
               {"layers of one bucket before a large one", one_bucket_each_and_large},
               {"fixed widths among them", fixed_among_them},
               {"odd counts", odd_counts},
               {"few buckets", few},
               {"large layers", large}};

static struct cgx_plan *make_plan(const struct cgx_settings *settings, size_t buffer)
{
    struct cgx_layer_list *list = malloc(sizeof *list + LAYERS * sizeof list->layers[0]);
    const struct cgx_override override = {.layers = list};
    struct cgx_plan *plan;

    list->nlayers = LAYERS;
    list->total = 0;
    buffers[buffer].fill(list, settings->bucket_size);
    for (size_t i = 0; i < list->nlayers; i++)
        list->total += list->layers[i].count;
    plan =
        cgx_plan_create(settings, &override, buffer % 2 ? CGX_FLOAT16 : CGX_FLOAT32, list->total);
    free(list);
    return plan;
}

/* ---- widths ---- */

enum { LEAST, MOST, LEAST_FIRST, MOST_FIRST, MIXED, TURNED, CHOICES };

static void choose(struct cgx_plan *plan, unsigned choice)
{
    uint8_t widths[PIECES];

    for (size_t i = 0; i < plan->nsegments; i++) {
        const struct cgx_segment *segment = &plan->segments[i];
        bool first = i < plan->nsegments / 2;
        unsigned span = segment->most - segment->least;
        unsigned more = choice == LEAST         ? 0
                        : choice == MOST        ? span
                        : choice == LEAST_FIRST ? (first ? 0 : span)
                        : choice == MOST_FIRST  ? (first ? span : 0)
                                                : (unsigned)(i * i * 7 + i / 3) % (span + 1);

        widths[i] = (uint8_t)(segment->least + more);
        if (cgx_segment_has_alternative(segment) &&
            (choice == TURNED || (choice == MIXED && i % 5 == 0)))
            widths[i] = (uint8_t)cgx_encoding_of(CGX_FAMILY_ROTATED,
                                                 segment->alternatives[CGX_FAMILY_ROTATED].least);
    }
    cgx_plan_set(plan, widths);
}

/* ---- what slices need ---- */

static size_t samples_of(const struct cgx_slice *slice, size_t first, size_t npieces)
{
    unsigned bucket = slice->coding.bucket_size;
    size_t samples = 0;

    for (size_t i = first; i < first + npieces; i++) {
        const struct cgx_piece *piece = &slice->slot->pieces[i];

        if (piece->bits != CGX_BITS_EXACT)
            samples +=
                cgx_sample_count((piece->count + bucket - 1) / bucket, slice->coding.sampling);
    }
    return samples;
}

/* What a rank measures at once: all that it sends in a stage, or its part. */
static size_t most_samples(const struct cgx_slice *slice)
{
    const struct cgx_schedule *schedule = slice->coll->schedule;
    size_t own = slice->is_owner ? cgx_slice_own_part(slice)->first_piece : slice->pieces;
    size_t most = samples_of(slice, own, slice->pieces - own);
    size_t sent = samples_of(slice, 0, own);

    most = sent > most ? sent : most;
    for (unsigned i = 0; i < cgx_schedule_chunks(schedule) + schedule->shards; i++) {
        const struct cgx_block *block = &slice->slot->blocks[i];
        size_t samples = samples_of(slice, block->first_piece, block->npieces);

        if (i >= cgx_schedule_chunks(schedule) && schedule->nodes->most == 1)
            continue; /* a shard is never measured as a whole */
        most = samples > most ? samples : most;
    }
    return most;
}

/* Raises NEEDS to what all slices of RANK need; none is empty where *FULL remains. */
static void add_needs(const struct cgx_schedule *schedule, unsigned rank, struct cgx_needs *needs,
                      bool *full)
{
    static struct cgx_block blocks[4 * RANKS];
    static struct cgx_piece pieces[PIECES];
    struct cgx_scratch scratch = {.slots = {{NULL, pieces, blocks}, {NULL, pieces, blocks}}};
    const struct cgx_coll coll = {.schedule = schedule, .rank = rank, .scratch = &scratch};

    *full = *full && (schedule->slices == 1 || schedule->needs.slots == CGX_SLOTS);
    for (unsigned number = 0; number < schedule->slices; number++) {
        struct cgx_slice slice;
        size_t staging, again = 0;

        cgx_slice_begin(&coll, number, &slice);
        staging = slice.samples;
        if (schedule->plan->adaptive)
            staging += most_samples(&slice) * sizeof(struct cgx_sample);
        for (unsigned i = 0; i < cgx_schedule_chunks(schedule) + schedule->shards; i++)
            again = blocks[i].npieces > again ? blocks[i].npieces : again;
        *full = *full && slice.pieces > 0;
        needs->staging = staging > needs->staging ? staging : needs->staging;
        needs->pieces = slice.pieces + again > needs->pieces ? slice.pieces + again : needs->pieces;
    }
}

/* Whether the shards of RANK that local peers decode in their place lie behind all else that any of
 * its slices has, and within what they need. */
static bool is_apart(const struct cgx_schedule *schedule, unsigned rank)
{
    static struct cgx_block blocks[4 * RANKS];
    static struct cgx_piece pieces[PIECES];
    struct cgx_scratch scratch = {.slots = {{NULL, pieces, blocks}, {NULL, pieces, blocks}}};
    const struct cgx_coll coll = {
        .schedule = schedule, .rank = rank, .scratch = &scratch, .pull = CGX_PULL_DEVICE};
    size_t end = 0, first = SIZE_MAX;
    bool fits = true;

    for (unsigned number = 0; number < schedule->slices; number++) {
        struct cgx_slice slice;
        const struct cgx_block *shard;
        size_t samples;

        cgx_slice_begin(&coll, number, &slice);
        if (slice.pull != CGX_PULL_DEVICE || !slice.is_shard_owner)
            continue;
        shard = &slice.shards[slice.local];
        samples = schedule->plan->adaptive ? most_samples(&slice) * sizeof(struct cgx_sample) : 0;
        end = slice.samples + samples > end ? slice.samples + samples : end;
        first = shard->message < first ? shard->message : first;
        fits = fits && shard->message % CGX_PIECE_ALIGNMENT == 0 &&
               cgx_slice_own_part(&slice)->message >= shard->message &&
               shard->message + CGX_MESSAGE_HEADER_BYTES + shard->bytes <= schedule->needs.staging;
    }
    return fits && end <= first;
}

struct verdict {
    bool staged, listed, full, apart;
    double worst; /* needed over had */
    size_t schedules;
};

/* All that PLAN may become, on RANKS ranks, PER_NODE of them to a node. */
static void test_shape(struct cgx_plan *plan, enum cgx_reduction reduction, unsigned ranks,
                       unsigned per_node, size_t staging, struct verdict *verdict)
{
    static const char *const names[] = {"SRA", "grid"};
    struct cgx_plan *widest = cgx_plan_widest(plan);
    struct cgx_scheme scheme = {.inter = reduction,
                                .network = cgx_cost_network(UINT64_C(10000000000), false)};
    struct cgx_nodes *nodes, *flat = cgx_nodes_create(NULL, ranks);
    struct cgx_schedule schedule;
    int keys[RANKS];

    for (unsigned rank = 0; rank < ranks; rank++)
        keys[rank] = (int)(rank / per_node);
    nodes = cgx_nodes_create(keys, ranks);
    scheme.nodes = nodes;
    scheme.flat = flat;
    schedule = cgx_coll_schedule(plan, widest, &scheme, staging);
    for (unsigned choice = ranks % one_of(3); choice < CHOICES; choice += one_of(3)) {
        struct cgx_needs needs = {0};

        choose(plan, choice);
        cgx_coll_follow(&schedule, plan);
        add_needs(&schedule, 0, &needs, &verdict->full);
        add_needs(&schedule, ranks / 2, &needs, &verdict->full);
        add_needs(&schedule, ranks - 1, &needs, &verdict->full);
        if (needs.staging > schedule.needs.staging && verdict->staged)
            diag("%u ranks, %u to a node, %s, %zu bytes, %u slices, choice %u: %zu bytes of %zu",
                 ranks, per_node, names[reduction], staging, schedule.slices, choice, needs.staging,
                 schedule.needs.staging);
        verdict->staged = verdict->staged && needs.staging <= schedule.needs.staging;
        verdict->listed = verdict->listed && needs.pieces <= schedule.needs.pieces;
        if ((double)needs.staging > verdict->worst * (double)schedule.needs.staging)
            verdict->worst = (double)needs.staging / (double)schedule.needs.staging;
        verdict->apart = verdict->apart && is_apart(&schedule, choice % ranks);
        verdict->schedules++;
    }
    cgx_nodes_free(nodes);
    cgx_nodes_free(flat);
    cgx_plan_free(widest);
}

static void test_buffer(const struct cgx_settings *settings, size_t buffer)
{
    static const size_t stagings[] = {64u << 20, 1u << 20, 256u << 10};
    struct verdict verdict = {true, true, true, true, 0, 0};
    struct cgx_plan *plan = make_plan(settings, buffer);

    for (unsigned ranks = 2; ranks <= RANKS; ranks++) {
        for (size_t i = 0; i < sizeof stagings / sizeof stagings[0]; i++) {
            unsigned per_node = ranks % 3 == 0 ? 1 : ranks % 8;

            per_node = per_node == 0 ? ranks : per_node;
            test_shape(plan, CGX_REDUCTION_SRA, ranks, per_node, stagings[i], &verdict);
            test_shape(plan, CGX_REDUCTION_GRID, ranks, per_node, stagings[i], &verdict);
        }
    }
    ok((settings->codec == CGX_FAMILY_AUTO || plan->adaptive == settings->adaptive) &&
           verdict.staged,
       "%s, buckets of %u, %s widths from %u%s: staging memory is never short",
       buffers[buffer].name, settings->bucket_size, settings->adaptive ? "chosen" : "fixed",
       cgx_settings_least(settings), plan->has_alternatives ? ", chosen families" : "");
    ok(verdict.listed, "nor are lists of pieces");
    ok(verdict.apart, "what local peers decode in its place is apart from all else");
    ok(verdict.full, "nor is a slice empty, or without a slot");
    diag("%zu schedules use at most %.3f of it", verdict.schedules, verdict.worst);
    cgx_plan_free(plan);
}

int main(void)
{
    static const unsigned sizes[] = {64, 512, 2048};
    static const uint32_t limits[] = {1u << 16 | 8, 3u << 16 | 8};

    for (size_t b = 0; b < sizeof buffers / sizeof buffers[0]; b++) {
        for (size_t i = 0; i < 3; i++) {
            for (size_t l = i == 2 ? 3 : 0; l < 5; l++) {
                const struct cgx_settings settings = {.bits = l == 1   ? 1
                                                              : l == 4 ? 3
                                                                       : 4,
                                                      .codec = l < 3 ? CGX_FAMILY_MAXMIN
                                                                     : CGX_FAMILY_AUTO,
                                                      .bucket_size = sizes[i],
                                                      .adaptive = l < 2 || l == 3,
                                                      .adaptive_bits = limits[l % 2]};

                test_buffer(&settings, b);
            }
        }
    }
    return done_testing();
}
