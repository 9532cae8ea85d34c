/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

/* CGX_HISTORY with host buffers, in steps of one call. Some elements are large, always the same
 * ones. After some steps their neighbours have an error of their own size. "history judged": in
 * steps of two calls, whose data is judged. */

#include <math.h>
#include <string.h>

#include "lib/check.h"
#include "lib/comms.h"
#include "lib/data.h"

enum { COUNT = 20011, OTHER = 18000, STEPS = 40, ZERO = 5 /* of 7 */ };

/* What a rank puts in, what came of it last, and the exact sum. */
static float input[COUNT], result[COUNT], exact[COUNT];

/* Every 16th is large. */
static float magnitude(size_t i)
{
    return i % 7 == ZERO ? 0.0f : i % 16 == 0 ? 64.0f : 1.0f;
}

static void fill(uint64_t seed)
{
    data_fill(DATA_GAUSSIAN, ELEMENT_FLOAT32, seed, check_rank, COUNT, input);
    for (size_t i = 0; i < COUNT; i++)
        input[i] *= magnitude(i);
}

/* The squared error of the small elements of the last result, relative to them. */
static double error_of(void)
{
    double error = 0, power = 0;

    for (size_t i = 0; i < COUNT; i++) {
        double apart = (double)result[i] - (double)exact[i];

        if (magnitude(i) != 1)
            continue;
        error += apart * apart;
        power += (double)exact[i] * (double)exact[i];
    }
    return error / power;
}

/* What ranks put in is there: a new communicator whose steps are of one call. */
static MPI_Comm begin(void)
{
    MPI_Comm comm = comms_new();

    comms_hint(comm, "cgx_step", "1");
    PMPI_Allreduce(input, exact, COUNT, MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD);
    return comm;
}

/* N steps. False: one failed, or ranks have different results. */
static bool steps(MPI_Comm comm, int n)
{
    bool right = true;

    for (int i = 0; i < n; i++) {
        memcpy(result, input, sizeof result);
        right &=
            MPI_Allreduce(MPI_IN_PLACE, result, COUNT, MPI_FLOAT, MPI_SUM, comm) == MPI_SUCCESS;
        right &= check_same(result, sizeof result, MPI_COMM_WORLD);
    }
    return right;
}

static bool has_zeros(void)
{
    for (size_t i = ZERO; i < COUNT; i += 7)
        if (result[i] != 0)
            return false;
    return true;
}

static void test_gain(void)
{
    MPI_Comm comm = begin();
    bool right = true;
    double first = 0, after;

    /* The first compressed ones find no history. */
    for (int i = 0; i < STEPS && !(first > 0); i++) {
        right &= steps(comm, 1);
        first = error_of() > 1e-9 ? error_of() : 0;
    }
    right &= steps(comm, STEPS);
    after = error_of();
    check(right, "the same on all ranks");
    check(first > 0, "it is compressed");
    /* The first ones have finer steps. At 6 bits and without history this error is .17. */
    check(after > 0 && after < 0.01, "errors are in proportion to elements");
    check(has_zeros(), "zeros stay zeros");
    check_note("squared error of small elements: %.3g, then %.3g", first, after);
    MPI_Comm_free(&comm);
}

/* The next step of a run whose data is judged, on COMM: of two sums, of elements that are other
 * ones in each step, but the same on all ranks in the first sum if FIRST, and in the second if
 * SECOND. */
static bool judged_step(MPI_Comm comm, bool first, bool second)
{
    static float other[OTHER];
    static uint64_t number;

    fill(++number);
    memcpy(other, input, sizeof other);
    if (first)
        PMPI_Bcast(other, OTHER, MPI_FLOAT, 0, MPI_COMM_WORLD);
    if (second)
        PMPI_Bcast(input, COUNT, MPI_FLOAT, 0, MPI_COMM_WORLD);
    PMPI_Allreduce(input, exact, COUNT, MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD);
    MPI_Allreduce(MPI_IN_PLACE, other, OTHER, MPI_FLOAT, MPI_SUM, comm);
    return steps(comm, 1);
}

/* The largest error of the second sum in N steps; infinite if a step failed. */
static double judged_steps(MPI_Comm comm, int n, bool first, bool second)
{
    double most = 0;

    for (int i = 0; i < n; i++)
        most = judged_step(comm, first, second) ? fmax(most, error_of()) : INFINITY;
    return most;
}

static void test_judged(void)
{
    MPI_Comm comm = begin();
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
    /* Sums that are young again have less error. */
    check(redone < 1e-9 && kept < 1.5 * before, "it stays where ranks bring the same once");
    check(held < 1e-9 && anew < before / 4, "it is lost where they do three times");
    check(after < 1.5 * before, "and comes back");
    check_note("errors %.3g, %.3g, %.3g, %.3g, %.3g", before, other, redone, anew, after);
    MPI_Comm_free(&comm);
}

int main(int argc, char **argv)
{
    check_begin(&argc, &argv);
    fill(1);
    if (argc > 1 && strcmp(argv[1], "judged") == 0) {
        test_judged();
        return check_end();
    }
    test_gain();
    return check_end();
}
