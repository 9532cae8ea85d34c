/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

/* MPI_THREAD_MULTIPLE: two threads, each with a communicator of its own, sum at the same time. */

#include <pthread.h>
#include <stdlib.h>

#include "../lib/tap.h"
#include "lib/bound.h"
#include "lib/check.h"
#include "lib/sum.h"

#define CALLS 60

struct worker {
    pthread_t thread;
    MPI_Comm comm;
    uint64_t seed;
    size_t count;
    bool good;
    bool within; /* judged when the threads have ended */
    float *results;
};

static void *work(void *argument)
{
    struct worker *worker = argument;

    for (uint64_t i = 0; i < CALLS; i++) {
        struct sum sum = {DATA_GAUSSIAN, ELEMENT_FLOAT32, worker->seed + i, worker->count,
                          (enum sum_shape)(i % SUM_SHAPES)};

        worker->good =
            sum_reduce(&sum, worker->comm, worker->results + i * worker->count) && worker->good;
    }
    return NULL;
}

static void judge(struct worker *worker)
{
    struct scheme scheme = scheme_from_environment(ELEMENT_FLOAT32);

    for (uint64_t i = 0; i < CALLS; i++) {
        float *result = worker->results + i * worker->count;

        if (!check_same(result, worker->count * sizeof(float), worker->comm))
            worker->good = false;
        if (!bound_compressed(&scheme, DATA_GAUSSIAN, worker->seed + i, worker->count, result,
                              worker->comm))
            worker->within = false;
    }
}

int main(int argc, char **argv)
{
    struct worker workers[2] = {{.seed = 1000, .count = 5003}, {.seed = 2000, .count = 20011}};
    int level;

    MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &level);
    check_begin(&argc, &argv);
    if (level < MPI_THREAD_MULTIPLE) {
        if (check_rank == 0)
            skip("two threads", "the MPI has no MPI_THREAD_MULTIPLE");
        return check_end();
    }
    for (int t = 0; t < 2; t++) {
        workers[t].good = workers[t].within = true;
        workers[t].results = check_memory(CALLS * workers[t].count * sizeof(float));
        MPI_Comm_dup(MPI_COMM_WORLD, &workers[t].comm);
    }
    for (int t = 0; t < 2; t++)
        pthread_create(&workers[t].thread, NULL, work, &workers[t]);
    for (int t = 0; t < 2; t++)
        pthread_join(workers[t].thread, NULL);
    for (int t = 0; t < 2; t++) {
        judge(&workers[t]);
        check(workers[t].good, "thread %d: the same bytes on all ranks", t);
        check(workers[t].within, "thread %d: compressed, and within the bound", t);
        MPI_Comm_free(&workers[t].comm);
        free(workers[t].results);
    }
    return check_end();
}
