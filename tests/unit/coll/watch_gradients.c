/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

/* Gradients as models have them, which look like state in a few of their rows, are compressed, and
 * weights that look like gradients in a few of theirs are not. */
#include <math.h>

#include "lib/tap.h"
#include "unit/lib/codec_data.h"
#include "unit/lib/watch_scene.h"

enum { COUNT = 16384, CHARACTERS = 128 };

static const char *const nodes[] = {"01", "0123", "01234567", "0011", "0000", "o0123"};
#define NODES (sizeof nodes / sizeof nodes[0])

/* Element INDEX of what RANK puts in; CALL: another one each time. */
typedef double filler(unsigned rank, size_t index, unsigned call);

/* A number from 0 to 1 that belongs to WHAT. */
static double hashed(uint64_t what)
{
    uint64_t state = what * UINT64_C(0x9E3779B97F4A7C15) + 1;

    return (double)(uint32_t)data_random(&state) / 4294967296.0;
}

static double hashed_gaussian(uint64_t what)
{
    uint64_t state = what * UINT64_C(0x9E3779B97F4A7C15) + 1;

    return data_gaussian(&state);
}

static uint64_t key(unsigned rank, size_t index, unsigned call)
{
    return ((uint64_t)call * 64 + rank) << 32 | index;
}

/* ---- gradients ---- */

/* The output layer of a model of characters: a row for each unit, which is not negative, times the
 * probabilities of all characters less one for that which came. Most never come, and their
 * probabilities are small. */
static double output_layer(unsigned rank, size_t index, unsigned call)
{
    size_t character = index % CHARACTERS;
    double unit = 0.2 + hashed(key(rank, index / CHARACTERS, call));
    double likely = 1e-4 * (0.5 + hashed(character));

    if (character % 19 == 5)
        likely -= 0.2 * (0.2 + hashed(key(rank, character, call + 100)));
    return unit * likely;
}

/* The same the other way round, with the signs that ranks agree on. */
static double negated_layer(unsigned rank, size_t index, unsigned call)
{
    return -output_layer(rank, index, call);
}

/* A table of characters: of 512 elements one rank has read most rows, and others a few, which have
 * smaller gradients. */
static double embedding(unsigned rank, size_t index, unsigned call)
{
    double value = hashed_gaussian(key(rank, index, call));

    if (index / 512 % 2 == rank % 2)
        return value;
    return index / 16 % 4 == 1 ? 0.1 * value : 0;
}

/* One row in eight is large and alike on all ranks. */
static double frequent_rows(unsigned rank, size_t index, unsigned call)
{
    if (index / 512 % 8 == 3)
        return 30 * hashed_gaussian(key(63, index, call)) + hashed_gaussian(key(rank, index, call));
    return hashed_gaussian(key(rank, index, call));
}

/* Units that no sample excites have rows of zeros; what is left is of many sizes. */
static double dead_units(unsigned rank, size_t index, unsigned call)
{
    size_t row = index / 512;

    if (hashed(row) < 0.8)
        return 0;
    return pow(10, -3 * hashed(row + 1000)) *
           (hashed_gaussian(key(63, index, 0)) + 0.5 * hashed_gaussian(key(rank, index, call)));
}

/* ---- weights ---- */

/* Biases, which began as zeros, are apart. */
static double with_biases(unsigned rank, size_t index, unsigned call)
{
    if (index / 512 % 8 == 3)
        return 0.03 * hashed_gaussian(key(rank, index, call));
    return hashed_gaussian(key(63, index, 0)) + 0.01 * hashed_gaussian(key(rank, index, call));
}

/* Most are pruned. */
static double pruned(unsigned rank, size_t index, unsigned call)
{
    if (hashed(index / 512) < 0.7)
        return 0;
    return hashed_gaussian(key(63, index, 0)) + 0.01 * hashed_gaussian(key(rank, index, call));
}

static struct scene run(filler *fill, unsigned way, unsigned bits)
{
    struct scene scene = watch_scene(nodes[way % NODES], way * 4, bits);

    scene.count = COUNT;
    scene.bucket_size = way & 1 ? 512 : 128;
    scene.staging = 0;
    scene_prepare(&scene);
    for (unsigned r = 0; r < scene.ranks; r++) {
        for (size_t i = 0; i < scene.count; i++)
            scene_set_input(&scene, r, i, (float)(0.1 * fill(r, i, way)));
    }
    scene_run(&scene);
    return scene;
}

static void test(filler *fill, bool weights, const char *name)
{
    unsigned cases = 0, wrong = 0;

    for (unsigned way = 0; way < 4 * NODES; way++) {
        struct scene scene = run(fill, way, 4 + way / NODES);
        bool right =
            weights ? watch_is_held(&scene, CGX_CONSENSUS_CLOSE) : watch_is_compressed(&scene);

        cases++;
        wrong += !right;
        if (!right)
            watch_say(&scene, nodes[way % NODES], way, 0);
        scene_free(&scene);
    }
    ok(wrong == 0 && cases > 0, "%s: %u of %u sums are %s", name, wrong, cases,
       weights ? "missed" : "held back");
}

int main(void)
{
    test(output_layer, false, "an output layer of characters that do not come");
    test(negated_layer, false, "the same with other signs");
    test(embedding, false, "an embedding with rows that one rank has read");
    test(frequent_rows, false, "a few large rows that all ranks have alike");
    test(dead_units, false, "rows of zeros");
    test(with_biases, true, "weights with biases that are apart");
    test(pruned, true, "weights of which most are pruned");
    return done_testing();
}
