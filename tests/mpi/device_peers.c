/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

/* Sums whose payloads go from device to device, while the memory that local peers have open
 * changes: "device_peers PART [TYPE [COUNT]]". All calls are compressed, with
 * CGX_INNER_COMMUNICATOR_TYPE=P2P. */

#include <stdio.h>
#include <stdlib.h>

#include "lib/check.h"
#include "lib/device.h"
#include "lib/sums.h"

#define D PLACE_DEVICE
#define H PLACE_HOST

static enum element type = ELEMENT_FLOAT32;
static size_t count = 20011;

/* ---- a sum ---- */

/* What a call came to: the same on all ranks of its communicator. */
enum end { WRONG, EXACT, COMPRESSED };

/* A communicator, and one of the same ranks whose sums are in host memory. */
struct pair {
    MPI_Comm comm, other;
};

static struct pair make_pair(MPI_Comm of)
{
    struct pair pair;

    MPI_Comm_dup(of, &pair.comm);
    MPI_Comm_dup(of, &pair.other);
    return pair;
}

static void free_pair(struct pair *pair)
{
    MPI_Comm_free(&pair->comm);
    MPI_Comm_free(&pair->other);
}

static enum end run(const struct placed *sum, const struct pair *pair)
{
    size_t bytes = sum->count * element_size(sum->type);
    char *result = check_memory(bytes), *expected = check_memory(bytes);
    enum end end = WRONG;
    bool good = placed_sum(sum, pair->comm, result);

    good = placed_reference(sum, pair->other, expected) && good;
    if (check_everywhere(good && memcmp(result, expected, bytes) == 0, pair->other))
        end = COMPRESSED;
    else if (placed_exact(sum, pair->other, expected) &&
             check_everywhere(good && memcmp(result, expected, bytes) == 0, pair->other))
        end = EXACT;
    free(result);
    free(expected);
    return end;
}

/* In place, if SEED is odd. */
static enum end call(size_t elements, enum place place, uint64_t seed, const struct pair *pair)
{
    return run(&(struct placed){.kind = DATA_GAUSSIAN,
                                .type = type,
                                .seed = seed,
                                .count = elements,
                                .from = place,
                                .to = place,
                                .in_place = seed % 2 == 1},
               pair);
}

/* Calls on all devices, some of them exact: ranks ask one another at doubling intervals. */
static void check_return(const struct pair *pair, const char *what)
{
    enum end end = WRONG;
    bool right = true;

    for (uint64_t i = 0; i < 20; i++) {
        end = call(count, D, 50 + i, pair);
        right = right && end != WRONG;
    }
    check(right, "%s: right on all ranks", what);
    check(end == COMPRESSED, "%s: compressed in the end", what);
}

/* ---- buffers that move ---- */

static bool device_calls(int calls, const struct pair *pair)
{
    bool compressed = true;

    for (int i = 0; i < calls; i++)
        compressed = call(count, D, (uint64_t)i, pair) == COMPRESSED && compressed;
    return compressed;
}

/* To host memory for a few calls, then for so many that ranks have asked one another meanwhile. */
static void test_host(int mover)
{
    struct pair pair = make_pair(MPI_COMM_WORLD);
    bool exact = true, right = true;

    check(device_calls(3, &pair), "device buffers: compressed");
    for (uint64_t i = 0; i < 3; i++)
        exact = call(count, check_rank == mover ? H : D, 10 + i, &pair) == EXACT && exact;
    check(exact, "buffers of rank %d have moved to host memory: exact", mover);
    check_return(&pair, "they are back");
    for (uint64_t i = 0; i < 12; i++)
        right = call(count, check_rank == mover ? H : D, 20 + i, &pair) != WRONG && right;
    check(right, "buffers of rank %d have moved to host memory for long: right", mover);
    check_return(&pair, "they are back again");
    free_pair(&pair);
}

/* To another device, and back. */
static void test_devices(int mover)
{
    struct pair pair = make_pair(MPI_COMM_WORLD);

    check(device_calls(3, &pair), "device buffers: compressed");
    if (check_rank == mover)
        device_open(check_rank + 1);
    check_return(&pair, "buffers of one rank have moved to another device");
    device_open(check_rank);
    check_return(&pair, "they are back on the first");
    free_pair(&pair);
}

