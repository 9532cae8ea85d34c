/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

/* Adaptive widths with host buffers: "adaptive [PART]", all parts or one of them. The reference is
 * a communicator with the hint cgx_bits. */

#include <stdlib.h>

#include "lib/check.h"
#include "lib/comms.h"
#include "lib/steps.h"

/* Steps of at least six calls that go by before layers are made, the last of them compressed, and
 * those with the base width then, up to the first plan. */
#define WARM 3
#define FIRST STEPS_AT_BASE

/* After so many steps there is a plan. */
#define PLANNED (WARM + FIRST)

/* Of the calls of a step only one is large: that repeats as the layers of one pass may. */
static void tell_step(struct steps *steps)
{
    comms_hint(steps->comm, "cgx_step", "1");
}

/* ---- the budget ---- */

/* Buffers whose scales and sizes differ. */
static void make_mixed(struct steps *steps, enum data_kind kind, double common)
{
    static const double scales[] = {1, 0.3, 2, 0.7, 4, 0.15, 1.4, 0.5};
    struct steps_part parts[8];

    for (size_t i = 0; i < 8; i++)
        parts[i] = (struct steps_part){16384 + 501 * i, kind, scales[i], common, false};
    steps_begin(steps, MPI_COMM_WORLD, parts, 8);
}

static void test_budget(enum data_kind kind, double common)
{
    const char *name = data_name(kind);
    const char *how = common > 0 ? "ranks agree" : "ranks differ";
    struct steps steps, base;
    bool right = true;
    /* With history errors of sums in turn, and of sparse data, are estimated to some percent until
     * they have been measured. */
    bool rough = kind == DATA_SPARSE || check_set("CGX_CROSS_REDUCTION_TYPE", "GRID");
    double most = rough ? 1.05 : 1;
    double mean = 0, worst = 0;

    make_mixed(&steps, kind, common);
    steps_begin_at(&base, &steps, "4");
    right &= steps_take_both(&steps, &base, PLANNED);
    check(steps_exact(&steps) == 0 && steps.square == base.square,
          "%s, %s: at the base width first", name, how);
    for (int i = 0; i < 4; i++) {
        right &= steps_take_both(&steps, &base, 1);
        mean += steps.square / base.square / 4;
        worst = steps.square / base.square > worst ? steps.square / base.square : worst;
    }
    check(right, "%s, %s: right, and the same on all ranks", name, how);
    check(mean <= most, "%s, %s: no more error than with 4 bits, in the mean", name, how);
    check(steps.bytes < base.bytes, "%s, %s: fewer bytes than with 4 bits", name, how);
    check_note("%s, %s: error %.3f, at most %.3f, bytes %.3f of those with 4 bits", name, how, mean,
               worst, (double)steps.bytes / (double)base.bytes);
    steps_end(&steps);
    steps_end(&base);
}

static void test_budgets(void)
{
    test_budget(DATA_GAUSSIAN, 0);
    test_budget(DATA_HEAVY, 0.9);
    test_budget(DATA_SPARSE, 0);
}

static void test_more_budgets(void)
{
    test_budget(DATA_GAUSSIAN, 0.9);
    test_budget(DATA_HEAVY, 0);
    test_budget(DATA_SPARSE, 0.9);
}

/* ---- fused buffers ---- */

#define SEGMENT 65536

/* 20 tensors of 7 segments, SCALES by segment, and five small buffers that make steps of six
 * calls. */
static void make_fused(struct steps *steps, const double *scales)
{
    static const size_t cuts[] = {0, 2, 5, 8, 11, 14, 17, 20}; /* the segments' first tensors */
    struct steps_part parts[STEPS_PARTS];

    for (size_t s = 0; s < 7; s++) {
        size_t tensors = cuts[s + 1] - cuts[s];

        for (size_t i = 0; i < tensors; i++)
            parts[cuts[s] + i] = (struct steps_part){
                SEGMENT / tensors + (i == 0 ? SEGMENT % tensors : 0), DATA_GAUSSIAN,
                scales[s] * (1 + (double)i / 8), 0, cuts[s] + i > 0};
    }
    for (size_t i = 20; i < 25; i++)
        parts[i] = (struct steps_part){1024 + i, DATA_GAUSSIAN, 1, 0, false};
    steps_begin(steps, MPI_COMM_WORLD, parts, 25);
}

/* Large tensors get more bits than small ones that are fused with them. */
static void test_fused(void)
{
    static const double scales[] = {1, 0.2, 4, 0.5, 2, 0.05, 0.7};
    static const size_t order[] = {2, 4, 0, 6, 3, 1, 5}; /* the segments by scale */
    static const size_t tensor[] = {0, 2, 5, 8, 11, 14, 17};
    struct steps steps, base;
    bool right, falling = true;

    make_fused(&steps, scales);
    steps_begin_at(&base, &steps, "4");
    tell_step(&steps);
    tell_step(&base);
    right = steps_take_both(&steps, &base, PLANNED + 1);
    check(right, "fused: right");
    check(!steps.found[0].exact && steps.found[20].exact, "fused: the large buffer is compressed");
    for (size_t i = 0; i + 1 < 7; i++) {
        double width = steps_width(&steps, &base, 4, tensor[order[i]]);

        falling = falling && width > steps_width(&steps, &base, 4, tensor[order[i + 1]]) - 0.3;
    }
    check(falling, "fused: the larger the values of a segment, the more bits");
    check(steps_width(&steps, &base, 4, tensor[2]) > 4.7, "fused: the largest has 5 bits or more");
    check(steps_width(&steps, &base, 4, tensor[5]) < 3.3, "fused: the smallest has 3 bits");
    check(steps.square <= base.square && steps.bytes < base.bytes,
          "fused: no more error in fewer bytes");
    for (size_t s = 0; s < 7; s++)
        check_note("fused: scale %g: %.2f bits", scales[s],
                   steps_width(&steps, &base, 4, tensor[s]));
    steps_end(&steps);
    steps_end(&base);
}

