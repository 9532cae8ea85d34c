/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

/* Sums with CGX_CODEC=uniform. "uniform HOPS [STEPS [device]]": steps of two calls, of a large
 * buffer and of one that is a hundred times smaller in magnitude and has zeros. At the end both
 * have the same quantisation step, and together the error of the width that is set; in sums that
 * are quantised HOPS times, HOPS times as much. On a device sums are to the bit those of the same
 * calls with host buffers. "uniform history [judged]": CGX_HISTORY with host buffers, in steps of
 * one call. Some elements are large, always the same ones. After some steps their neighbours have
 * an error of their own size; judged: in steps of two calls, whose data is judged. */

#define _GNU_SOURCE /* MAP_ANONYMOUS */

#include <math.h>
#include <stdlib.h>
#include <sys/mman.h>

#include "lib/check.h"
#include "lib/device.h"
#include "lib/sums.h"

#define COUNT 150003
#define QUIET 120001 /* elements of the quiet buffer: calls are told apart by their counts */
#define ZEROS 8192   /* from element 1024 on */

static double expected[COUNT];
static float *values, output[COUNT]; /* of this rank, or of another; and the sums */
static void *device[2];              /* both, on a device; NULL: sums are of host memory */
static MPI_Comm comms[2];   /* of device buffers, and of the same calls with host buffers, ... */
static float twin[COUNT];   /* ... whose sums are these, ... */
static bool is_twin = true; /* ... and have been equal so far */

