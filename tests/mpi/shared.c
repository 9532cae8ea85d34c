/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

/* Sums of ranks that share memory: "shared PART [FILE]", "shared kill DIRECTORY". CGX_TOPOLOGY sets
 * the ranks of a node; if it is not set, all are on one. With a FILE, results go there, and the
 * program ends without MPI_Finalize, since some MPIs hang in it on slow transports, and launchers
 * may drop output after it. */

#include <dirent.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#include "../lib/tap.h"
#include "lib/bound.h"
#include "lib/check.h"
#include "lib/sum.h"

#define SEGMENT "memfd:cgxpmpi"

static struct scheme scheme;
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

/* ---- results ---- */

/* They grow, so that there is new staging memory to share, and are small again at last. */
static const size_t counts[] = {1024, 9000, 65537, 1000003, 30000};
#define COUNTS (sizeof counts / sizeof counts[0])

/* Digests let runs be compared. */
static void test_sums(void)
{
    static const enum sum_shape shapes[] = {SUM_SEPARATE, SUM_IN_PLACE, SUM_MIXED};
    uint64_t digests[3] = {0, 0, 0};

    for (int s = 0; s < 3; s++) {
        bool same = true, right = true;
        MPI_Comm comm;

        MPI_Comm_dup(MPI_COMM_WORLD, &comm);
        for (size_t i = 0; i < COUNTS; i++) {
            struct sum sum = {DATA_GAUSSIAN, ELEMENT_FLOAT32, i, counts[i], shapes[s]};
            size_t bytes = counts[i] * sizeof(float);
            float *result = check_memory(bytes);

            same = sum_reduce(&sum, comm, result) && same;
            same = check_same(result, bytes, comm) && same;
            right =
                (s > 0 || bound_compressed(&scheme, sum.kind, i, counts[i], result, comm)) && right;
            digests[s] = digests[s] * 31 + check_digest(result, bytes);
            free(result);
        }
        MPI_Comm_free(&comm);
        check(same, "%s: the same bytes on all ranks", sum_shape_name(shapes[s]));
        if (s == 0)
            check(right, "compressed, and within the bound");
        else
            check(digests[s] == digests[0], "%s: as with separate buffers",
                  sum_shape_name(shapes[s]));
    }
    check_note("digest %016llx", (unsigned long long)digests[0]);
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
    bool right = true, local = true, others = true;

    for (size_t i = 0; i < COUNTS; i++) {
        uint64_t before = inside, before_others = outside;

        right = is_right(MPI_COMM_WORLD, counts[i], i) && right;
        local = local && inside == before;
        others = others && (outside > before_others) == (per_node < check_size);
    }
    check(right, "right and compressed");
    check(local, "no message of MPI's to a rank of the same node");
    check(others, "and some to others, if there are any");
}

/* ---- what is kept ---- */

/* Lines of PATH with one string and without another. */
static int count_lines(const char *path, const char *with, const char *without)
{
    FILE *file = fopen(path, "r");
    char line[1024];
    int lines = 0;

    while (file && fgets(line, sizeof line, file))
        lines += strstr(line, with) != NULL && strstr(line, without) == NULL;
    if (file)
        fclose(file);
    return lines;
}

static int count_files(const char *with)
{
    DIR *directory = opendir("/proc/self/fd");
    struct dirent *entry;
    int files = 0;

    while (directory && (entry = readdir(directory))) {
        char path[300], target[256] = "";

        snprintf(path, sizeof path, "/proc/self/fd/%s", entry->d_name);
        files += readlink(path, target, sizeof target - 1) >= 0 && strstr(target, with);
    }
    if (directory)
        closedir(directory);
    return files;
}

/* The page behind a segment, which faults, is none. */
static int mapped(void)
{
    return count_lines("/proc/self/maps", SEGMENT, " ---s ");
}

/* One of three ways to have a communicator, used and freed: true if all was right. */
static bool use_communicator(int round)
{
    bool right, kept;
    MPI_Comm comm;

    if (round % 3 == 2) /* odd and even ranks apart */
        MPI_Comm_split(MPI_COMM_WORLD, check_rank % 2, check_rank, &comm);
    else
        MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    if (round % 3 == 2) {
        float *buffer = calloc(20000, sizeof *buffer);

        right = MPI_Allreduce(MPI_IN_PLACE, buffer, 20000, MPI_FLOAT, MPI_SUM, comm) == MPI_SUCCESS;
        free(buffer);
        kept = count_files(SEGMENT) == 0;
    } else {
        right = is_right(comm, 2000, (uint64_t)round);
        kept = mapped() == per_node && count_files(SEGMENT) == 0;
        right = is_right(comm, 20000, (uint64_t)round) && right;
        kept = kept && mapped() == per_node && count_files(SEGMENT) == 0;
    }
    MPI_Comm_free(&comm);
    return right && kept && mapped() == 0;
}

static void test_leaks(void)
{
    bool right = true;
    int files, maps;

    for (int round = 0; round < 12; round++)
        right = use_communicator(round) && right;
    files = count_files("");
    maps = count_lines("/proc/self/maps", "", " ---s ");
    for (int round = 0; round < 150; round++)
        right = use_communicator(round) && right;
    check(right, "as many mappings as ranks of the node, no open file, and none when freed");
    check(count_files("") == files, "150 communicators later as many files are open");
    check(count_lines("/proc/self/maps", "", " ---s ") < maps + 20, "and as much is mapped");
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

/* ---- an end in mid-job ---- */

/* Leaves the numbers of all processes in DIRECTORY. */
static void test_kill(const char *directory)
{
    static float buffer[50021];
    char name[4096];
    FILE *file;

    snprintf(name, sizeof name, "%s/pid.%d", directory, check_rank);
    file = fopen(name, "w");
    fprintf(file, "%d\n", (int)getpid());
    fclose(file);
    PMPI_Barrier(MPI_COMM_WORLD);
    for (int call = 0; call < 1000; call++) {
        if (call == 20 && check_rank == check_size - 1)
            raise(SIGKILL);
        MPI_Allreduce(MPI_IN_PLACE, buffer, 50021, MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD);
    }
}

int main(int argc, char **argv)
{
    static const struct check_part parts[] = {{"sums", test_sums},
                                              {"hurry", test_hurry},
                                              {"messages", test_messages},
                                              {"leaks", test_leaks},
                                              {"wait", test_waits}};
    bool is_leaving;

    check_begin(&argc, &argv);
    scheme = scheme_from_environment(ELEMENT_FLOAT32);
    per_node = scheme.per_node > 0 ? scheme.per_node : check_size;
    is_leaving = argc > 2 && strcmp(argv[1], "kill") != 0;
    if (is_leaving && check_rank == 0 && !freopen(argv[2], "w", stdout))
        bail_out("%s cannot be written", argv[2]);
    check_parts(parts, sizeof parts / sizeof parts[0], argc > 1 ? argv[1] : "");
    if (argc > 2 && strcmp(argv[1], "kill") == 0)
        test_kill(argv[2]);
    if (is_leaving) {
        int status = check_rank == 0 ? done_testing() : 0;

        fflush(stdout);
        PMPI_Barrier(MPI_COMM_WORLD);
        _exit(status);
    }
    return check_end();
}
