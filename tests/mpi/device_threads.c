/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

/* MPI_THREAD_MULTIPLE: two threads, each with a communicator of its own, sum device buffers at the
 * same time: "device_threads CALLS COUNT". Elements of a bucket are alike, so sums are exact
 * whatever the width. */

#include <pthread.h>
#include <stdlib.h>

#include "../lib/tap.h"
#include "lib/check.h"
#include "lib/device.h"
#include "lib/placed.h"

enum { THREADS = 2, BUCKET = 4096 };

static struct worker {
    pthread_t thread;
    MPI_Comm comm;
    unsigned number, calls;
    size_t count;
    bool ends, right;
} workers[THREADS];

/* The element of rank 0 in buffer BUCKET of call NUMBER; other ranks have multiples of it. */
static float element(const struct worker *worker, unsigned number, size_t at)
{
    return (float)(1 + 100 * worker->number + 7 * number + at / BUCKET % 5);
}

static bool sum(const struct worker *worker, unsigned number, float *values, bool *right)
{
    size_t bytes = worker->count * sizeof *values;
    const float ranks = (float)(check_size * (check_size + 1) / 2);
    void *buffer;
    int code;

    for (size_t i = 0; i < worker->count; i++)
        values[i] = (float)(check_rank + 1) * element(worker, number, i);
    buffer = device_clone(values, bytes);
    code =
        MPI_Allreduce(MPI_IN_PLACE, buffer, (int)worker->count, MPI_FLOAT, MPI_SUM, worker->comm);
    device_download(values, buffer, bytes);
    device_free(buffer);
    for (size_t i = 0; i < worker->count; i++)
        *right = *right && values[i] == ranks * element(worker, number, i);
    return code == MPI_SUCCESS;
}

static void *work(void *argument)
{
    struct worker *worker = argument;
    float *values = check_memory(worker->count * sizeof *values);

    device_open(check_rank);
    worker->ends = worker->right = true;
    /* All ranks get an error, or none does. */
    for (unsigned i = 0; i < worker->calls && worker->ends; i++)
        worker->ends = sum(worker, i, values, &worker->right);
    free(values);
    return NULL;
}

int main(int argc, char **argv)
{
    int level;

    MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &level);
    check_begin(&argc, &argv);
    if (!check_has(level == MPI_THREAD_MULTIPLE, "two threads", "no MPI_THREAD_MULTIPLE") ||
        !place_begin("device buffers", false))
        return check_end();
    for (unsigned i = 0; i < THREADS; i++) {
        workers[i] = (struct worker){.number = i,
                                     .calls = argc > 1 ? (unsigned)atoi(argv[1]) : 10,
                                     .count = argc > 2 ? strtoul(argv[2], NULL, 10) : 20011};
        MPI_Comm_dup(MPI_COMM_WORLD, &workers[i].comm);
        MPI_Comm_set_errhandler(workers[i].comm, MPI_ERRORS_RETURN);
    }
    for (unsigned i = 0; i < THREADS; i++)
        pthread_create(&workers[i].thread, NULL, work, &workers[i]);
    for (unsigned i = 0; i < THREADS; i++)
        pthread_join(workers[i].thread, NULL);
    for (unsigned i = 0; i < THREADS; i++) {
        check(workers[i].ends, "thread %u: no call fails", i);
        check(workers[i].right, "thread %u: sums are right", i);
        MPI_Comm_free(&workers[i].comm);
    }
    return check_end();
}