/* Layers said by the hint, none of which ends at a segment or a bucket: a bucket that two of them
 * share has the wider's bits. */
static void test_layers(void)
{
    static const struct steps_part parts[] = {
        {70000, DATA_GAUSSIAN, 1, 0, false},   {500, DATA_GAUSSIAN, 1, 0, true}, /* excluded */
        {1000, DATA_GAUSSIAN, 1, 0, true},     {60000, DATA_GAUSSIAN, 50, 0, true},
        {777, DATA_GAUSSIAN, 1, 0, true}, /* excluded */
        {30000, DATA_GAUSSIAN, 0.02, 0, true}, {2000, DATA_GAUSSIAN, 1, 0, false},
        {2001, DATA_GAUSSIAN, 1, 0, false},    {2002, DATA_GAUSSIAN, 1, 0, false},
        {2003, DATA_GAUSSIAN, 1, 0, false},    {2004, DATA_GAUSSIAN, 1, 0, false}};
    struct steps steps, base;
    bool right, ordered = true, others = false;

    steps_begin(&steps, MPI_COMM_WORLD, parts, 11);
    steps_begin_at(&base, &steps, "4");
    tell_step(&steps);
    tell_step(&base);
    comms_hint(steps.comm, "cgx_layers", "70000,500:exact,1000,60000,777:exact,30000");
    right = steps_take_all(&steps, WARM);
    right &= steps_take_all(&base, PLANNED + 1);
    for (int i = WARM; i < PLANNED + 1; i++) {
        right &= steps_take(&steps);
        ordered = ordered && steps.found[1].ordered && steps.found[4].ordered;
        others = others || steps.found[0].ordered || steps.found[2].ordered ||
                 steps.found[3].ordered || steps.found[5].ordered;
    }
    check(right, "layers: right");
    check(ordered, "layers: those that are excluded are exact sums in the order of ranks");
    check(!others, "layers: all others are not");
    check(steps_width(&steps, &base, 4, 3) > 4.7, "layers: one of large values gets more bits");
    check(steps_width(&steps, &base, 4, 5) < 3.5, "layers: one of small values gets fewer");
    check_note("layers: %.2f, %.2f and %.2f bits", steps_width(&steps, &base, 4, 0),
               steps_width(&steps, &base, 4, 3), steps_width(&steps, &base, 4, 5));
    steps_end(&steps);
    steps_end(&base);
}

/* ---- the same again ---- */

static void test_twice(void)
{
    struct steps steps, again;
    bool right, same = true;

    make_mixed(&steps, DATA_HEAVY, 0.3);
    make_mixed(&again, DATA_HEAVY, 0.3);
    right = steps_take_both(&steps, &again, WARM - 1);
    for (int i = 0; i < FIRST + 4; i++) {
        right &= steps_take_both(&steps, &again, 1);
        same = same && steps.digest == again.digest && steps.bytes == again.bytes &&
               steps.messages == again.messages;
        /* In the first one ranks make the private communicator that both have. */
        same = same && (i == 0 || steps.collectives == again.collectives);
    }
    check(right && same, "twice: the same bytes of results and messages again");
    check_note("digest %016llx of %llu bytes", (unsigned long long)steps.digest,
               (unsigned long long)steps.bytes);
    steps_end(&steps);
    steps_end(&again);
}

/* ---- messages ---- */

/* In a step that is neither the one of a plan nor the one before, with CGX_ADAPTIVE=period=6. */
static void test_messages(void)
{
    struct steps steps, base;
    uint64_t plans = 0, others = 0, measurements = 0;
    bool alike = true;

    make_mixed(&steps, DATA_GAUSSIAN, 0);
    steps_begin_at(&base, &steps, "4");
    /* Else ranks may ask each other what their clocks say. */
    comms_hint(steps.comm, "cgx_step", "8");
    comms_hint(base.comm, "cgx_step", "8");
    steps_take_both(&steps, &base, PLANNED);
    for (int i = 0; i < 18; i++) {
        steps_take_both(&steps, &base, 1);
        alike = alike && steps.messages == base.messages;
        if (steps.collectives > 0)
            plans++;
        others += steps.collectives > 2 * (uint64_t)check_size;
        measurements += steps.measurements;
    }
    check(alike, "messages: as many as at a fixed width, in every step");
    check(base.collectives == 0, "messages: no other communication at a fixed width");
    check(plans == 3 && others == 0 && measurements == 3 * (uint64_t)check_size,
          "messages: two more collective calls every sixth step, none in the others");
    check_note("%llu plans in 18 steps", (unsigned long long)plans);
    steps_end(&steps);
    steps_end(&base);
}

int main(int argc, char **argv)
{
    static const struct check_part parts[] = {
        {"budget", test_budgets}, {"budgets", test_more_budgets}, {"fused", test_fused},
        {"layers", test_layers},  {"twice", test_twice},          {"messages", test_messages}};

    check_begin(&argc, &argv);
    check_parts(parts, sizeof parts / sizeof parts[0], argv[1]);
    return check_end();
}
