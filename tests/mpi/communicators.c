/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

/* Communicators of every origin and in great numbers: "communicators PART". Float sums are
 * compressed from the first call on. */

#include <malloc.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "lib/bound.h"
#include "lib/check.h"

/* Whether a sum on COMM is right; *COMPRESSED is set if it sent anything. */
static bool sum_is_right(MPI_Comm comm, size_t count, uint64_t seed, bool *compressed)
{
    struct sum sum = {DATA_GAUSSIAN, ELEMENT_FLOAT32, seed, count,
                      (enum sum_shape)(seed % SUM_SHAPES)};
    uint64_t before = traffic_messages();
    struct judged judged = bound_judge(&sum, comm);

    if (traffic_messages() > before)
        *compressed = true;
    return judged.right && judged.same;
}

/* Calls that never repeat a count, and calls that always do. */
static void test_memory(void)
{
    float *buffer = calloc(40000, sizeof(float));
    uint64_t before;
    long start = 0, grown;

    for (int i = 0; i < 8000; i++) {
        MPI_Allreduce(MPI_IN_PLACE, buffer, 4096 + i, MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD);
        if (i == 2000)
            start = check_private_memory();
    }
    grown = check_private_memory() - start;
    check_note("6000 counts that never repeat: %ld KiB more", grown);
    check(grown < 2048, "counts that never repeat: memory stays bounded");
    before = traffic_messages();
    MPI_Allreduce(MPI_IN_PLACE, buffer, 4096, MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD);
    check(traffic_messages() > before, "counts that never repeat: a call is still compressed");
    free(buffer);
}

/* Sums that are not compressed, by what they are, on COMM. */
static void sum_otherwise(MPI_Comm comm, int way)
{
    static double buffer[20000];
    static const struct {
        int count;
        MPI_Datatype type;
        MPI_Op op;
    } ways[] = {{100, MPI_FLOAT, MPI_SUM},    {15000, MPI_FLOAT, MPI_SUM},
                {20000, MPI_DOUBLE, MPI_SUM}, {20000, MPI_INT, MPI_SUM},
                {20000, MPI_FLOAT, MPI_MAX},  {1, MPI_FLOAT, MPI_SUM}};

    for (int i = 0; i < 3; i++)
        MPI_Allreduce(MPI_IN_PLACE, buffer, ways[way].count, ways[way].type, ways[way].op, comm);
}
#define WAYS 6

static size_t allocated(void)
{
    struct mallinfo2 info = mallinfo2();

    return info.uordblks + info.hblkhd;
}

/* What communicators cost on which nothing is compressed, with default settings, in heap and in
 * all of its private memory. */
static void test_cheap(void)
{
#ifdef __SANITIZE_ADDRESS__
    enum { EACH = 100, HEAP = 4096, PRIVATE = 65536 };
#else
    enum { EACH = 100, HEAP = 4096, PRIVATE = 8192 };
#endif
    MPI_Comm comms[WAYS + 2][EACH];
    MPI_Group group;
    int keyval;

    for (int i = 0; i < (WAYS + 2) * EACH; i++)
        MPI_Comm_dup(MPI_COMM_WORLD, &comms[i / EACH][i % EACH]);
    /* The MPI's own memory, which comes with a communicator's first sums, group and attribute, for
     * all in blocks. */
    PMPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, MPI_COMM_NULL_DELETE_FN, &keyval, NULL);
    for (int i = 0; i < WAYS * (WAYS + 2) * EACH; i++) {
        MPI_Comm comm = comms[i / EACH / WAYS][i / WAYS % EACH];

        PMPI_Allreduce(MPI_IN_PLACE, &(float[20000]){0}, 20000, MPI_FLOAT, MPI_SUM, comm);
        PMPI_Comm_set_attr(comm, keyval, NULL);
        PMPI_Comm_group(comm, &group);
        PMPI_Group_free(&group);
    }
    PMPI_Comm_free_keyval(&keyval);
    sum_otherwise(comms[WAYS + 1][0], 1);
    for (int way = 0; way <= WAYS; way++) {
        size_t before = allocated(), heap;
        long private = check_private_memory();

        for (int i = 0; way < WAYS && i < EACH; i++)
            sum_otherwise(comms[way][i], way);
        heap = (allocated() - before) / EACH;
        private = (check_private_memory() - private) * 1024 / EACH;
        check_note("communicators with %s: %zu bytes each, %ld of private memory",
                   (const char *[]){"float sums of 100 elements", "float sums of 15,000 elements",
                                    "sums of doubles", "sums of integers", "maxima of floats",
                                    "float sums of an element", "no calls"}[way],
                   heap, private);
        check(heap < HEAP && private < PRIVATE, "less than %d bytes, %d of private memory", HEAP,
              PRIVATE);
    }
    for (int i = 0; i < (WAYS + 2) * EACH; i++)
        MPI_Comm_free(&comms[i / EACH][i % EACH]);
}

