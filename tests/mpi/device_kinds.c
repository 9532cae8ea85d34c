/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

/* CGX_BUFFERS decides which buffers are compressed, wherever those of each rank are:
 *   device_kinds         every kind; warm-up off
 *   device_kinds COUNT   kinds that change from call to call of COUNT elements; all compressed
 *   device_kinds steps   device buffers in steps; default settings */

#include <stdlib.h>
#include <string.h>

#include "lib/bound.h"
#include "lib/check.h"
#include "lib/comms.h"
#include "lib/device.h"
#include "lib/placed.h"
#include "lib/traffic.h"

#define H PLACE_HOST
#define P PLACE_PINNED
#define D PLACE_DEVICE
#define M PLACE_MANAGED

/* Where the buffers of even and of odd ranks are. */
static const struct placement {
    const char *name;
    enum place from[2], to[2];
    bool in_place;
} placements[] = {
    {"device", {D, D}, {D, D}, false},
    {"host", {H, H}, {H, H}, false},
    {"host to device", {H, H}, {D, D}, false},
    {"managed", {M, M}, {M, M}, false},
    {"device to host", {D, D}, {H, H}, false},
    {"managed to device", {M, M}, {D, D}, false},
    {"pinned", {P, P}, {P, P}, true},
    {"even ranks host, odd device", {H, D}, {H, D}, false},
    {"pinned to device and device to pinned", {P, D}, {D, P}, false},
    {"device and managed", {D, M}, {D, M}, true},
    {"host to managed and device to device", {H, D}, {M, D}, false},
    {"one rank's receive buffer host", {D, D}, {H, D}, false},
    {"host and managed in place", {H, M}, {H, M}, true},
};
enum { PLACEMENTS = sizeof placements / sizeof placements[0] };

static bool all_buffers, host_buffers;
static MPI_Comm comms[2];

/* Whether CGX_BUFFERS says that buffers in PLACE are compressed. */
static bool is_named(enum place place)
{
    return all_buffers || host_buffers == (place == H || place == P);
}

static bool is_compressed(const struct placement *placement)
{
    bool named = true;

    for (int odd = 0; odd < 2; odd++) {
        named = named && is_named(placement->to[odd]);
        named = named && (placement->in_place || is_named(placement->from[odd]));
    }
    return named;
}

static struct placed make(const struct placement *placement, uint64_t seed, size_t count)
{
    const struct placed sum = {.kind = DATA_GAUSSIAN,
                               .type = ELEMENT_FLOAT32,
                               .seed = seed,
                               .count = count,
                               .from = placement->from[check_rank % 2],
                               .to = placement->to[check_rank % 2],
                               .in_place = placement->in_place};

    return sum;
}

/* ---- what a call gives ---- */

enum { WRONG, EXACT, COMPRESSED };

/* SENT: the messages of the call; the same on all ranks is held to by all. */
static int judge(const struct placed *sum, const float *result, uint64_t sent)
{
    const struct scheme scheme = scheme_from_environment(ELEMENT_FLOAT32);
    float *exact = check_memory(sum->count * sizeof(float));
    bool good = placed_exact(sum, MPI_COMM_WORLD, exact);
    bool equal = memcmp(result, exact, sum->count * sizeof(float)) == 0;
    bool bounded = bound_holds(&scheme, sum->kind, sum->seed, sum->count, result, MPI_COMM_WORLD);
    bool same = check_same(result, sum->count * sizeof(float), MPI_COMM_WORLD);

    free(exact);
    if (!good || !same)
        return WRONG;
    return equal ? EXACT : bounded && sent > 0 ? COMPRESSED : WRONG;
}

static int run(const struct placed *sum, MPI_Comm comm, uint64_t *sent)
{
    float *result = check_memory(sum->count * sizeof(float));
    uint64_t before = traffic_messages();
    bool good = placed_sum(sum, comm, result);
    int verdict;

    *sent = traffic_messages() - before;
    verdict = judge(sum, result, *sent);
    free(result);
    return good ? verdict : WRONG;
}

