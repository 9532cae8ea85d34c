/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

/* How schedules cut a buffer into slices, chunks and pieces. */
#include <stdlib.h>

#include "coll/coll.h"
#include "lib/tap.h"
#include "util/integers.h"

static const struct cgx_settings fixed = {.bits = 4};

/* A plan of NSEGMENTS segments of SEGMENT buckets, widths in turn from 1 to 8, and a last bucket of
 * TAIL elements. */
static struct cgx_plan mixed_plan(size_t nsegments, size_t segment, size_t tail)
{
    static const struct cgx_settings settings = {.bits = 4};
    static struct {
        struct cgx_layer_list list;
        struct cgx_layer_size layers[64];
    } said;
    const struct cgx_override override = {.layers = &said.list};

    said.list = (struct cgx_layer_list){.nlayers = nsegments, .total = nsegments * segment * 64};
    for (size_t i = 0; i < nsegments; i++)
        said.list.layers[i] = (struct cgx_layer_size){segment * 64, 1 + (unsigned)i * 5 % 8};
    said.list.layers[nsegments - 1].count -= 64 - tail;
    said.list.total -= 64 - tail;
    return cgx_plan_of(&settings, &override, CGX_FLOAT32, said.list.total);
}

/* The schedule of PLAN on RANKS ranks, so many of them to a node, on NETWORK. */
static struct cgx_schedule shape_on(struct cgx_network network, const struct cgx_plan *plan,
                                    unsigned ranks, unsigned per_node, size_t staging)
{
    static struct cgx_nodes *nodes, *flat;
    int *keys = calloc(ranks, sizeof *keys);
    struct cgx_scheme scheme = {.inter = CGX_REDUCTION_SRA, .network = network};

    for (unsigned r = 0; r < ranks; r++)
        keys[r] = (int)(r / per_node);
    cgx_nodes_free(nodes);
    cgx_nodes_free(flat);
    scheme.nodes = nodes = cgx_nodes_create(keys, ranks);
    scheme.flat = flat = cgx_nodes_create(NULL, ranks);
    free(keys);
    return cgx_coll_schedule(plan, &scheme, staging);
}

static struct cgx_schedule shape_of(const struct cgx_plan *plan, unsigned ranks, unsigned per_node,
                                    size_t staging)
{
    return shape_on((struct cgx_network){0}, plan, ranks, per_node, staging);
}

/* The parts of slice NUMBER on the last rank, which are all in order. */
static struct cgx_part *cut(struct cgx_schedule *schedule, unsigned number,
                            struct cgx_piece **pieces)
{
    static struct cgx_part parts[32];
    static struct cgx_piece all[2048];
    struct cgx_cut cut = {.part = parts, .piece = all};

    *pieces = all;
    cgx_cut_slice(schedule, number, false, &cut);
    return parts;
}

/* Every element in one piece of one slice of one chunk, all in order. */
static bool covers(const struct cgx_plan *plan, unsigned ranks, unsigned slices)
{
    struct cgx_schedule schedule = shape_of(plan, ranks, 1, (size_t)1 << 30);
    size_t element = 0;

    schedule.program = cgx_program_of(&schedule.program.shape, ranks - 1);
    schedule.slices = slices;
    for (unsigned chunk = 0; chunk < ranks; chunk++) {
        for (unsigned number = 0; number < slices; number++) {
            struct cgx_piece *pieces;
            const struct cgx_part *part = cut(&schedule, number, &pieces) + chunk;

            if (cgx_program_chunk(&schedule.program, chunk) != chunk)
                return false;
            for (size_t i = part->piece; i < part[1].piece; i++) {
                if (pieces[i].first != element || pieces[i].count == 0 || pieces[i].offset % 16)
                    return false;
                element += pieces[i].count;
            }
            if (element % plan->unit != 0 && element != plan->count)
                return false;
        }
    }
    return element == plan->count;
}

static void test_hashes(void)
{
    struct cgx_plan plan = cgx_plan_of(&fixed, NULL, CGX_FLOAT32, 1000);
    struct cgx_plan other = cgx_plan_of(&fixed, NULL, CGX_FLOAT16, 1000);

    ok(plan.hash != other.hash, "plans for different types have different hashes");
}

static void test_cover(void)
{
    static const size_t counts[] = {1024, 1025, 4096, 99991, 1u << 20};
    bool uniform = true, mixed = true;

    for (unsigned ranks = 1; ranks <= 9; ranks++) {
        for (unsigned slices = 1; slices <= 5; slices++) {
            for (size_t i = 0; i < sizeof counts / sizeof counts[0]; i++) {
                struct cgx_plan plan = cgx_plan_of(&fixed, NULL, CGX_FLOAT32, counts[i]);

                uniform = uniform && covers(&plan, ranks, slices);
            }
            for (size_t tail = 1; tail <= 64; tail += 21) {
                struct cgx_plan plan = mixed_plan(17, 9, tail);

                mixed = mixed && covers(&plan, ranks, slices);
            }
        }
    }
    ok(uniform, "chunks, slices and pieces of a uniform plan cover each element once");
    ok(mixed, "and those of a plan with many widths");
}

