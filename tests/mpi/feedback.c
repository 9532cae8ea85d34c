/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

/* CGX_ERROR_FEEDBACK with host buffers, in steps of one call: "feedback [RATIO]". Each rank puts in
 * the same elements again and again: what a step has lost comes with the next, so that the mean of
 * the results comes nearer and nearer to the sum. */

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "lib/check.h"
#include "lib/comms.h"
#include "lib/data.h"

enum { COUNT = 20011, WARM = 6, STEPS = 60 };

static float input[COUNT], result[COUNT], exact[COUNT];
static double total[COUNT];

static MPI_Comm begin(void)
{
    MPI_Comm comm = comms_new();

    comms_hint(comm, "cgx_step", "1");
    data_fill(DATA_GAUSSIAN, ELEMENT_FLOAT32, 1, check_rank, COUNT, input);
    PMPI_Allreduce(input, exact, COUNT, MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD);
    return comm;
}

/* One step, of the input times FACTOR. */
static bool step(MPI_Comm comm, float factor)
{
    for (size_t i = 0; i < COUNT; i++)
        result[i] = input[i] * factor;
    return MPI_Allreduce(MPI_IN_PLACE, result, COUNT, MPI_FLOAT, MPI_SUM, comm) == MPI_SUCCESS &&
           check_same(result, sizeof result, MPI_COMM_WORLD);
}

static bool warm_up(MPI_Comm comm)
{
    bool right = true;

    for (int i = 0; i < WARM; i++)
        right &= step(comm, 1);
    return right;
}

/* The squared error of TOTAL, of N results, relative to the sum, of elements that are finite. */
static double error_of(const double *results, double n)
{
    double error = 0, power = 0;

    for (size_t i = 0; i < COUNT; i++) {
        double apart = results[i] / n - (double)exact[i];

        if (!isfinite(apart))
            continue;
        error += apart * apart;
        power += (double)exact[i] * (double)exact[i];
    }
    return error / power;
}

/* The same of the mean of N steps. */
static double mean_error(MPI_Comm comm, int n, bool *right)
{
    memset(total, 0, sizeof total);
    for (int k = 0; k < n; k++) {
        *right &= step(comm, 1);
        for (size_t i = 0; i < COUNT; i++)
            total[i] += (double)result[i];
    }
    return error_of(total, n);
}

/* Of one result, of the input times FACTOR. */
static double error_at(double factor)
{
    for (size_t i = 0; i < COUNT; i++)
        total[i] = (double)result[i] / factor;
    return error_of(total, 1);
}

static void test_mean(double ratio)
{
    MPI_Comm comm = begin();
    bool right = warm_up(comm);
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
    MPI_Comm comm = begin();
    bool right = warm_up(comm);
    float kept = input[7];
    size_t lost = 0;
    double after;

    right &= step(comm, 1);
    input[7] = NAN;
    right &= step(comm, 1);
    input[7] = kept;
    for (size_t i = 0; i < COUNT; i++)
        lost += isnan(result[i]);
    check(lost >= 1 && lost <= 1024, "a NaN takes its bucket with it");
    after = mean_error(comm, STEPS, &right);
    check(right && after < 2e-3, "and what is kept of it goes on");
    MPI_Comm_free(&comm);
}

static void test_scale(float factor)
{
    MPI_Comm comm = begin();
    bool right = warm_up(comm);
    double first, after;

    for (int i = 0; i < 10; i++)
        right &= step(comm, 1);
    right &= step(comm, factor);
    first = error_at((double)factor);
    right &= step(comm, factor);
    after = error_at((double)factor);
    /* What is kept is no more than what it is added to, on each rank and in the sum. */
    check(right && first < 4 && after < 2, "a scale that is %g times as large does no harm",
          (double)factor);
    check_note("error relative to the sum %.3g, then %.3g", first, after);
    MPI_Comm_free(&comm);
}

static void test_again(void)
{
    uint64_t digests[2];
    bool right = true;

    for (int run = 0; run < 2; run++) {
        MPI_Comm comm = begin();

        right &= warm_up(comm);
        (void)mean_error(comm, 10, &right);
        digests[run] = check_digest(total, sizeof total);
        MPI_Comm_free(&comm);
    }
    check(right && digests[0] == digests[1], "the same steps have the same results again");
}

static void test_freed(void)
{
    bool right = true;
    long before = 0, after;

    for (int run = 0; run < 40; run++) {
        MPI_Comm comm = begin();

        right &= warm_up(comm);
        MPI_Comm_free(&comm);
        if (run == 9)
            before = check_resident();
    }
    after = check_resident();
    check(right && after < before + 1024, "communicators that are freed leave nothing behind");
    check_note("%ld KiB resident, then %ld", before, after);
}

int main(int argc, char **argv)
{
    check_begin(&argc, &argv);
    test_mean(argc > 1 ? atof(argv[1]) : 0.02);
    test_not_finite();
    test_scale(1.0f / 1024);
    test_scale(1024);
    test_again();
    test_freed();
    return check_end();
}