/* ---- tests ---- */

/* A communicator for each placement: all are agreed on anew. */
static void test_agreed(void)
{
    for (int i = 0; i < PLACEMENTS; i++) {
        const struct placement *placement = &placements[i];
        struct placed sum = make(placement, (uint64_t)i, 2000 + 37 * (size_t)i);
        uint64_t sent;
        MPI_Comm comm;
        int verdict;

        MPI_Comm_dup(MPI_COMM_WORLD, &comm);
        verdict = run(&sum, comm, &sent);
        MPI_Comm_free(&comm);
        if (is_compressed(placement))
            check(verdict == COMPRESSED, "%s: compressed, within the bound", placement->name);
        else
            check(verdict == EXACT && sent == 0, "%s: exact", placement->name);
    }
}

/* Buffers move between calls of one number of elements, and twice all the way around. */
static void test_moving(size_t count)
{
    const int calls = count > 100000 ? PLACEMENTS : 2 * PLACEMENTS;

    for (int i = 0; i < calls; i++) {
        const struct placement *placement = &placements[i * 5 % PLACEMENTS];
        struct placed sum = make(placement, 100 + (uint64_t)i, count);

        check(placed_agrees(&sum, comms[0], comms[1]),
              "call %d with %zu elements, %s: as in host memory", i + 1, count, placement->name);
    }
}

/* A compressed sum, one where some ranks' buffers are elsewhere, and compressed ones again in the
 * end: the ranks ask one another at doubling intervals. */
static void test_leaving(void)
{
    const struct placement *device = &placements[0], *host = &placements[1];
    const struct placement *home = host_buffers ? host : device;
    struct placement mixed = *home;
    struct placed sum = make(home, 200, 4099);
    uint64_t sent;
    bool exact = true, right = true;
    int verdict = run(&sum, comms[0], &sent);

    check(verdict == COMPRESSED, "a call is compressed");
    mixed.from[1] = mixed.to[1] = host_buffers ? D : H;
    for (int i = 0; i < 3; i++) {
        sum = make(&mixed, 201 + (uint64_t)i, 4099);
        exact = run(&sum, comms[0], &sent) == EXACT && exact;
    }
    check(exact, "odd ranks' buffers have moved: exact on all ranks");
    for (int i = 0; i < 40; i++) {
        sum = make(home, 210 + (uint64_t)i, 4099);
        verdict = run(&sum, comms[0], &sent);
        right = verdict != WRONG && right;
    }
    check(right, "they are back: right on all ranks");
    check(verdict == COMPRESSED, "and compressed in the end");
}

/* A program's steps, device buffers and default settings. */
static void test_steps(void)
{
    enum { STEPS = 7 }; /* too few for widths to be chosen */
    bool first = true, last = true;

    for (int step = 0; step < STEPS; step++)
        for (size_t count = 20011; count < 30000; count += 4001) {
            struct placed sum = make(&placements[0], 300 + (uint64_t)step, count);
            uint64_t sent;
            int verdict = run(&sum, comms[0], &sent);

            first = first && (step > 4 || verdict == EXACT);
            last = last && (step < STEPS - 1 || verdict == COMPRESSED);
        }
    check(first, "the first steps are exact");
    check(last, "later ones are compressed");
}

int main(int argc, char **argv)
{
    const char *buffers = getenv("CGX_BUFFERS");

    check_begin(&argc, &argv);
    all_buffers = buffers && strcmp(buffers, "all") == 0;
    host_buffers = buffers && strcmp(buffers, "host") == 0;
    if (!place_begin("device buffers", false))
        return check_end();
    comms_make(comms, 2);
    if (argc > 1 && strcmp(argv[1], "steps") == 0) {
        test_steps();
    } else if (argc > 1) {
        test_moving((size_t)atol(argv[1]));
    } else {
        test_agreed();
        if (!all_buffers)
            test_leaving();
    }
    comms_free(comms, 2);
    return check_end();
}
