/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

/* Sums of buffers that live anywhere:
 *   device [same] [TYPE [large]]   compressed, equal to those of host buffers to the bit; TYPE:
 *                                  float32, float16, or opaque16: two bytes and the program's op
 *   device kinds                   CGX_BUFFERS decides which are compressed; warm-up off
 *   device moving COUNT            kinds that change from call to call; all compressed
 *   device steps                   device buffers in steps; default settings
 *   device layers [mixed]          steps of several tensors; warm-up off
 *   device observe                 CGX_ENABLE=observe: exact, to the bit
 *   device none [loaded]           there is no device, or a driver that has none; warm-up off */

#include <stdlib.h>

#include "../lib/tap.h"
#include "lib/bound.h"
#include "lib/check.h"
#include "lib/device.h"

#define H PLACE_HOST
#define P PLACE_PINNED
#define D PLACE_DEVICE
#define M PLACE_MANAGED

static bool all_buffers, host_buffers; /* CGX_BUFFERS */
static MPI_Comm comms[2];

static bool begin(const char *name)
{
    all_buffers = check_set("CGX_BUFFERS", "all");
    host_buffers = check_set("CGX_BUFFERS", "host");
    if (!place_any(name))
        return false;
    comms_make(comms, 2);
    return true;
}

/* ---- same ---- */

/* One sequence; counts come again, so that tables are used again and made anew. Bytes of
 * misalignment: on half data a multiple of 4 aligns more than an element. */
static const struct placed small[] = {
    {DATA_GAUSSIAN, 0, 1, 1024, D, D, false, 0, 0, 0, 0, false},
    {DATA_SCALES, 0, 2, 16383, D, D, true, 0, 0, 0, 0, false},
    {DATA_HEAVY, 0, 3, 16384, D, D, false, 1, 3, 0, 0, false},
    {DATA_NONFINITE, 0, 4, 16385, D, D, true, 0, 2, 0, 0, false},
    {DATA_OFFSET, 0, 5, 10007, D, D, false, 4, 20, 0, 0, false},
    {DATA_LIMIT, 0, 6, 16384, D, D, false, 2, 0, 0, 0, false},
    {DATA_SPARSE, 0, 7, 10007, D, D, true, 0, 3, 0, 0, false},
    {DATA_TINY, 0, 8, 1024, D, D, false, 8, 1, 0, 0, false},
    {DATA_CONSTANT, 0, 9, 5000, D, D, false, 0, 0, 0, 0, false},
    {DATA_HUGE, 0, 10, 16383, D, D, false, 0, 1, 0, 0, false},
};
enum { SMALL = sizeof small / sizeof small[0] };

static bool agrees(const struct placed *call, const struct placed *objects)
{
    struct placed sum = *call;

    sum.type = objects->type;
    sum.datatype = objects->datatype;
    sum.op = objects->op;
    return placed_agrees(&sum, comms[0], comms[1]);
}

/* The first fills the staging memory of one slice, the others more; the last with all tables in
 * place. */
static const struct placed large[] = {
    {DATA_SCALES, 0, 11, 1 << 20, D, D, false, 0, 0, 0, 0, false},
    {DATA_SCALES, 0, 12, 2000003, D, D, false, 0, 0, 0, 0, false},
    {DATA_NONFINITE, 0, 13, 2000003, D, D, true, 0, 4, 0, 0, false},
};
enum { LARGE = sizeof large / sizeof large[0] };

static void test_calls(const struct placed *sums, int n, const struct placed *objects)
{
    for (int i = 0; i < n; i++)
        check(agrees(&sums[i], objects), "%zu elements, %s, %s%s: as in host memory", sums[i].count,
              data_name(sums[i].kind), sums[i].in_place ? "in place" : "apart",
              sums[i].ahead + sums[i].further > 0 ? ", misaligned" : "");
}

static void play_same(void)
{
    const char *type = scene_argument(1);
    struct placed objects = {.type = ELEMENT_FLOAT32};

    if (type && strcmp(type, "opaque16") == 0) {
        objects.type = ELEMENT_FLOAT16;
        MPI_Type_contiguous(2, MPI_BYTE, &objects.datatype);
        MPI_Type_commit(&objects.datatype);
        MPI_Op_create(element_add_float16, 1, &objects.op);
    } else {
        if (type && !element_parse(type, &objects.type))
            bail_out("%s is neither a type nor a scene", type);
        if (!element_has_datatype(objects.type))
            return;
    }
    test_calls(small, SMALL, &objects);
    if (scene_argument(2))
        test_calls(large, LARGE, &objects);
    comms_free(comms, 2);
}

/* ---- kinds ---- */

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
    int odd = check_rank % 2;

    return placed_floats(seed, count, placement->from[odd], placement->to[odd],
                         placement->in_place);
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
static void play_moving(void)
{
    const size_t count = strtoul(scene_argument(1), NULL, 10);
    const int calls = count > 100000 ? PLACEMENTS : 2 * PLACEMENTS;

    for (int i = 0; i < calls; i++) {
        const struct placement *placement = &placements[i * 5 % PLACEMENTS];
        struct placed sum = make(placement, 100 + (uint64_t)i, count);

        check(placed_agrees(&sum, comms[0], comms[1]),
              "call %d with %zu elements, %s: as in host memory", i + 1, count, placement->name);
    }
    comms_free(comms, 2);
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

/* A program's steps. */
static void play_steps(void)
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
    comms_free(comms, 2);
}