/* ---- staging memory that grows ---- */

static void test_growth(void)
{
    static const size_t counts[] = {30011, 100003, 300007, 1000003};
    struct pair pair = make_pair(MPI_COMM_WORLD);
    bool large = true, small = device_calls(2, &pair);
    enum end end;

    for (size_t i = 0; i < sizeof counts / sizeof counts[0]; i++) {
        large = call(counts[i], D, i, &pair) == COMPRESSED && large;
        small = device_calls(2, &pair) && small;
        for (size_t j = 0; j <= i; j++)
            large = call(counts[j], D, j, &pair) == COMPRESSED && large;
    }
    check(large, "ever larger sums: compressed");
    check(small, "the small one: still compressed");
    /* If slices need no more memory, ranks do not ask one another where it lies, and it is exact.
     */
    end = call(3000017, H, 9, &pair);
    check(end == COMPRESSED || (end == EXACT && getenv("CGX_FUSION_BUFFER_SIZE_MB")),
          "a still larger one in host memory: compressed, but for slices that fit");
    check_return(&pair, "the small one thereafter");
    free_pair(&pair);
}

/* ---- communicators ---- */

static unsigned long long live(void)
{
    return device_is_soft() ? device_count().live : 0;
}

enum { COMMS = 4, ROUNDS = 4 };

/* Used in turn, freed in an order that ROUND says; two of them are of half the ranks. */
static bool at_once(int round)
{
    static const int orders[ROUNDS][COMMS] = {
        {0, 1, 2, 3}, {3, 2, 1, 0}, {2, 0, 3, 1}, {1, 3, 0, 2}};
    struct pair pairs[COMMS];
    MPI_Comm halves;
    bool good = true;

    MPI_Comm_split(MPI_COMM_WORLD, check_rank < check_size / 2, check_rank, &halves);
    for (int i = 0; i < COMMS; i++)
        pairs[i] = make_pair(i % 2 == 0 ? MPI_COMM_WORLD : halves);
    MPI_Comm_free(&halves);
    for (uint64_t i = 0; i < 3 * COMMS; i++)
        good = call(count + 777 * i, D, i, &pairs[i % COMMS]) == COMPRESSED && good;
    for (int i = 0; i < COMMS; i++) {
        free_pair(&pairs[orders[round][i]]);
        for (int j = i + 1; j < COMMS; j++)
            good = call(count, D, 1, &pairs[orders[round][j]]) == COMPRESSED && good;
    }
    return good;
}

/* Memory that local peers could open is kept for communicators that come: as much as was in use at
 * once.
 */
static void test_communicators(void)
{
    bool good = at_once(0);
    unsigned long long before = live();

    check(good, "several at once: compressed");
    for (int i = 0; i < 6; i++) {
        struct pair pair = make_pair(MPI_COMM_WORLD);

        good = device_calls(2, &pair) && good;
        free_pair(&pair);
    }
    check(good, "one communicator after the other: compressed");
    check(live() == before, "nothing more is left of them");
    for (int round = 0; round < ROUNDS; round++) {
        check(at_once(round), "several at once, round %d: compressed", round);
        check(live() == before, "nothing more is left of them, round %d", round);
    }
}

/* ---- contexts that go ---- */

/* When all the memory is pinned that exact calls keep, and that is there that local peers could
 * open. */
static unsigned long long live_with_kept(void)
{
    struct pair pair = make_pair(MPI_COMM_WORLD);
    size_t bytes = count * element_size(type);
    char *send = device_alloc(bytes), *receive = device_alloc(bytes);

    MPI_Allreduce(send, receive, (int)count, element_datatype(type), MPI_MAX, MPI_COMM_SELF);
    device_free(send);
    device_free(receive);
    device_calls(2, &pair);
    free_pair(&pair);
    return live();
}

