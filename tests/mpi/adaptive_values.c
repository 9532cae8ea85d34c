/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

/* Gradients that change while a plan is in use, with host buffers and a new plan every hundredth
 * step, so that only what messages show can help in between: "adaptive_values [odd]". With "odd",
 * only gradients that are not finite or are missing. */

#include <math.h>

#include "lib/check.h"
#include "lib/steps.h"

#define PARTS 8

/* Up to the first plan, and a step with it. */
#define PLANNED (3 + STEPS_AT_BASE + 1)

/* The program, and the same at 4 bits. */
static struct steps steps, base;

static bool take(int n)
{
    return steps_take_both(&steps, &base, n);
}

static bool begin(void)
{
    struct steps_part parts[PARTS];

    for (size_t i = 0; i < PARTS; i++)
        parts[i] = (struct steps_part){16384 + i, DATA_GAUSSIAN, pow(0.6, (double)i), 0, false};
    steps_begin(&steps, MPI_COMM_WORLD, parts, PARTS);
    steps_begin_at(&base, &steps, "4");
    return take(PLANNED);
}

static void end(void)
{
    steps_end(&steps);
    steps_end(&base);
}

static void set(size_t part, enum data_kind kind, double scale)
{
    steps.parts[part].kind = base.parts[part].kind = kind;
    steps.parts[part].scale = base.parts[part].scale = scale;
}

static double error(void)
{
    return steps.square / base.square;
}

/* ---- growth ---- */

/* The layer with the smallest values gets larger ones than any other. */
static void test_growth(double factor)
{
    bool right = begin();
    double before, after;

    check(right && steps.bytes < base.bytes, "times %g: a plan is in force", factor);
    set(PARTS - 1, DATA_GAUSSIAN, steps.parts[PARTS - 1].scale * factor);
    right = take(1);
    before = error();
    right &= take(2);
    after = error();
    check(right, "times %g: right", factor);
    check(before > 1.5, "times %g: the old plan has too much error", factor);
    check(after <= 1 && after >= 1, "times %g: at base widths two steps later", factor);
    right = take(STEPS_AT_BASE);
    check(right && error() <= 1 && steps.bytes < base.bytes,
          "times %g: and within the budget with the next plan", factor);
    check_note("times %g: error %.2f, %.2f, %.2f of that at 4 bits", factor, before, after,
               error());
    end();
}

/* Values that grow with each step: what all steps up to a return to base widths have too much is at
 * most three budgets, and that of one step. There is one return in as many steps, since the next
 * plan is made only STEPS_AT_BASE steps later. */
static void test_creep(void)
{
    bool right = begin();
    double worst = 0, excess = 0;

    for (int i = 0; i < 25; i++) {
        set(PARTS - 1, DATA_GAUSSIAN, steps.parts[PARTS - 1].scale * 1.25);
        right &= take(1);
        worst = fmax(worst, error());
        excess += error() - 1;
    }
    check(right, "creep: right");
    check(excess <= 2 * 1.05 * (3 + worst - 1), "creep: what is too much is bounded");
    check_note("creep: error up to %.3f of that at 4 bits, in the mean %.3f", worst,
               1 + excess / 25);
    end();
}

/* What has shrunk everywhere is no reason for new widths. */
static void test_shrink(void)
{
    bool right = begin();
    uint64_t collectives = 0;

    for (size_t i = 0; i < PARTS; i++)
        set(i, DATA_GAUSSIAN, steps.parts[i].scale * 0.001);
    for (int i = 0; i < 3; i++) {
        right &= take(1);
        collectives += steps.collectives;
    }
    check(right && error() <= 1, "shrinking: right, and within the budget");
    check(collectives == 0, "shrinking: no plan is made for it");
    end();
}

/* ---- odd values ---- */

/* Parts turn to KIND times SCALE, one, a half and at last all, and back; up to 100 steps at base
 * widths may follow. */
static void test_odd(const char *name, enum data_kind kind, double scale)
{
    static const size_t numbers[] = {1, PARTS / 2, PARTS};
    bool right = begin(), back = true, cheap = true;

    for (size_t n = 0; n < 3; n++) {
        double scales[PARTS];

        for (size_t i = 0; i < numbers[n]; i++) {
            scales[i] = steps.parts[i].scale;
            set(i, kind, scale * scales[i]);
        }
        right &= take(3);
        for (size_t i = 0; i < numbers[n]; i++)
            set(i, DATA_GAUSSIAN, scales[i]);
        right &= take(3);
        for (int i = 0; i < 110 && steps.bytes >= base.bytes; i++)
            right &= take(1);
        back = back && error() <= 1.1;
        cheap = cheap && steps.bytes < base.bytes && steps_exact(&steps) == 0;
    }
    check(right, "%s: right, and the same on all ranks", name);
    check(back, "%s: afterwards within the budget again", name);
    check(cheap, "%s: and fewer bytes than with 4 bits again", name);
    check_note("%s: error %.3f, bytes %.3f of those at 4 bits", name, error(),
               (double)steps.bytes / (double)base.bytes);
    end();
}

int main(int argc, char **argv)
{
    check_begin(&argc, &argv);
    if (argc < 2) {
        test_growth(100);
        test_growth(1000);
        test_creep();
        test_shrink();
    }
    test_odd("zeros", DATA_ZEROS, 1);
    test_odd("NaN and Inf here and there", DATA_NONFINITE, 1);
    test_odd("1e30", DATA_GAUSSIAN, 1e30);
    test_odd("tiny", DATA_TINY, 1);
    test_odd("constant", DATA_CONSTANT, 1);
    return check_end();
}
