/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

/* Memory runs out on one rank, at each allocation of the library from the first call on a
 * communicator on, or in MPI_Comm_set_info: "memory_faults [small|step]". Every call is right on
 * all ranks, and compressed on all or on none; with CGX_ENABLE=observe every call is exact. With
 * "trace" rank 1 has no memory for the events of CGX_TRACE alone. Linked with the library's
 * objects, with the allocating functions wrapped. */
#include <stdlib.h>
#include <string.h>

#include "../lib/tap.h"
#include "lib/check.h"
#include "util/trace.h"

static bool armed;
static bool lacks_events;
static int left; /* allocations before the one that fails */
static bool failed;

static bool fails(void)
{
    if (!armed || left-- > 0)
        return false;
    armed = false;
    return failed = true;
}

WRAPPED(void *, malloc, size_t bytes)
{
    return fails() ? NULL : __real_malloc(bytes);
}

WRAPPED(void *, calloc, size_t count, size_t bytes)
{
    bool lacks = lacks_events && check_rank == 1 && count == CGX_TRACE_EVENTS;

    return lacks || fails() ? NULL : __real_calloc(count, bytes);
}

WRAPPED(void *, realloc, void *memory, size_t bytes)
{
    return fails() ? NULL : __real_realloc(memory, bytes);
}

WRAPPED(void *, cgx_pages_map, size_t bytes, int file)
{
    return fails() ? NULL : __real_cgx_pages_map(bytes, file);
}

WRAPPED(void *, cgx_sparse_map, size_t bytes)
{
    return fails() ? NULL : __real_cgx_sparse_map(bytes);
}

enum { COUNT = 20000, FEWER = 1500, CALLS = 20, SUMS = 3 };
static float input[COUNT], exact[COUNT], result[COUNT];

/* Whether the first sums on a communicator are of fewer elements. */
static bool begins_small;

/* Whether sums are those of a step, each larger than the one before. */
static bool in_steps;

static int count_of(int call)
{
    if (in_steps)
        return COUNT / SUMS * (call % SUMS + 1);
    return begins_small && call < 2 ? FEWER : COUNT;
}

static bool observes;

/* The sum of COUNT elements of input * FACTOR, which differs from call to call so that calls cannot
 * be mixed up. *COMPRESSED: the result is not the exact one. */
static bool is_right(MPI_Comm comm, int count, float factor, bool *compressed)
{
    double worst = 0;

    for (int i = 0; i < count; i++)
        result[i] = input[i] * factor;
    PMPI_Allreduce(result, exact, count, MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD);
    if (MPI_Allreduce(MPI_IN_PLACE, result, count, MPI_FLOAT, MPI_SUM, comm) != MPI_SUCCESS)
        return false;
    *compressed = memcmp(result, exact, (size_t)count * sizeof result[0]) != 0;
    for (int i = 0; i < count; i++) {
        double error = result[i] > exact[i] ? result[i] - exact[i] : exact[i] - result[i];

        worst = error > worst ? error : worst;
    }
    return worst < 0.15 * factor * check_size && !(observes && *compressed);
}

/* CALLS calls on COMM. Those on rank FAULTY make the allocation fail that LEFT says. True if all
 * are right, and the same on all ranks; *COMPRESSED: the last. */
static bool calls_right(MPI_Comm comm, int faulty, bool *compressed)
{
    bool right = true;

    for (int call = 0; call < CALLS; call++) {
        armed = check_rank == faulty && !failed && left >= 0;
        right = is_right(comm, count_of(call), (float)(1 << call), compressed) && right;
        armed = false;
        right = check_same(result, sizeof result, MPI_COMM_WORLD) && right;
    }
    return right;
}

static bool on_all_or_none(bool here)
{
    return check_everywhere(here, MPI_COMM_WORLD) || check_everywhere(!here, MPI_COMM_WORLD);
}

/* Whether the allocation that was to fail on rank FAULTY was made. */
static bool had_fault(int faulty)
{
    int fault = failed;

    MPI_Bcast(&fault, 1, MPI_INT, faulty, MPI_COMM_WORLD);
    return fault;
}

/* False if there are fewer allocations than that. */
static bool test_allocation(int nth, int faulty)
{
    bool right, compressed = false, fault;
    MPI_Comm comm = comms_new();

    failed = false;
    left = nth;
    right = calls_right(comm, faulty, &compressed);
    fault = had_fault(faulty);
    if (fault) {
        check(right, "allocation %d fails on rank %d: all calls are right on all ranks", nth,
              faulty);
        check(on_all_or_none(compressed), "and the last is compressed on all ranks or none");
    }
    MPI_Comm_free(&comm);
    return fault;
}

/* ---- hints ---- */

static bool say(MPI_Comm comm, const char *bits)
{
    MPI_Info info;
    int code;

    MPI_Info_create(&info);
    MPI_Info_set(info, "cgx_bits", bits);
    MPI_Info_set(info, "cgx_layers", "15000,5000");
    code = MPI_Comm_set_info(comm, info);
    MPI_Info_free(&info);
    return code == MPI_SUCCESS;
}

/* What is said of a communicator, of which calls were made before (USED) or none, is lost on one
 * rank alone. More can be said: no rank keeps a state that is final. */
static bool test_hint(int nth, int faulty, bool used)
{
    const char *when = used ? "in mid-run" : "first of all";
    bool right, compressed = false, fault;
    MPI_Comm comm = comms_new();

    right = !used || calls_right(comm, -1, &compressed);
    failed = false;
    left = nth;
    armed = check_rank == faulty;
    right = say(comm, "8") && right;
    armed = false;
    fault = had_fault(faulty);
    if (fault) {
        right = calls_right(comm, -1, &compressed) && right;
        check(right, "allocation %d of a hint %s fails on rank %d: all calls are right", nth, when,
              faulty);
        check(on_all_or_none(compressed), "and the last is compressed on all ranks or none");
        right = say(comm, "7") && calls_right(comm, -1, &compressed);
        check(right && compressed == !observes,
              "what is said next counts: the last is compressed on all ranks");
    }
    MPI_Comm_free(&comm);
    return fault;
}

static int test_hints(int faulty, bool used)
{
    int tried = 0;

    while (test_hint(tried, faulty, used))
        tried++;
    return tried;
}

int main(int argc, char **argv)
{
    int tried = 0, first = 0, later = 0;
    bool compressed;

    check_begin(&argc, &argv);
    begins_small = argc > 1 && strcmp(argv[1], "small") == 0;
    in_steps = argc > 1 && strcmp(argv[1], "step") == 0;
    lacks_events = argc > 1 && strcmp(argv[1], "trace") == 0;
    observes = check_set("CGX_ENABLE", "observe");
    srand((unsigned)check_rank + 1);
    for (size_t i = 0; i < COUNT; i++)
        input[i] = (float)rand() / (float)RAND_MAX * 2 - 1;
    /* Rules that cannot be read would keep all sums exact. */
    MPI_Allreduce(MPI_IN_PLACE, exact, COUNT, MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD);
    if (lacks_events) {
        check(calls_right(MPI_COMM_WORLD, -1, &compressed), "all calls are right on all ranks");
        return check_end();
    }
    for (int faulty = 0; faulty < check_size; faulty += check_size - 1) {
        for (tried = 0; test_allocation(tried, faulty); tried++)
            ;
        first = test_hints(faulty, false);
        later = test_hints(faulty, true);
    }
    check(tried >= 8, "%d allocations were made to fail", tried);
    check(first >= 2 && later >= 1, "and %d and %d of hints", first, later);
    return check_end();
}