/* Of rank LOSER, or -1: of all. */
static void test_reset(int loser)
{
    unsigned long long before = live_with_kept();
    struct pair pair = make_pair(MPI_COMM_WORLD);
    bool here = loser < 0 || check_rank == loser;

    for (int i = 0; i < 2; i++) {
        check(device_calls(3, &pair), "context %d: compressed", i);
        if (here) {
            device_close();
            device_reset(check_rank);
            device_open(check_rank);
        }
        check_return(&pair, loser < 0 ? "all contexts are new" : "the context of a rank is new");
    }
    free_pair(&pair);
    check(live_with_kept() == before, "nothing is left");
}

/* ---- a sum that cannot be decoded where it is ---- */

/* The last launch of a call fails on ranks that are HERE. */
static void test_decode(bool here, const char *name)
{
    struct pair pair = make_pair(MPI_COMM_WORLD);
    struct softcuda_counts counts[3];
    unsigned long long launches, fetched;
    bool rescued;

    check(device_calls(2, &pair), "calls are compressed");
    counts[0] = device_count();
    check(device_calls(1, &pair), "and one more");
    counts[1] = device_count();
    launches = counts[1].operations[SOFTCUDA_LAUNCH] - counts[0].operations[SOFTCUDA_LAUNCH];
    if (here)
        device_fail(SOFTCUDA_LAUNCH, (unsigned)launches, false);
    check(device_calls(1, &pair), "%s cannot launch the last kernel: the same bytes", name);
    counts[2] = device_count();
    device_fail(SOFTCUDA_LAUNCH, 0, false);
    fetched = counts[1].bytes_to_host - counts[0].bytes_to_host + count / 16;
    rescued = counts[2].bytes_to_host - counts[1].bytes_to_host > fetched;
    check(rescued == here, "%s: only then the sum comes to the host", name);
    check(device_calls(2, &pair), "%s: the next calls are compressed", name);
    free_pair(&pair);
}

static void test_decodes(void)
{
    if (!device_is_soft()) {
        check_has(false, "a sum that cannot be decoded", "a real driver");
        return;
    }
    test_decode(check_rank == 0, "rank 0");
    test_decode(check_rank == check_size - 1, "the last rank");
    test_decode(true, "all ranks");
}

/* ---- what the driver lets ranks do ---- */

/* Whether it is skipped tells a script whether ranks can reach each other's memory at all. */
static void test_reach(void)
{
    void *memory = device_alloc(1 << 20);
    char handle[DEVICE_HANDLE_BYTES] = {0};
    char *handles = check_memory((size_t)check_size * sizeof handle);
    bool shared = check_everywhere(device_share(memory, handle), MPI_COMM_WORLD), reached = true;

    PMPI_Allgather(handle, sizeof handle, MPI_CHAR, handles, sizeof handle, MPI_CHAR,
                   MPI_COMM_WORLD);
    for (int peer = 0; shared && peer < check_size; peer++) {
        void *theirs = peer == check_rank ? NULL : device_reach(handles + peer * sizeof handle);

        reached = reached && (theirs || peer == check_rank);
        if (theirs)
            device_leave(theirs);
    }
    if (check_has(shared && reached, "memory of other ranks", "the driver refuses CUDA IPC"))
        check(true, "ranks reach each other's memory");
    free(handles);
    device_free(memory);
}

int main(int argc, char **argv)
{
    const char *part = argc > 1 ? argv[1] : "";

    check_begin(&argc, &argv);
    if (argc > 2)
        element_parse(argv[2], &type);
    if (argc > 3)
        count = (size_t)atol(argv[3]);
    if (!place_begin("device buffers", false) || !element_has_datatype(type))
        return check_end();
    if (strcmp(part, "reach") == 0) {
        test_reach();
    } else if (strcmp(part, "moves") == 0) {
        test_host(0);
        test_host(check_size - 1);
        test_devices(0);
        test_devices(check_size - 1);
    } else if (strcmp(part, "growth") == 0) {
        test_growth();
    } else if (strcmp(part, "communicators") == 0) {
        test_communicators();
    } else if (strcmp(part, "resets") == 0) {
        test_reset(0);
        test_reset(check_size - 1);
        test_reset(-1);
    } else if (strcmp(part, "decodes") == 0) {
        test_decodes();
    }
    return check_end();
}