/* The error handler's calls, and the communicator of the latest. */
static struct {
    int calls;
    MPI_Comm comm;
} handled;

static void handle(MPI_Comm *comm, int *code, ...)
{
    (void)code;
    handled.calls++;
    handled.comm = *comm;
}

/* A sum whose buffers are the same is an error, which Open MPI raises on MPI_COMM_WORLD. Where the
 * handler returns MPICH 5 may return success. */
static bool is_refused(int (*allreduce)(const void *, void *, int, MPI_Datatype, MPI_Op, MPI_Comm),
                       MPI_Comm comm, bool *fails)
{
    static float buffer[5000];

    handled.calls = 0;
    *fails = allreduce(buffer, buffer, 5000, MPI_FLOAT, MPI_SUM, comm) != MPI_SUCCESS;
    return handled.calls == 1;
}

/* The library sets another error handler for a while. */
static void test_handler(void)
{
    static float send[5000], receive[5000];
    bool good, fails[2], compressed = false;
    MPI_Errhandler handler, after;
    MPI_Comm comm, expected;

    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    MPI_Comm_create_errhandler(handle, &handler);
    MPI_Comm_set_errhandler(comm, handler);
    good = sum_is_right(comm, 5000, 1, &compressed);
    MPI_Comm_get_errhandler(comm, &after);
    check(good && compressed, "with an error handler: compressed and right");
    check(after == handler && handled.calls == 0,
          "with an error handler: it stays and is not called");
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, handler);
    good = is_refused(PMPI_Allreduce, comm, &fails[0]);
    expected = handled.comm;
    check(good && is_refused(MPI_Allreduce, comm, &fails[1]) && fails[0] == fails[1] &&
              handled.comm == expected,
          "with an error handler: it is called once for a wrong call, as by the MPI alone");
    handled.calls = 0;
    fails[1] = MPI_Allreduce(send, receive, 5000, MPI_FLOAT, MPI_OP_NULL, comm) != MPI_SUCCESS;
    check(fails[0] == fails[1] && handled.calls == 1 && handled.comm == comm,
          "with an error handler: it is called once for a call without op, of its communicator");
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL);
    MPI_Errhandler_free(&after);
    MPI_Errhandler_free(&handler);
    MPI_Comm_free(&comm);
}

/* So many communicators, each with calls as soon as it is made, and then again. Returns how many
 * are compressed in the end. */
static int use_many(int many)
{
    MPI_Comm *comms = check_memory((size_t)many * sizeof *comms);
    bool made = true, good = true, compressed = false;
    int count = 0;

    for (int i = 0; i < many; i++) {
        made = made && MPI_Comm_dup(MPI_COMM_WORLD, &comms[i]) == MPI_SUCCESS;
        if (made)
            good = sum_is_right(comms[i], 1024, (uint64_t)i, &compressed) && good;
    }
    check(made, "%d communicators: can be made while they are used", many);
    for (int i = 0; made && i < many; i++) {
        compressed = false;
        good = sum_is_right(comms[i], 1024, (uint64_t)i + 1, &compressed) && good;
        count += compressed;
    }
    check(good, "%d communicators: right", many);
    for (int i = 0; made && i < many; i++)
        MPI_Comm_free(&comms[i]);
    free(comms);
    return count;
}

/* Most of the MPI's two thousand communicators, of the same processes. */
static void test_many(void)
{
    check(use_many(2000) == 2000, "2000 communicators: all are compressed");
}

/* Ranks free a communicator before or after calls on the next one, so that one rank still has what
 * belongs to it and another does not. */
static void test_late(void)
{
    bool good = true, compressed = false;
    MPI_Comm comm, next;

    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    for (uint64_t i = 0; i < 40; i++) {
        good = sum_is_right(comm, 3000, i, &compressed) && good;
        MPI_Comm_dup(MPI_COMM_WORLD, &next);
        if (check_rank % 2 == (int)(i / 3 % 2))
            MPI_Comm_free(&comm);
        good = compressed && good;
        compressed = false;
        good = sum_is_right(next, 5000, i, &compressed) && compressed && good;
        if (comm != MPI_COMM_NULL)
            MPI_Comm_free(&comm);
        comm = next;
    }
    MPI_Comm_free(&comm);
    check(good, "freed on some ranks earlier than on others: right and compressed");
}

#define SEGMENT "memfd:cgxpmpi"

/* Segments of memory that local peers share, in this process. */
static int segments(void)
{
    FILE *file = fopen("/proc/self/maps", "r");
    char line[512];
    int n = 0;

    while (fgets(line, sizeof line, file))
        n += strstr(line, SEGMENT) != NULL;
    fclose(file);
    return n;
}

/* Their files that are open. */
static int open_segments(void)
{
    int n = 0;

    for (int file = 0; file < 1024; file++) {
        char path[32], target[64] = "";

        snprintf(path, sizeof path, "/proc/self/fd/%d", file);
        n += readlink(path, target, sizeof target - 1) > 0 && strstr(target, SEGMENT) != NULL;
    }
    return n;
}

