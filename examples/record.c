/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

#include "record.h"
#include <errno.h>
#include <mpi.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_TENSORS = 1024, FILE_VERSION = 1, STEPS_OFFSET = 12 };

static struct {
    int first, count, stride; /* count 0: nothing is recorded */
    int step, recorded;
    uint32_t tensors;
    uint64_t sizes[MOST_TENSORS];
    size_t elements, parameters; /* gathered in this step; all */
    float *values;
    const char *name;
    FILE *file;
} record;

static void give_up(const char *why)
{
    fprintf(stderr, "RECORD_GRADIENTS, RECORD_STEPS: %s: %s\n", record.name, why);
    MPI_Abort(MPI_COMM_WORLD, EXIT_FAILURE);
}

static void write_all(const void *data, size_t size, size_t count)
{
    if (fwrite(data, size, count, record.file) != count)
        give_up(strerror(errno));
}

static bool records_this_step(void)
{
    int since = record.step - record.first;

    return since >= 0 && record.recorded < record.count && since % record.stride == 0;
}

/* On rank 0. */
static void read_environment(void)
{
    const char *steps = getenv("RECORD_STEPS");
    int end = 0, *number[] = {&record.first, &record.count, &record.stride};

    record.name = getenv("RECORD_GRADIENTS");
    if (record.name == NULL)
        return;
    record.count = 10;
    record.stride = 10;
    for (int i = 0; steps != NULL && i < 3 && *steps != '\0'; i++, steps += end) {
        if (sscanf(steps, "%9d%n", number[i], &end) != 1)
            break;
        end += steps[end] == ':' && i < 2;
    }
    if ((steps != NULL && *steps != '\0') || record.first < 0 || record.count < 1 ||
        record.stride < 1)
        give_up("the steps are not FIRST:COUNT:STRIDE");
    record.file = fopen(record.name, "wb");
    if (record.file == NULL)
        give_up(strerror(errno));
}

void record_start(size_t parameters)
{
    int rank, chosen[3];

    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    if (rank == 0)
        read_environment();
    chosen[0] = record.first;
    chosen[1] = record.count;
    chosen[2] = record.stride;
    MPI_Bcast(chosen, 3, MPI_INT, 0, MPI_COMM_WORLD);
    record.first = chosen[0];
    record.count = chosen[1];
    record.stride = chosen[2];
    record.parameters = parameters;
    if (record.count > 0 && (record.values = malloc(parameters * sizeof(float))) == NULL)
        give_up("out of memory");
}

void record_gradient(const float *values, int count)
{
    if (record.count == 0 || !records_this_step())
        return;
    if (record.tensors == MOST_TENSORS || (size_t)count > record.parameters - record.elements)
        give_up("more gradients than parameters");
    record.sizes[record.tensors++] = (uint64_t)count;
    memcpy(record.values + record.elements, values, (size_t)count * sizeof *values);
    record.elements += (size_t)count;
}

/* The number of steps is put right in the end, since the program may not get as far. */
static void write_head(int ranks)
{
    uint32_t head[] = {FILE_VERSION, (uint32_t)ranks, 0, record.tensors};

    write_all("CGXG", 4, 1);
    write_all(head, sizeof head, 1);
    write_all(record.sizes, sizeof record.sizes[0], record.tensors);
}

void record_step(void)
{
    int rank, ranks, count = (int)record.elements;

    if (record.count > 0 && records_this_step()) {
        MPI_Comm_rank(MPI_COMM_WORLD, &rank);
        MPI_Comm_size(MPI_COMM_WORLD, &ranks);
        if (rank > 0)
            MPI_Send(record.values, count, MPI_FLOAT, 0, 0, MPI_COMM_WORLD);
        else if (record.recorded == 0)
            write_head(ranks);
        for (int from = 0; rank == 0 && from < ranks; from++) {
            if (from > 0)
                MPI_Recv(record.values, count, MPI_FLOAT, from, 0, MPI_COMM_WORLD,
                         MPI_STATUS_IGNORE);
            write_all(record.values, sizeof *record.values, record.elements);
        }
        record.recorded++;
        record.tensors = 0;
        record.elements = 0;
    }
    record.step++;
}

void record_end(void)
{
    uint32_t steps = (uint32_t)record.recorded;

    free(record.values);
    record.values = NULL;
    record.count = 0;
    if (record.file == NULL)
        return;
    if (steps == 0)
        give_up("no such step was made");
    if (fseek(record.file, STEPS_OFFSET, SEEK_SET) != 0)
        give_up(strerror(errno));
    write_all(&steps, sizeof steps, 1);
    if (fclose(record.file) != 0)
        give_up(strerror(errno));
    record.file = NULL;
}