static void play_kinds(void)
{
    test_agreed();
    if (!all_buffers)
        test_leaving();
    comms_free(comms, 2);
}

/* Compressed steps; a sum of each is of three tensors, the first sum of one step is not finite.
 * "mixed": rank 0 has host buffers, rank 1 managed memory. */
static void play_layers(void)
{
    static const struct placed sums[] = {{.kind = DATA_GAUSSIAN, .count = 20011},
                                         {.kind = DATA_HEAVY, .count = 4096},
                                         {.kind = DATA_SPARSE, .count = 9000},
                                         {.kind = DATA_SCALES, .count = 5000 + 1024 + 7001},
                                         {.kind = DATA_TINY, .count = 6000}};
    enum { SUMS = sizeof sums / sizeof sums[0], STEPS = 18, NONFINITE = 12 };
    enum place place = scene_argument(1) && check_rank < 2 ? check_rank > 0 ? M : H : D;
    bool right = true;

    for (int i = 0; i < 2; i++) {
        comms_hint(comms[i], "cgx_layers", "5000,1024:exact,7001");
        comms_hint(comms[i], "cgx_step", "5");
    }
    for (uint64_t step = 0; step < STEPS; step++)
        for (uint64_t i = 0; i < SUMS; i++) {
            struct placed sum = sums[i];

            if (i == 0 && step == NONFINITE)
                sum.kind = DATA_NONFINITE;
            sum.type = ELEMENT_FLOAT32;
            sum.seed = step * SUMS + i;
            sum.from = sum.to = place;
            sum.in_place = (step + i) % 3 == 0;
            right = placed_agrees(&sum, comms[0], comms[1]) && right;
        }
    check(right, "%d steps: as in host memory", STEPS);
    comms_free(comms, 2);
}

/* ---- observe ---- */

enum { COUNT = 50021, ROUNDS = 9 };

/* In place is the last. */
static const enum place places[][2] = {{D, D}, {D, H}, {P, D}, {M, D}, {D, D}};
enum { KINDS = sizeof places / sizeof places[0] };

static void play_observe(void)
{
    char *result = check_memory(COUNT * sizeof(float)),
         *exact = check_memory(COUNT * sizeof(float));

    for (size_t kind = 0; kind < KINDS; kind++) {
        bool good = true;

        for (int i = 0; i < ROUNDS; i++) {
            const struct placed sum =
                placed_floats(kind * ROUNDS + (uint64_t)i, COUNT, places[kind][0], places[kind][1],
                              kind == KINDS - 1);

            good = placed_sum(&sum, MPI_COMM_WORLD, result) &&
                   placed_exact(&sum, MPI_COMM_WORLD, exact) &&
                   memcmp(result, exact, COUNT * sizeof(float)) == 0 && good;
        }
        check(good, "from %s to %s%s: exact sums", place_name(places[kind][0]),
              place_name(places[kind][1]), kind == KINDS - 1 ? " in place" : "");
    }
    free(exact);
    free(result);
    comms_free(comms, 2);
}

/* ---- none ---- */

static void play_none(void)
{
    const struct scheme scheme = scheme_from_environment(ELEMENT_FLOAT32);
    static float result[COUNT], exact[COUNT];

    if (scene_argument(1))
        check(!device_open(0), "there is no device");
    for (int shape = 0; shape < SUM_SHAPES; shape++) {
        struct sum sum = {DATA_GAUSSIAN, ELEMENT_FLOAT32, (uint64_t)shape, COUNT,
                          (enum sum_shape)shape};
        uint64_t before = traffic_messages();
        bool good = sum_reduce(&sum, MPI_COMM_WORLD, result), sent = traffic_messages() > before;

        good = sum_exact(&sum, MPI_COMM_WORLD, exact) && good;
        if (check_set("CGX_BUFFERS", "all"))
            check(good && sent && check_same(result, sizeof result, MPI_COMM_WORLD) &&
                      bound_holds(&scheme, sum.kind, sum.seed, COUNT, result, MPI_COMM_WORLD),
                  "%s: compressed", sum_shape_name(sum.shape));
        else
            check(good && !sent && memcmp(result, exact, sizeof result) == 0, "%s: exact",
                  sum_shape_name(sum.shape));
    }
}

int main(int argc, char **argv)
{
    static const struct scene scenes[] = {
        {"same", play_same, begin, false},     {"kinds", play_kinds, begin, false},
        {"moving", play_moving, begin, false}, {"steps", play_steps, begin, false},
        {"layers", play_layers, begin, false}, {"observe", play_observe, begin, false},
        {"none", play_none, NULL, false},
    };

    return scenes_main(argc, argv, scenes, sizeof scenes / sizeof scenes[0]);
}
