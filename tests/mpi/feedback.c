/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

/* CGX_ERROR_FEEDBACK with host buffers, in steps of one call: "feedback [RATIO]". Each rank
 * contributes the same elements in every step. What a step loses is added to the next, so the mean
 * of the results approaches the sum: after many steps its error is less than RATIO times that after
 * a few. */

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "lib/check.h"
#include "lib/data.h"
#include "lib/repeat.h"

enum { COUNT = REPEAT_COUNT, STEPS = 60 };

static double total[COUNT];

/* The squared error of TOTAL, of N results, relative to the sum, of elements that are finite. */
static double error_of(const double *results, double n)
{
    double error = 0, power = 0;

    for (size_t i = 0; i < COUNT; i++) {
        double apart = results[i] / n - (double)repeat_exact[i];

        if (!isfinite(apart))
            continue;
        error += apart * apart;
        power += (double)repeat_exact[i] * (double)repeat_exact[i];
    }
    return error / power;
}

/* The same of the mean of N steps. */
static double mean_error(MPI_Comm comm, int n, bool *right)
{
    memset(total, 0, sizeof total);
    for (int k = 0; k < n; k++) {
        *right &= repeat_step(comm, 1);
        for (size_t i = 0; i < COUNT; i++)
            total[i] += (double)repeat_result[i];
    }
    return error_of(total, n);
}

/* Of one result, of the input times FACTOR. */
static double error_at(double factor)
{
    for (size_t i = 0; i < COUNT; i++)
        total[i] = (double)repeat_result[i] / factor;
    return error_of(total, 1);
}

static void test_mean(double ratio)
{
    MPI_Comm comm = repeat_begin();
    bool right = repeat_warm_up(comm);
    double few = mean_error(comm, 4, &right), many = mean_error(comm, STEPS, &right);

    check(right, "the same on all ranks");
    check(few > 0, "it is compressed");
    /* Without feedback it falls as the number of steps does, with it as its square. */
    check(many < ratio * few, "errors do not add up");
    check_note("squared error of the mean of 4 results %.3g, of %d %.3g", few, STEPS, many);
    MPI_Comm_free(&comm);
}

static void test_not_finite(void)
{
    MPI_Comm comm = repeat_begin();
    bool right = repeat_warm_up(comm);
    float kept = repeat_input[7];
    size_t lost = 0;
    double after;

    right &= repeat_step(comm, 1);
    repeat_input[7] = NAN;
    right &= repeat_step(comm, 1);
    repeat_input[7] = kept;
    for (size_t i = 0; i < COUNT; i++)
        lost += isnan(repeat_result[i]);
    check(lost >= 1 && lost <= 1024, "a NaN takes its bucket with it");
    after = mean_error(comm, STEPS, &right);
    check(right && after < 2e-3, "and what is kept of it goes on");
    MPI_Comm_free(&comm);
}

/* MOST: of the error of the first result with the other scale. Later ones have what is kept, which
 * at 1 bit is more than what it is added to. */
static void test_scale(float factor, double most)
{
    MPI_Comm comm = repeat_begin();
    bool right = repeat_warm_up(comm);
    double first, after;

    for (int i = 0; i < 10; i++)
        right &= repeat_step(comm, 1);
    right &= repeat_step(comm, factor);
    first = error_at((double)factor);
    for (int i = 0; i < 10; i++)
        right &= repeat_step(comm, factor);
    after = error_at((double)factor);
    check(right && first < most && after < 16,
          "a scale that is %g times as large does harm that is bounded, and soon over",
          (double)factor);
    check_note("error relative to the sum %.3g, after ten steps %.3g", first, after);
    MPI_Comm_free(&comm);
}

static bool ten_steps(MPI_Comm comm, double *sums)
{
    bool right = true;

    (void)mean_error(comm, 10, &right);
    memcpy(sums, total, sizeof total);
    return right;
}

int main(int argc, char **argv)
{
    check_begin(&argc, &argv);
    data_fill(DATA_GAUSSIAN, ELEMENT_FLOAT32, 1, check_rank, COUNT, repeat_input);
    test_mean(argc > 1 ? atof(argv[1]) : 0.02);
    test_not_finite();
    /* Four times what it is added to, in each of up to three quantisations. */
    test_scale(1.0f / 1024, (5 * 5 * 5 - 1) * (5 * 5 * 5 - 1));
    test_scale(1024, 4);
    repeat_test_again(ten_steps);
    repeat_test_freed();
    return check_end();
}
