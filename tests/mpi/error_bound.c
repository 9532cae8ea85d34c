/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

/* Sums with CGX_CODEC=uniform:E, "error_bound E": of fields as in simulations, of noise, of
 * elements of all magnitudes and of elements that are not finite. No element is off by more than E
 * and the rounding of additions. Data that has no codes takes no more bytes than its elements. */

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "lib/check.h"
#include "lib/data.h"
#include "lib/traffic.h"

enum { SIDE = 66, COUNT = SIDE * SIDE * SIDE };

static float *values, *output;
static double *exact, *magnitude; /* the sums, and those of magnitudes */
static double bound;

/* ---- data, of element I of RANK ---- */

static double waves(int rank, size_t i)
{
    double x = (double)(i % SIDE), y = (double)(i / SIDE % SIDE), z = (double)(i / SIDE / SIDE);

    return sin(0.1 * x + rank) * cos(0.07 * y) + 0.3 * sin(0.13 * z + 0.05 * y * rank);
}

static double bump(int rank, size_t i)
{
    double x = (double)(i % SIDE) - 20 - 3 * rank, y = (double)(i / SIDE % SIDE) - 30,
           z = (double)(i / SIDE / SIDE) - 33;

    return 2 * exp(-(x * x + y * y + z * z) / 300);
}

/* Of smaller and smaller waves. */
static double turbulence(int rank, size_t i)
{
    double x = (double)(i % SIDE), y = (double)(i / SIDE % SIDE), z = (double)(i / SIDE / SIDE);
    double sum = 0;

    for (int k = 1; k <= 16; k *= 2)
        sum += sin(0.05 * k * (x + y * (k % 3)) + rank * k) * cos(0.05 * k * z) / pow(k, 5.0 / 3);
    return sum;
}

static double noise(int rank, size_t i)
{
    return (double)(int64_t)data_random(7, (uint64_t)rank, i) * 0x1p-63 * 1e30;
}

static double magnitudes(int rank, size_t i)
{
    return data_value(DATA_SCALES, ELEMENT_FLOAT32, 3, rank, i);
}

static double tiny(int rank, size_t i)
{
    return data_value(DATA_TINY, ELEMENT_FLOAT32, 3, rank, i);
}

static double nonfinite(int rank, size_t i)
{
    return data_value(DATA_NONFINITE, ELEMENT_FLOAT32, 5, rank, i);
}

/* ---- sums ---- */

static void prepare(double (*value)(int rank, size_t i))
{
    memset(exact, 0, COUNT * sizeof *exact);
    memset(magnitude, 0, COUNT * sizeof *magnitude);
    for (int rank = 0; rank < check_size; rank++)
        for (size_t i = 0; i < COUNT; i++) {
            float x = (float)value(rank, i);

            exact[i] += (double)x;
            magnitude[i] += fabs((double)x);
            if (rank == check_rank)
                values[i] = x;
        }
}

/* By how much of what it may be the worst element is off; infinite where it is no number and the
 * sum is one, or the other way round. */
static double worst(void)
{
    double most = 0;

    for (size_t i = 0; i < COUNT; i++) {
        double rounding = check_size * 0x1p-24 * magnitude[i];
        double off = fabs((double)output[i] - exact[i]) / (bound + rounding);

        if (isfinite(exact[i]) != isfinite((double)output[i]))
            return INFINITY;
        most = off > most ? off : most;
    }
    return most;
}

static void test(const char *name, double (*value)(int rank, size_t i))
{
    double most = 0, bytes = 0, all;
    bool same = true;

    prepare(value);
    for (int call = 0; call < 4; call++) {
        uint64_t before = traffic_bytes(), sent;

        MPI_Allreduce(values, output, COUNT, MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD);
        sent = traffic_bytes() - before;
        PMPI_Allreduce(MPI_IN_PLACE, &sent, 1, MPI_UINT64_T, MPI_SUM, MPI_COMM_WORLD);
        bytes = (double)sent;
        most = fmax(most, worst());
        same = check_same(output, sizeof *output * COUNT, MPI_COMM_WORLD) && same;
    }
    all = 2.0 * (check_size - 1) * COUNT * sizeof *values;
    check(most <= 1, "%s: each element is within %g (the worst at %.3f of it)", name, bound, most);
    check(same, "%s: the same on all ranks", name);
    check(bytes > 0 && bytes < 1.04 * all, "%s: compressed, to %.3f of the elements' bytes", name,
          bytes / all);
}

int main(int argc, char **argv)
{
    bound = argc > 1 ? atof(argv[1]) : 0.01;
    check_begin(&argc, &argv);
    exact = check_memory(COUNT * sizeof *exact);
    magnitude = check_memory(COUNT * sizeof *magnitude);
    values = check_memory(COUNT * sizeof *values);
    output = check_memory(COUNT * sizeof *output);
    test("waves", waves);
    test("a bump", bump);
    test("turbulence", turbulence);
    test("noise", noise);
    test("all magnitudes", magnitudes);
    test("subnormal numbers", tiny);
    test("no numbers", nonfinite);
    free(exact);
    free(magnitude);
    free(values);
    free(output);
    return check_end();
}