/* Sums on COMM, of few elements and of more. */
static bool use(MPI_Comm comm)
{
    bool good = true, compressed = false;

    for (uint64_t i = 0; i < 4; i++)
        good = sum_is_right(comm, i < 2 ? 3000 : 200000, i, &compressed) && good;
    return good;
}

/* Communicators that share a private one share the memory that their sums are formed in. */
static void test_segments(void)
{
    enum { COMMS = 8 };
    MPI_Comm comms[COMMS];
    bool good;
    int one;

    comms_make(comms, COMMS);
    good = use(comms[0]);
    one = segments();
    if (!check_has(one > 0, "memory is shared", "local peers cannot share memory here"))
        return;
    for (int i = 1; i < COMMS; i++)
        good = use(comms[i]) && good;
    check(segments() == one, "%d communicators have the segments of one", COMMS);
    check(open_segments() == 0, "whose files are closed");
    MPI_Comm_free(&comms[0]);
    good = use(comms[1]) && good;
    check(good && segments() == one, "all sums are right, also when the first one is freed");
    comms_free(comms + 1, COMMS - 1);
    check(segments() == 0, "with the last one they are freed");
}

/* Where threads may be in MPI at once each has one of the library's: what exceeds that is exact,
 * and others can be compressed once some are freed. */
static void test_threaded(void)
{
    enum { MANY = 60 };
    int first, second;

    first = use_many(MANY);
    second = use_many(MANY);
    check_note("%d and %d of %d are compressed", first, second, MANY);
    check(first > 32 && first == second, "as many are compressed as can be, and again");
}

/* Every context id that the MPI has, taken before the first call. */
static void test_all(void)
{
    MPI_Comm *comms = check_memory(4096 * sizeof *comms);
    bool good = true, compressed = false;
    int made = 0, least;

    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    while (made < 4096 && MPI_Comm_dup(MPI_COMM_WORLD, &comms[made]) == MPI_SUCCESS)
        made++;
    PMPI_Allreduce(&made, &least, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD);
    check_note("%d communicators could be made", least);
    for (int i = 0; i < least; i += i < 20 ? 1 : 50)
        good = sum_is_right(comms[i], 1500, (uint64_t)i, &compressed) && good;
    check(good, "no context id left: every sum is right");
    for (int i = 0; i < made; i++)
        MPI_Comm_free(&comms[i]);
    for (uint64_t i = 0; i < 100; i++)
        good = sum_is_right(MPI_COMM_WORLD, 1500, i, &compressed) && good;
    check(good && compressed, "ids free again: compressed in the end");
    free(comms);
}

/* ---- errors ---- */

static int completed;   /* messages of this rank */
static int error_after; /* the message with which Testsome reports an error; 0: none */

int PMPI_Testsome(int count, MPI_Request *requests, int *done, int *indices, MPI_Status *statuses)
{
    int code = MPI_Testsome(count, requests, done, indices, statuses);

    completed += code == MPI_SUCCESS && *done > 0 ? *done : 0;
    return error_after > 0 && completed >= error_after ? MPI_ERR_OTHER : code;
}

/* The last message of one rank fails in the sums of a communicator, when the others have theirs,
 * and that of another rank in those of the next. The third then finds a private communicator on
 * each rank, but not one that both can use. */
static void test_errors(void)
{
    static float buffer[5000];
    bool good = true, fails = true, compressed;
    MPI_Comm comms[3];

    for (int i = 0; i < 3; i++) {
        MPI_Comm_dup(MPI_COMM_WORLD, &comms[i]);
        MPI_Comm_set_errhandler(comms[i], MPI_ERRORS_RETURN);
        completed = 0;
        compressed = false;
        good = sum_is_right(comms[i], 5000, 2, &compressed) && compressed && good;
        error_after = i == check_rank ? 2 * completed : 0;
        fails = (MPI_Allreduce(MPI_IN_PLACE, buffer, 5000, MPI_FLOAT, MPI_SUM, comms[i]) !=
                 MPI_SUCCESS) == (error_after > 0) &&
                fails;
        error_after = 0;
    }
    check(fails, "a rank whose last message fails has an error, and the other has none");
    check(good, "sums on new communicators are right and compressed then");
    comms_free(comms, 3);
}

int main(int argc, char **argv)
{
    static const struct scene scenes[] = {
        {"memory", test_memory, NULL, false}, {"handler", test_handler, NULL, false},
        {"many", test_many, NULL, false},     {"all", test_all, NULL, false},
        {"cheap", test_cheap, NULL, false},   {"threaded", test_threaded, NULL, true},
        {"late", test_late, NULL, false},     {"segments", test_segments, NULL, false},
        {"errors", test_errors, NULL, false}};

    return scenes_main(argc, argv, scenes, sizeof scenes / sizeof scenes[0]);
}
