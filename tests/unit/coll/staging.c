/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

/* Staging memory is had when ranks agree: slices of plans with many widths are laid out here, as
 * calls lay them out, and held to it. */
#include "coll/slice.h"
#include "lib/tap.h"
#include "util/integers.h"

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

static void large(struct cgx_layer_list *list, unsigned bucket)
{
    list->nlayers = 3;
    list->layers[0] = (struct cgx_layer_size){9 * 65536 + 1, 0};
    list->layers[1] = (struct cgx_layer_size){bucket + 1, 2};
    list->layers[2] = (struct cgx_layer_size){20 * 65536 + 77, 0};
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

/* What becomes of the widths that BUFFERS leave open. */
enum { LEAST, MOST, LEAST_FIRST, MOST_FIRST, MIXED, CHOICES };

static void choose(struct cgx_layer_list *list, unsigned choice)
{
    for (size_t i = 0; i < list->nlayers; i++) {
        bool first = i < list->nlayers / 2;

        if (list->layers[i].bits == 0)
            list->layers[i].bits = choice == LEAST         ? 1
                                   : choice == MOST        ? 8
                                   : choice == LEAST_FIRST ? (first ? 1 : 8)
                                   : choice == MOST_FIRST  ? (first ? 8 : 1)
                                                           : 1 + (unsigned)(i * i * 7 + i / 3) % 8;
    }
}

static struct cgx_plan make_plan(const struct cgx_settings *settings, size_t buffer,
                                 unsigned choice)
{
    static struct {
        struct cgx_layer_list list;
        struct cgx_layer_size layers[LAYERS];
    } said;
    const struct cgx_override override = {.layers = &said.list};

    said.list = (struct cgx_layer_list){.nlayers = LAYERS};
    buffers[buffer].fill(&said.list, cgx_quantisers[settings->codec].bucket);
    choose(&said.list, choice);
    for (size_t i = 0; i < said.list.nlayers; i++)
        said.list.total += said.list.layers[i].count;
    return cgx_plan_of(settings, &override, buffer % 2 ? CGX_FLOAT16 : CGX_FLOAT32,
                       said.list.total);
}

/* ---- what slices need ---- */

static struct cgx_part parts[RANKS + 1];
static struct cgx_piece pieces[PIECES];

/* Raises NEEDS to what all slices of RANK need; none is empty where *FULL remains. */
static void add_needs(struct cgx_schedule schedule, unsigned rank, struct cgx_needs *needs,
                      bool *full)
{
    const struct cgx_program *program = &schedule.program;
    struct cgx_cut cut = {.part = parts, .piece = pieces};

    schedule.program = cgx_program_of(&program->shape, rank);
    *full = *full && (schedule.slices == 1 || schedule.needs.slots == CGX_SLOTS);
    for (unsigned number = 0; number < schedule.slices; number++) {
        size_t again = 0;

        cgx_cut_slice(&schedule, number, false, &cut);
        for (unsigned round = 0; round <= program->levels; round++)
            again = cgx_larger(again, cgx_cut_pieces(&cut, cgx_program_sum(program, round)));
        *full = *full && parts[program->parts].piece > 0;
        needs->staging = cgx_larger(needs->staging, cut.input[program->levels]);
        needs->pieces = cgx_larger(needs->pieces, parts[program->parts].piece + again);
        needs->parts = cgx_larger(needs->parts, program->parts + 1);
    }
}

/* Whether the shards of RANK that local peers decode in their place lie behind all else that any of
 * its slices has, and within what they need. */
static bool is_apart(struct cgx_schedule schedule, unsigned rank)
{
    const struct cgx_program *program = &schedule.program;
    struct cgx_cut cut = {.part = parts, .piece = pieces};
    size_t end = 0, first = SIZE_MAX;
    bool fits = true;

    schedule.program = cgx_program_of(&program->shape, rank);
    for (unsigned number = 0; number < schedule.slices; number++) {
        const struct cgx_block shard = {program->shard, program->parts};
        const struct cgx_block own = cgx_program_sum(program, program->levels);

        if (cgx_block_is_empty(shard))
            continue;
        cgx_cut_slice(&schedule, number, true, &cut);
        end = cgx_larger(end, cut.input[program->levels]);
        first = cgx_smaller(first, parts[shard.first].at);
        fits = fits && parts[shard.first].at % CGX_PIECE_ALIGNMENT == 0 &&
               (cgx_block_is_empty(own) || own.end == shard.end) &&
               parts[shard.first].at + cgx_cut_bytes(&cut, shard) <= schedule.needs.staging;
    }
    return fits && end <= first;
}

struct verdict {
    bool staged, listed, full, apart;
    double worst; /* needed over had */
    size_t schedules;
};

/* PLAN on RANKS ranks, PER_NODE of them to a node. */
static void test_shape(const struct cgx_plan *plan, enum cgx_reduction reduction, unsigned ranks,
                       unsigned per_node, size_t staging, struct verdict *verdict)
{
    static const char *const names[] = {"SRA", "grid"};
    struct cgx_scheme scheme = {.inter = reduction,
                                .network = cgx_cost_network(UINT64_C(10000000000), false)};
    struct cgx_nodes *nodes, *flat = cgx_nodes_create(NULL, ranks);
    struct cgx_schedule schedule;
    struct cgx_needs needs = {0};
    int keys[RANKS];

    for (unsigned rank = 0; rank < ranks; rank++)
        keys[rank] = (int)(rank / per_node);
    nodes = cgx_nodes_create(keys, ranks);
    scheme.nodes = nodes;
    scheme.flat = flat;
    schedule = cgx_coll_schedule(plan, &scheme, staging);
    add_needs(schedule, 0, &needs, &verdict->full);
    add_needs(schedule, ranks / 2, &needs, &verdict->full);
    add_needs(schedule, ranks - 1, &needs, &verdict->full);
    if (needs.staging > schedule.needs.staging && verdict->staged)
        diag("%u ranks, %u to a node, %s, %zu bytes, %u slices: %zu bytes of %zu", ranks, per_node,
             names[reduction], staging, schedule.slices, needs.staging, schedule.needs.staging);
    verdict->staged = verdict->staged && needs.staging <= schedule.needs.staging;
    verdict->listed = verdict->listed && needs.pieces <= schedule.needs.pieces &&
                      needs.parts <= schedule.needs.parts;
    if ((double)needs.staging > verdict->worst * (double)schedule.needs.staging)
        verdict->worst = (double)needs.staging / (double)schedule.needs.staging;
    verdict->apart = verdict->apart && is_apart(schedule, (unsigned)staging % ranks);
    verdict->schedules++;
    cgx_nodes_free(nodes);
    cgx_nodes_free(flat);
}

static void test_buffer(const struct cgx_settings *settings, size_t buffer)
{
    static const size_t stagings[] = {64u << 20, 1u << 20, 256u << 10};
    static const char *const families[] = {"max-min", "uniform"};
    struct verdict verdict = {true, true, true, true, 0, 0};

    for (unsigned choice = (unsigned)buffer % one_of(3); choice < CHOICES; choice += one_of(3)) {
        struct cgx_plan plan = make_plan(settings, buffer, choice);

        for (unsigned ranks = 2; ranks <= RANKS; ranks++) {
            for (size_t i = 0; i < sizeof stagings / sizeof stagings[0]; i++) {
                unsigned per_node = ranks % 3 == 0 ? 1 : ranks % 8;

                per_node = per_node == 0 ? ranks : per_node;
                test_shape(&plan, CGX_REDUCTION_SRA, ranks, per_node, stagings[i], &verdict);
                test_shape(&plan, CGX_REDUCTION_GRID, ranks, per_node, stagings[i], &verdict);
            }
        }
    }
    ok(verdict.staged, "%s, %s: staging memory is never short", buffers[buffer].name,
       families[settings->codec]);
    ok(verdict.listed, "nor are lists of pieces");
    ok(verdict.apart, "what local peers decode in its place is apart from all else");
    ok(verdict.full, "nor is a slice empty, or without a slot");
    diag("%zu schedules use at most %.3f of it", verdict.schedules, verdict.worst);
}

int main(void)
{
    for (size_t b = 0; b < sizeof buffers / sizeof buffers[0]; b++) {
        for (int family = 0; family < CGX_FAMILIES; family++)
            test_buffer(&(struct cgx_settings){.bits = 4, .codec = (enum cgx_family)family}, b);
    }
    return done_testing();
}