static void test_balance(void)
{
    bool balanced = true;

    for (unsigned ranks = 2; ranks <= 16; ranks++) {
        struct cgx_plan plan = mixed_plan(40, 100, 64);
        struct cgx_schedule schedule = shape_of(&plan, ranks, 1, (size_t)1 << 30);
        size_t most = 0, fewest = SIZE_MAX;
        struct cgx_piece *pieces;
        const struct cgx_part *parts = cut(&schedule, 0, &pieces);

        for (unsigned rank = 0; rank < ranks; rank++) {
            most = cgx_larger(most, parts[rank].bytes);
            fewest = cgx_smaller(fewest, parts[rank].bytes);
        }
        /* A bucket of 8 bits, and the rounding of slices and headers to 16 bytes. */
        balanced = balanced && most - fewest <= 68 + 16 * 4 * (40 / ranks + 2);
    }
    ok(balanced, "chunks of a plan with many widths are alike in bytes, not in elements");
}

static void test_huge(void)
{
    struct cgx_plan plan = cgx_plan_of(&fixed, NULL, CGX_FLOAT32, (size_t)3500 << 20);
    struct cgx_schedule schedule = shape_of(&plan, 8, 8, (size_t)64 << 20);

    ok(schedule.slices < 1000 && schedule.needs.staging <= (size_t)32 << 20,
       "14 GB make %u slices in 64 MiB", schedule.slices);
}

static void test_exact_segments(void)
{
    const struct cgx_override exact = {.bits = CGX_BITS_EXACT};
    struct cgx_plan wide = cgx_plan_of(&fixed, &exact, CGX_FLOAT32, 1000);
    struct cgx_plan half = cgx_plan_of(&fixed, &exact, CGX_FLOAT16, 1000);
    struct cgx_schedule one = shape_of(&wide, 4, 2, (size_t)1 << 30);

    ok(one.program.shape.nodes->nodes == 2, "exact float32 are summed in stages");
    one = shape_of(&half, 4, 2, (size_t)1 << 30);
    ok(one.program.shape.nodes->nodes == 4,
       "exact elements of 16 bits all at once: each is rounded once");
}

static void test_shape(void)
{
    enum { PER_NODE_END = 3 };
    struct cgx_plan plan = cgx_plan_of(&fixed, NULL, CGX_FLOAT32, 64u << 20);
    struct cgx_plan small = cgx_plan_of(&fixed, NULL, CGX_FLOAT32, 1u << 20);
    struct cgx_schedule one = shape_of(&small, 4, 1, (size_t)1 << 20);

    ok(one.slices == 1, "what fits the staging memory is one slice");
    one = shape_of(&plan, 4, 1, (size_t)1 << 30);
    ok(one.slices >= 8 && one.slices <= 12,
       "of much staging memory only as much is used as keeps links busy (%u slices)", one.slices);
    for (unsigned per_node = 1; per_node < PER_NODE_END; per_node++) {
        struct cgx_schedule sra = shape_of(&plan, 4, per_node, (size_t)1 << 20);

        ok(sra.slices > 1 && sra.needs.slots * sra.needs.staging <= (size_t)1 << 20,
           "what does not is cut so that it does (%u slices)", sra.slices);
        ok(sra.needs.slots * sra.needs.staging > (size_t)3 << 18,
           "and not much finer than it must be");
        ok(one.hash != sra.hash, "the hash tells schedules apart");
        one = sra;
    }
}

/* Two slices would fit less memory than one, which is more than is allowed, but leave no room for
 * units of another width. */
static void test_slots(void)
{
    const struct cgx_settings settings = {.bits = 2};
    const int keys[] = {0, 0, 1, 1};
    struct cgx_plan plan = cgx_plan_of(&settings, NULL, CGX_FLOAT32, 387890);
    struct cgx_nodes *nodes = cgx_nodes_create(keys, 4), *flat = cgx_nodes_create(NULL, 4);
    const struct cgx_scheme scheme = {.nodes = nodes, .flat = flat};
    struct cgx_schedule one = cgx_coll_schedule(&plan, &scheme, (size_t)4 << 20);

    ok(one.slices == 1 || one.needs.slots == CGX_SLOTS, "several slices have a slot each");
    cgx_nodes_free(nodes);
    cgx_nodes_free(flat);
}

static unsigned slices_of(struct cgx_network network, unsigned per_node, size_t count)
{
    struct cgx_plan plan = cgx_plan_of(&fixed, NULL, CGX_FLOAT32, count);
    unsigned slices = shape_on(network, &plan, 4, per_node, (size_t)64 << 20).slices;

    return slices;
}

static void test_slices(void)
{
    const size_t small = 16384, large = (size_t)4 << 20;
    struct cgx_network network = cgx_cost_network(UINT64_C(10000000000), false);
    unsigned slices = slices_of(network, 1, large);

    ok(slices_of(network, 1, small) == 1, "a small call is not cut");
    ok(slices > 2 && slices < 9,
       "16 MiB between nodes are, into some slices: codec and network have work side by side (%u)",
       slices);
    network.element_ps = 0;
    ok(slices_of(network, 1, large) == 1, "but not where the codec takes no time");
    ok(slices_of(cgx_cost_node(false, false), 4, large) == 1, "nor on one node");
    ok(slices_of(cgx_cost_node(true, false), 4, large) > 1, "unless devices copy behind PCIe");
}

int main(void)
{
    test_hashes();
    test_cover();
    test_balance();
    test_shape();
    test_huge();
    test_exact_segments();
    test_slots();
    test_slices();
    return done_testing();
}
