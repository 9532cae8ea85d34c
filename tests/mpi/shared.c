/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

/* Sums of ranks that share memory: "shared PART". CGX_TOPOLOGY sets the ranks of a node; if it is
 * not set, all are on one. */

#include <stdatomic.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#include "lib/bound.h"
#include "lib/check.h"

static int per_node; /* ranks */

/* Messages of the library's to ranks of this one's node, and to others; below it, and on
 * communicators whose ranks are in the order of the world's. */
static atomic_uint_fast64_t inside, outside;

int PMPI_Isend(const void *buffer, int count, MPI_Datatype datatype, int destination, int tag,
               MPI_Comm comm, MPI_Request *request)
{
    bool is_local = destination / per_node == check_rank / per_node;

    atomic_fetch_add(is_local ? &inside : &outside, 1);
    return MPI_Isend(buffer, count, datatype, destination, tag, comm, request);
}

/* A sum of COUNT elements on COMM, which has all ranks: right, compressed, the same on all. */
static bool is_right(MPI_Comm comm, size_t count, uint64_t seed)
{
    struct sum sum = {DATA_GAUSSIAN, ELEMENT_FLOAT32, seed, count, SUM_SEPARATE};
    struct judged judged = bound_judge(&sum, comm);

    return judged.right && judged.same && judged.compressed;
}

/* Ranks come to calls at different times, and never wait but in them. */
static void test_hurry(void)
{
    enum { CALLS = 400, COUNT = 40000 };
    struct sum sum = {DATA_GAUSSIAN, ELEMENT_FLOAT32, 0, COUNT, SUM_SEPARATE};
    float *input = check_memory(COUNT * sizeof(float)),
          *result = check_memory(sizeof(float[COUNT]));
    uint64_t digest = 0;

    data_fill(sum.kind, sum.type, 1, check_rank, COUNT, input);
    for (uint64_t call = 0; call < CALLS; call++) {
        struct timespec nap = {0, (long)(data_random(call, (uint64_t)check_rank, 0) % 300000)};
        size_t count = call % 2 == 0 ? COUNT : 3000;

        if (call % 3 == 0)
            nanosleep(&nap, NULL);
        input[call] += (float)call; /* no call has the data of another */
        MPI_Allreduce(input, result, (int)count, MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD);
        digest = digest * 31 + check_digest(result, count * sizeof(float));
    }
    check(check_same(&digest, sizeof digest, MPI_COMM_WORLD),
          "%d calls of ranks that come early and late: the same bytes on all", CALLS);
    check_note("digest %016llx", (unsigned long long)digest);
    free(input);
    free(result);
}

/* ---- messages ---- */

static void test_messages(void)
{
    /* They grow, so that there is new staging memory to share, and are small again at last. */
    static const size_t counts[] = {1024, 9000, 65537, 1000003, 30000};
    bool right = true, local = true, others = true;

    for (size_t i = 0; i < sizeof counts / sizeof counts[0]; i++) {
        uint64_t before = inside, before_others = outside;

        right = is_right(MPI_COMM_WORLD, counts[i], i) && right;
        local = local && inside == before;
        others = others && (outside > before_others) == (per_node < check_size);
    }
    check(right, "right and compressed");
    check(local, "no message of MPI's to a rank of the same node");
    check(others, "and some to others, if there are any");
}

/* ---- waiting ---- */

static double seconds(struct timeval time)
{
    return (double)time.tv_sec + 1e-6 * (double)time.tv_usec;
}

static double used(void)
{
    struct rusage usage;

    getrusage(RUSAGE_SELF, &usage);
    return seconds(usage.ru_utime) + seconds(usage.ru_stime);
}

/* On the clock that all processes of this machine share. */
static double now(void)
{
    struct timespec time;

    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + 1e-9 * (double)time.tv_nsec;
}

/* Rank SLOW comes two seconds late to a call that ranks need not agree on any more. */
static void test_wait(int slow)
{
    bool right = is_right(MPI_COMM_WORLD, 50021, 1) && is_right(MPI_COMM_WORLD, 50021, 2);
    static float buffer[50021], result[50021];
    double came, left, before, burnt;

    PMPI_Barrier(MPI_COMM_WORLD);
    if (check_rank == slow)
        sleep(2);
    came = now();
    before = used();
    MPI_Allreduce(buffer, result, 50021, MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD);
    burnt = used() - before;
    left = now();
    check_note("rank 0 took %.2f s, %.2f s of the processor", left - came, burnt);
    PMPI_Bcast(&came, 1, MPI_DOUBLE, slow, MPI_COMM_WORLD);
    check(right && left > came, "all wait for rank %d", slow);
    check(burnt < 0.7, "and use about a third of the processor at the most");
}

static void test_waits(void)
{
    test_wait(0);
    test_wait(check_size - 1);
}

static bool begin(const char *name)
{
    int ranks = scheme_from_environment(ELEMENT_FLOAT32).per_node;

    (void)name;
    per_node = ranks > 0 ? ranks : check_size;
    return true;
}

int main(int argc, char **argv)
{
    static const struct scene scenes[] = {{"hurry", test_hurry, begin, false},
                                          {"messages", test_messages, begin, false},
                                          {"wait", test_waits, begin, false}};

    return scenes_main(argc, argv, scenes, sizeof scenes / sizeof scenes[0]);
}