/* COUNT elements, with no memory behind them. */
static float *at_end_of_memory(void)
{
    size_t page = 1 << 16, bytes = (COUNT * sizeof(float) + page - 1) / page * page;
    char *memory =
        mmap(NULL, bytes + page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

    if (memory == MAP_FAILED || mprotect(memory + bytes, page, PROT_NONE) != 0)
        abort();
    return (float *)(void *)(memory + bytes) - COUNT;
}

/* Normally distributed values: each rank makes the elements of all, so many that to compute each
 * took most of the test's time. */
enum { NORMAL = 1 << 16 };
static double normal[NORMAL];

/* The elements of RANK, and their squares. */
static double fill(int rank, unsigned step, double scale, size_t count)
{
    uint64_t stream = 2 * (uint64_t)step + (scale < 1);
    double squares = 0;

    for (size_t i = 0; i < COUNT; i++) {
        double x = normal[data_random(stream, (uint64_t)rank, i) % NORMAL] * scale;

        values[i] = i >= 1024 && i < 1024 + ZEROS ? 0 : (float)x;
    }
    for (size_t i = 0; i < count; i++)
        squares += (double)values[i] * (double)values[i];
    return squares;
}

static void allreduce(size_t count)
{
    MPI_Allreduce(values, device[0] ? twin : output, (int)count, MPI_FLOAT, MPI_SUM,
                  device[0] ? comms[1] : MPI_COMM_WORLD);
    if (!device[0])
        return;
    device_upload(device[0], values, count * sizeof *values);
    MPI_Allreduce(device[0], device[1], (int)count, MPI_FLOAT, MPI_SUM, comms[0]);
    device_download(output, device[1], count * sizeof *output);
    is_twin = is_twin && memcmp(output, twin, count * sizeof *output) == 0;
}

struct totals {
    double error, squares; /* of results, and of all that is quantised on their way */
    /* The sums of errors and of their products with the sums that they are of, and of the squares
     * of the latter: those of unbiased errors are about the roots of their squares. */
    double mean, shrunk, shrunk_squares;
    bool same, zeros;
};

/* Sums COUNT elements that are SCALE loud. */
static void sum(unsigned step, double scale, size_t count, struct totals *totals)
{
    memset(expected, 0, sizeof expected);
    for (int rank = 0; rank < check_size; rank++) {
        totals->squares += fill(rank, step, scale, count);
        for (size_t i = 0; i < count; i++)
            expected[i] += (double)values[i];
    }
    fill(check_rank, step, scale, count);
    allreduce(count);
    for (size_t i = 0; i < count; i++) {
        double error = (double)output[i] - expected[i];

        totals->error += error * error;
        totals->mean += error;
        totals->shrunk += error * expected[i];
        totals->shrunk_squares += error * expected[i] * error * expected[i];
        totals->squares += expected[i] * expected[i];
        if (i >= 1024 && i < 1024 + ZEROS)
            totals->zeros = totals->zeros && output[i] == 0;
    }
    totals->same = check_same(output, count * sizeof *output, MPI_COMM_WORLD) && totals->same;
}

/* The sums of STEP, which nothing is compared with: to compute those of all ranks takes longer. */
static void pass(unsigned step)
{
    fill(check_rank, step, 1, COUNT);
    allreduce(COUNT);
    fill(check_rank, step, 0.01, QUIET);
    allreduce(QUIET);
}

/* Sums of elements that do not change, with the other calls of the step between them. The square of
 * all errors together is the sum of their squares if they are independent, less if they cancel each
 * other. Sums that are judged become exact. */
static void test_still(void)
{
    enum { BEFORE = 16, CALLS = 34 };
    double *errors = check_memory(COUNT * sizeof *errors);
    double apart = 0, together = 0;

    memset(errors, 0, COUNT * sizeof *errors);
    memset(expected, 0, sizeof expected);
    for (int rank = 0; rank < check_size; rank++) {
        fill(rank, 1000, 1, COUNT);
        for (size_t i = 0; i < COUNT; i++)
            expected[i] += (double)values[i];
    }
    fill(check_rank, 1000, 1, COUNT);
    for (int call = 0; call < BEFORE + CALLS; call++) {
        allreduce(COUNT);
        for (size_t i = 0; call >= BEFORE && i < COUNT; i++) {
            double error = (double)output[i] - expected[i];

            apart += error * error;
            errors[i] += error;
        }
        allreduce(QUIET);
    }
    for (size_t i = 0; i < COUNT; i++)
        together += errors[i] * errors[i];
    check(together < 0.3 * apart || apart < 1e-6 * COUNT,
          "errors of elements that do not change cancel each other (%.3f)", together / apart);
    free(errors);
}

/* What one rank brings that is no number, or is far beyond all others. */
static void test_special(unsigned step)
{
    bool kept;

    fill(check_rank, step, 1, COUNT);
    if (check_rank == check_size - 1) {
        values[5] = NAN;
        values[20000] = 30000;
    }
    values[70000] = check_rank == 0 ? INFINITY : 1;
    allreduce(COUNT);
    kept = isnan(output[5]) && !isfinite(output[70000]) && fabsf(output[20000] - 30000) < 200 &&
           isfinite(output[40000]);
    check(kept, "NaN, infinities and what is far beyond the step are kept");
    check(check_same(output, COUNT * sizeof *output, MPI_COMM_WORLD), "the same on all ranks");
}

/* The error of a sum in the step after one with a huge element, as a share of what is WANTED. */
static void test_after_outlier(unsigned step, double wanted)
{
    struct totals after = {.same = true};

    fill(check_rank, step, 0.01, QUIET);
    allreduce(QUIET);
    fill(check_rank, step, 1, COUNT);
    values[30000] = check_rank == 0 ? 1e15f : 1;
    allreduce(COUNT);
    fill(check_rank, step, 0.01, QUIET);
    allreduce(QUIET);
    sum(step + 1, 1, COUNT, &after);
    check(after.same && after.error < 3 * wanted * after.squares,
          "the sum after one with a huge element is as good as others (%.3g of the error)",
          after.error / after.squares / wanted);
}

/* ---- history ---- */

enum { LENGTH = 20011, OTHER = 18000, STEPS = 40, ZERO = 5 /* of 7 */ };

/* What a rank puts in, what came of it last, and the exact sum. */
static float input[LENGTH], result[LENGTH], exact[LENGTH];

/* Every 16th is large. */
static float magnitude(size_t i)
{
    return i % 7 == ZERO ? 0.0f : i % 16 == 0 ? 64.0f : 1.0f;
}

static void fill_unlike(uint64_t seed)
{
    data_fill(DATA_GAUSSIAN, ELEMENT_FLOAT32, seed, check_rank, LENGTH, input);
    for (size_t i = 0; i < LENGTH; i++)
        input[i] *= magnitude(i);
}

/* The squared error of the small elements of the last result, relative to them. */
static double error_of(void)
{
    double error = 0, power = 0;

    for (size_t i = 0; i < LENGTH; i++) {
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
    PMPI_Allreduce(input, exact, LENGTH, MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD);
    return comm;
}

/* N steps. False: one failed, or ranks have different results. */
static bool steps(MPI_Comm comm, int n)
{
    bool right = true;

    for (int i = 0; i < n; i++) {
        memcpy(result, input, sizeof result);
        right &=
            MPI_Allreduce(MPI_IN_PLACE, result, LENGTH, MPI_FLOAT, MPI_SUM, comm) == MPI_SUCCESS;
        right &= check_same(result, sizeof result, MPI_COMM_WORLD);
    }
    return right;
}

static bool has_zeros(void)
{
    for (size_t i = ZERO; i < LENGTH; i += 7)
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

    fill_unlike(++number);
    memcpy(other, input, sizeof other);
    if (first)
        PMPI_Bcast(other, OTHER, MPI_FLOAT, 0, MPI_COMM_WORLD);
    if (second)
        PMPI_Bcast(input, LENGTH, MPI_FLOAT, 0, MPI_COMM_WORLD);
    PMPI_Allreduce(input, exact, LENGTH, MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD);
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
    static const double errors[] = {0.570796,   0.133121, 0.0358197, 0.00963036,
                                    0.00252155, 6.5e-4,   1.6e-4,    3.5e-5};
    const char *set = getenv("CGX_COMPRESSION_QUANTIZATION_BITS");
    double share = 0, most = 0, hops = argc > 1 ? atof(argv[1]) : 1,
           wanted = errors[(set ? atoi(set) : 4) - 1];
    unsigned steps = argc > 2 ? (unsigned)atoi(argv[2]) : 12;
    struct totals loud = {.same = true, .zeros = true};
    bool same = true, zeros = true;

    check_begin(&argc, &argv);
    if (argc > 1 && strcmp(argv[1], "history") == 0) {
        fill_unlike(1);
        argc > 2 ? test_judged() : test_gain();
        return check_end();
    }
    data_values(DATA_GAUSSIAN, ELEMENT_FLOAT32, 1, 0, 0, NORMAL, normal);
    values = at_end_of_memory();
    if (argc > 3 && !place_begin("device buffers", false))
        return check_end();
    for (int i = 0; argc > 3 && i < 2; i++) {
        device[i] = device_alloc(COUNT * sizeof *values);
        comms[i] = comms_new();
        comms_hint(comms[i], "cgx_step", "2");
    }
    for (unsigned step = 0; step < steps; step++) {
        struct totals now = loud, quiet = {.same = true, .zeros = true};

        if (step >= 12 && step + 8 < steps) {
            pass(step);
            continue;
        }
        sum(step, 1, COUNT, &loud);
        now.error = loud.error - now.error;
        now.squares = loud.squares - now.squares;
        sum(step, 0.01, QUIET, &quiet);
        same = same && loud.same && quiet.same;
        zeros = zeros && loud.zeros && quiet.zeros;
        if (step >= steps - 4)
            share += (now.error + quiet.error) / (now.squares + quiet.squares) / wanted / 4;
        most = fmax(most, quiet.error / quiet.squares / wanted);
    }
    check(same, "all sums are the same on all ranks");
    check(zeros, "where all ranks have zeros sums are zero");
    /* From 3 bits on quiet sums have smaller steps: the error is that of others. */
    check(share > (wanted < 0.1 ? 0.35 : 0.6) && share < 1.1 * hops,
          "the error is that of the width (%.3f of it)", share);
    check(wanted > 0.1 || most < 10 * hops, "and at most ten times that (%.2f) in a quiet buffer",
          most);
    check(fabs(loud.mean) < 5 * sqrt(loud.error), "the mean of all errors is 0 (%.1f deviations)",
          loud.mean / sqrt(loud.error));
    check(fabs(loud.shrunk) < 5 * sqrt(loud.shrunk_squares),
          "and they do not depend on the sums (%.1f deviations)",
          loud.shrunk / sqrt(loud.shrunk_squares));
    test_still();
    test_special(steps);
    test_after_outlier(steps + 1, hops * wanted);
    if (device[0])
        check(is_twin, "sums of device and host buffers are equal");
    for (int i = 0; device[0] && i < 2; i++) {
        device_free(device[i]);
        MPI_Comm_free(&comms[i]);
    }
    return check_end();
}
