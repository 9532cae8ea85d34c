/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

/* CGX_HISTORY with host buffers, in steps of one call: "history [PART]". Some elements are large,
 * always the same ones. After some steps their neighbours have an error of their own size, at most
 * PART (0.1) of what it was at first. "history error": only prints that error.
 * "history judged": in steps of two calls, whose data is judged. */

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "lib/check.h"
#include "lib/comms.h"
#include "lib/data.h"
#include "lib/repeat.h"

enum { COUNT = REPEAT_COUNT, OTHER = 18000, STEPS = 40, ZERO = 5 /* of 7 */ };

/* Every 16th is large. */
static float magnitude(size_t i)
{
    return i % 7 == ZERO ? 0.0f : i % 16 == 0 ? 64.0f : 1.0f;
}

static void fill(uint64_t seed)
{
    data_fill(DATA_GAUSSIAN, ELEMENT_FLOAT32, seed, check_rank, COUNT, repeat_input);
    for (size_t i = 0; i < COUNT; i++)
        repeat_input[i] *= magnitude(i);
}

/* The squared error of the small elements of the last result, which is of the input times FACTOR,
 * relative to them; of those that are finite. */
static double error_of(double factor)
{
    double error = 0, power = 0;

    for (size_t i = 0; i < COUNT; i++) {
        double apart = (double)repeat_result[i] / factor - (double)repeat_exact[i];

        if (!isfinite(apart) || magnitude(i) != 1)
            continue;
        error += apart * apart;
        power += (double)repeat_exact[i] * (double)repeat_exact[i];
    }
    return error / power;
}

static bool steps(MPI_Comm comm, int n)
{
    bool right = true;

    for (int i = 0; i < n; i++)
        right &= repeat_step(comm, 1);
    return right;
}

static bool has_zeros(void)
{
    for (size_t i = ZERO; i < COUNT; i += 7)
        if (repeat_result[i] != 0)
            return false;
    return true;
}

/* After steps that are compressed; AFTER is the error of the last one. */
static MPI_Comm begin_with(double *after, bool *right)
{
    MPI_Comm comm = repeat_begin();

    *right = repeat_warm_up(comm) && steps(comm, STEPS);
    *after = error_of(1);
    return comm;
}

static void test_gain(double part)
{
    MPI_Comm comm = repeat_begin();
    bool right = true;
    double first = 0, after;

    /* The first compressed ones find no history. */
    for (int i = 0; i < STEPS && !(first > 0); i++) {
        right &= repeat_step(comm, 1);
        first = error_of(1) > 1e-9 ? error_of(1) : 0;
    }
    right &= steps(comm, STEPS);
    after = error_of(1);
    check(right, "the same on all ranks");
    check(first > 0, "it is compressed");
    check(after > 0 && after < part * first, "errors are in proportion to elements");
    check(has_zeros(), "zeros stay zeros");
    check_note("squared error of small elements: %.3g, then %.3g", first, after);
    MPI_Comm_free(&comm);
}

static void test_not_finite(void)
{
    bool right;
    double before, after;
    MPI_Comm comm = begin_with(&before, &right);
    float kept = repeat_input[7];
    size_t lost = 0;

    repeat_input[7] = INFINITY;
    right &= repeat_step(comm, 1);
    repeat_input[7] = kept;
    for (size_t i = 0; i < COUNT; i++)
        lost += isnan(repeat_result[i]);
    check(lost >= 1 && lost <= 4096, "an infinity takes its bucket with it");
    right &= repeat_step(comm, 1);
    after = error_of(1);
    check(right && after < 1.5 * before, "and the history of it goes on");
    MPI_Comm_free(&comm);
}

static void test_scale(float factor)
{
    bool right;
    double before, after;
    MPI_Comm comm = begin_with(&before, &right);

    for (int i = 0; i < 3; i++) {
        right &= repeat_step(comm, factor);
        after = error_of((double)factor);
        check(right && after < 2 * before, "a scale that is %g times as large does no harm",
              (double)factor);
    }
    MPI_Comm_free(&comm);
}

static bool ten_steps(MPI_Comm comm, double *total)
{
    bool right = true;

    for (int i = 0; i < 10; i++) {
        right &= repeat_step(comm, 1);
        for (size_t k = 0; k < COUNT; k++)
            total[k] += (double)repeat_result[k];
    }
    return right;
}

/* The next step of a run whose data is judged, on COMM: of two sums, of elements that are other
 * ones in each step, but the same on all ranks in the first sum if FIRST, and in the second if
 * SECOND. */
static bool judged_step(MPI_Comm comm, bool first, bool second)
{
    static float other[OTHER];
    static uint64_t number;

    fill(++number);
    memcpy(other, repeat_input, sizeof other);
    if (first)
        PMPI_Bcast(other, OTHER, MPI_FLOAT, 0, MPI_COMM_WORLD);
    if (second)
        PMPI_Bcast(repeat_input, COUNT, MPI_FLOAT, 0, MPI_COMM_WORLD);
    PMPI_Allreduce(repeat_input, repeat_exact, COUNT, MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD);
    MPI_Allreduce(MPI_IN_PLACE, other, OTHER, MPI_FLOAT, MPI_SUM, comm);
    return repeat_step(comm, 1);
}

/* The largest error of the second sum in N steps; infinite if a step failed. */
static double judged_steps(MPI_Comm comm, int n, bool first, bool second)
{
    double most = 0;

    for (int i = 0; i < n; i++)
        most = judged_step(comm, first, second) ? fmax(most, error_of(1)) : INFINITY;
    return most;
}

static void test_judged(void)
{
    MPI_Comm comm = repeat_begin();
    double before, other, redone, kept, held, anew, after;

    comms_hint(comm, "cgx_step", "2");
    judged_steps(comm, 2 * STEPS, false, false);
    before = judged_steps(comm, 4, false, false);
    other = judged_steps(comm, 10, true, false);
    redone = judged_steps(comm, 1, false, true);
    kept = judged_steps(comm, 4, false, false);
    held = judged_steps(comm, 3, false, true);
    judged_steps(comm, 4, false, false);
    anew = judged_steps(comm, 4, false, false);
    judged_steps(comm, 2 * STEPS, false, false);
    after = judged_steps(comm, 4, false, false);
    check(before > 0 && other < 1.5 * before,
          "it stays when another sum of the step becomes exact");
    /* Max-min quantised sums then have more error, and uniform ones, which are young again, less.
     */
    check(redone < 1e-9 && kept < 1.5 * before, "it stays where ranks bring the same once");
    check(held < 1e-9 && (anew > 4 * before || anew < before / 4),
          "it is lost where they do three times");
    check(after < 1.5 * before, "and comes back");
    check_note("errors %.3g, %.3g, %.3g, %.3g, %.3g", before, other, redone, anew, after);
    MPI_Comm_free(&comm);
}

static void show_error(void)
{
    bool right;
    double error;
    MPI_Comm comm = begin_with(&error, &right);

    check(right, "the same on all ranks");
    check_note("squared error of small elements: %.3g", error);
    MPI_Comm_free(&comm);
}

int main(int argc, char **argv)
{
    check_begin(&argc, &argv);
    fill(1);
    if (argc > 1 && strcmp(argv[1], "error") == 0) {
        show_error();
        return check_end();
    }
    if (argc > 1 && strcmp(argv[1], "judged") == 0) {
        test_judged();
        return check_end();
    }
    test_gain(argc > 1 ? atof(argv[1]) : 0.1);
    test_not_finite();
    test_scale(1.0f / 1024);
    test_scale(1024);
    repeat_test_again(ten_steps);
    repeat_test_freed();
    return check_end();
}
