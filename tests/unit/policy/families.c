/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

/* Which segments are rotated under CGX_CODEC=auto, told from what ranks have looked at. */
#include "policy/widths/families.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "lib/tap.h"

enum { RANKS = 3, SEGMENTS = 4, ELEMENTS = SEGMENTS * CGX_FAMILY_SEGMENT_ELEMENTS };

static float inputs[RANKS][ELEMENTS];

/* A value of its own for each element of each rank. */
static float noise(unsigned rank, size_t element)
{
    return (float)((element * 2654435761u + rank * 40503u) % 65521 + 1) * 0x1p-16f;
}

static struct cgx_plan *make_plan(size_t count)
{
    const struct cgx_settings settings = {
        .enable = true, .bits = 4, .bucket_size = 512, .codec = CGX_FAMILY_AUTO, .adaptive = true};

    return cgx_plan_create(&settings, NULL, CGX_FLOAT32, count);
}

/* Each segment's elements with this function of rank and place in it. */
static void fill(float (*const values[SEGMENTS])(unsigned rank, size_t element))
{
    for (unsigned r = 0; r < RANKS; r++)
        for (size_t i = 0; i < ELEMENTS; i++)
            inputs[r][i] = values[i / CGX_FAMILY_SEGMENT_ELEMENTS](r, i);
}

/* Families after the look NUMBER of all ranks, those from LOOKING on alone; false: none. */
static bool judge(const struct cgx_plan *plan, uint32_t number, unsigned looking, uint8_t *families)
{
    struct cgx_input_sample sample = cgx_families_sample(plan->count, number);
    size_t nwords = cgx_families_words(plan);
    uint32_t *words = calloc(nwords, sizeof *words), *mine = calloc(nwords, sizeof *mine);
    float *values = malloc(sample.count * sizeof *values);
    bool judged;

    for (unsigned r = looking; r < RANKS; r++) {
        for (size_t i = 0; i < sample.count; i++)
            values[i] = inputs[r][sample.first + i * sample.stride];
        cgx_families_observe(plan, &sample, values, mine);
        for (size_t i = 0; i < nwords; i++)
            words[i] |= mine[i];
    }
    judged = cgx_families_judge(plan, &sample, words, families);
    free(words);
    free(mine);
    free(values);
    return judged;
}

static bool are(const struct cgx_plan *plan, const char *expected)
{
    bool right = true;

    for (uint32_t number = 0; number < 300; number += 7) {
        uint8_t families[SEGMENTS];

        right &= judge(plan, number, 0, families);
        for (size_t s = 0; s < SEGMENTS; s++)
            right &= families[s] == (expected[s] == 'r' ? CGX_FAMILY_ROTATED : CGX_FAMILY_MAXMIN);
    }
    return right;
}

static float zero(unsigned rank, size_t element)
{
    (void)rank, (void)element;
    return 0;
}

static float not_a_number(unsigned rank, size_t element)
{
    (void)rank, (void)element;
    return NAN;
}

static float flag(unsigned rank, size_t element)
{
    (void)rank;
    return element % 3 == 0 ? -1 : 1;
}

/* As ReLU leaves it: most are zero on one rank, fewer than 3/4 on all. */
static float half(unsigned rank, size_t element)
{
    return element * 40503u % 1000 < 400 ? noise(rank, element) : 0;
}

/* Rows of 32, of which each rank has its own: one in 16. */
static float row(unsigned rank, size_t element)
{
    return (element / 32 * 2654435761u >> 8) % 48 == rank ? noise(rank, element) : 0;
}

/* One in four, others on each rank: one in four stays zero. */
static float spread(unsigned rank, size_t element)
{
    return (element + rank) % 4 == 0 ? noise(rank, element) : 0;
}

static float few_here(unsigned rank, size_t element)
{
    return rank == 1 ? noise(rank, element) : flag(rank, element);
}

static void test_data(void)
{
    struct cgx_plan *plan = make_plan(ELEMENTS);

    ok(plan->nsegments == SEGMENTS && plan->has_alternatives,
       "the plan has a segment for 16384 elements");
    fill((float (*const[])(unsigned, size_t)){noise, zero, row, noise});
    ok(are(plan, "rmmr"), "a table does not drag its neighbours along");
    fill((float (*const[])(unsigned, size_t)){half, spread, flag, few_here});
    ok(are(plan, "rrmr"), "zeros on all ranks count, and values that are few on all");
    fill((float (*const[])(unsigned, size_t)){not_a_number, noise, zero, noise});
    ok(are(plan, "rrmr"), "what is not finite is neither zero nor few");
    cgx_plan_free(plan);
}

static void test_looking(void)
{
    struct cgx_plan *plan = make_plan(ELEMENTS);
    uint8_t families[SEGMENTS] = {9, 9, 9, 9};

    fill((float (*const[])(unsigned, size_t)){noise, noise, noise, noise});
    ok(!judge(plan, 0, RANKS, families) && families[0] == 9, "nobody has looked: nothing is said");
    ok(judge(plan, 0, RANKS - 1, families) && families[0] == CGX_FAMILY_ROTATED,
       "one rank is enough");
    cgx_plan_free(plan);
}

static void test_places(void)
{
    static const size_t counts[] = {1, 63, 64, 1000, 1024, 16384, 16385, 1000003};
    bool within = true, enough = true, same = true;

    for (size_t c = 0; c < sizeof counts / sizeof counts[0]; c++)
        for (uint32_t number = 0; number < 1000; number += 3) {
            struct cgx_input_sample sample = cgx_families_sample(counts[c], number);

            within &= sample.first + (sample.count - 1) * sample.stride < counts[c];
            enough &= sample.count >= (counts[c] < 64 ? counts[c] : 64);
            same &= sample.count == cgx_families_sample(counts[c], 0).count;
        }
    ok(within, "all that is looked at lies in the buffer");
    ok(enough && same, "it is 64 elements at least, and always as many");
}

/* A tail that is too short for the look to meet it has nothing known of it. */
static void test_tail(void)
{
    struct cgx_plan *plan = make_plan(CGX_FAMILY_SEGMENT_ELEMENTS + 5);
    uint8_t families[2];

    fill((float (*const[])(unsigned, size_t)){noise, noise, noise, noise});
    ok(plan->nsegments == 2 && judge(plan, 0, 0, families) && families[0] == CGX_FAMILY_ROTATED &&
           families[1] == CGX_FAMILY_MAXMIN,
       "what nobody looks at is not rotated");
    cgx_plan_free(plan);
}

int main(void)
{
    test_data();
    test_looking();
    test_places();
    test_tail();
    return done_testing();
}
