/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

/* Ranks check data that proves nothing. Buffers are in host memory, or on devices if the argument
 * is "device". Every part has a communicator of its own. */

#include <math.h>
#include <stdlib.h>

#include "lib/check.h"
#include "lib/device.h"
#include "lib/sums.h"

enum { STEPS = 30, CALLS = 3 };

static const size_t counts[CALLS] = {16384, 65536, 20000};
static void *on_device; /* room for the largest; NULL: buffers are in host memory */

/* What the ranks put into a call. */
enum input {
    INPUT_GRADIENTS,
    INPUT_ALIKE,
    INPUT_NAN,
    INPUT_ZEROS,
    INPUT_GATHERED,
    INPUT_VARIANCES
};

/* Each rank's elements of a state that moves by a tenth in each step. */
static void gather(size_t count, float *values)
{
    float *state = check_memory(count * sizeof(float));

    data_fill(DATA_GAUSSIAN, ELEMENT_FLOAT32, UINT64_MAX, 0, count, state);
    for (size_t i = 0; i < count; i++)
        values[i] = i % (size_t)check_size == (size_t)check_rank ? state[i] + values[i] / 10 : 0;
    free(state);
}

static void fill(enum input input, int step, size_t count, float *values)
{
    int rank = input == INPUT_GRADIENTS || input == INPUT_VARIANCES ? check_rank : 0;

    data_fill(input == INPUT_ZEROS ? DATA_ZEROS : DATA_GAUSSIAN, ELEMENT_FLOAT32, (uint64_t)step,
              rank, count, values);
    /* One in every bucket, so that whatever is looked at has some. */
    for (size_t i = 0; input == INPUT_NAN && i < count; i += 64)
        values[i] = NAN;
    if (input == INPUT_GATHERED)
        gather(count, values);
    for (size_t i = 0; input == INPUT_VARIANCES && i < count; i++)
        values[i] *= values[i];
}

static void sum_in_place(float *values, size_t count, MPI_Comm comm)
{
    size_t bytes = count * sizeof(float);

    if (on_device)
        device_upload(on_device, values, bytes);
    MPI_Allreduce(MPI_IN_PLACE, on_device ? on_device : values, (int)count, MPI_FLOAT, MPI_SUM,
                  comm);
    if (on_device)
        device_download(values, on_device, bytes);
}

/* One sum in place; whether it gave the bits of PMPI_Allreduce. */
static bool call(MPI_Comm comm, enum input input, int step, size_t count)
{
    float *sum = check_memory(count * sizeof(float)), *exact = check_memory(count * sizeof(float));
    bool equal;

    fill(input, step, count, sum);
    fill(input, step, count, exact);
    PMPI_Allreduce(MPI_IN_PLACE, exact, (int)count, MPI_FLOAT, MPI_SUM, comm);
    sum_in_place(sum, count, comm);
    equal = memcmp(sum, exact, count * sizeof(float)) == 0;
    free(sum);
    free(exact);
    return equal;
}

/* CALLS of the step BEGIN to END - 1; how many were exact. */
static int steps(MPI_Comm comm, enum input input, int begin, int end, int calls)
{
    int exact = 0;

    for (int step = begin; step < end; step++) {
        for (int i = 0; i < calls; i++)
            exact += call(comm, input, step, counts[i]);
    }
    return exact;
}

static MPI_Comm told(void)
{
    MPI_Comm comm;

    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    comms_hint(comm, "cgx_step", "3");
    return comm;
}

static void test_nothing_known(enum input input, const char *name)
{
    MPI_Comm comm = told();
    uint64_t before = traffic_messages();
    int exact = steps(comm, input, 0, STEPS, CALLS);

    check(exact == STEPS * CALLS && traffic_messages() == before, "%s: all calls are exact", name);
    /* They have come to look at one step in 16. */
    exact = steps(comm, INPUT_GRADIENTS, STEPS, STEPS + 20, CALLS);
    check(exact < 20 * CALLS, "%s: gradients that follow are compressed", name);
    MPI_Comm_free(&comm);
}

/* Weights in the places of gradients that are compressed already, more and more often. */
static void test_weights_after_gradients(void)
{
    MPI_Comm comm = told();

    check(steps(comm, INPUT_GRADIENTS, 0, STEPS, CALLS) < STEPS * CALLS,
          "gradients are compressed");
    check(steps(comm, INPUT_ALIKE, STEPS, 2 * STEPS, CALLS) == STEPS * CALLS,
          "weights that follow are exact, from the first on");
    MPI_Comm_free(&comm);
}

static void test_exact(enum input input, const char *name)
{
    MPI_Comm comm = told();

    check(steps(comm, input, 0, STEPS, CALLS) == STEPS * CALLS, "%s: all calls are exact", name);
    MPI_Comm_free(&comm);
}

int main(int argc, char **argv)
{
    check_begin(&argc, &argv);
    if (argc > 1) {
        if (!place_begin("device buffers", false))
            return check_end();
        on_device = device_alloc(counts[1] * sizeof(float));
    }
    test_nothing_known(INPUT_NAN, "NaN");
    test_nothing_known(INPUT_ZEROS, "zeros");
    test_weights_after_gradients();
    test_exact(INPUT_GATHERED, "data that is gathered");
    test_exact(INPUT_VARIANCES, "variances");
    if (on_device)
        device_free(on_device);
    return check_end();
}
