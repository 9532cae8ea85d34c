/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

#include "storm.h"

uint64_t draw_below(struct draw *draw, uint64_t n)
{
    return data_random(draw->seed, draw->stream, draw->drawn++) % n;
}

bool draw_once_in(struct draw *draw, uint64_t n)
{
    return draw_below(draw, n) == 0;
}

/* FROM to TO - 1, all sizes alike; often next to a power of two, or a whole number of buckets. */
static size_t between(struct draw *draw, size_t from, size_t to)
{
    size_t octaves = 0, count;

    while (from << (octaves + 1) < to)
        octaves++;
    count = from << draw_below(draw, octaves + 1);
    switch (draw_below(draw, 8)) {
    case 0:
        break;
    case 1:
        count++;
        break;
    case 2:
        count = count > from ? count - 1 : count;
        break;
    default:
        count += draw_below(draw, count);
    }
    return count < to ? count : to - 1;
}

static size_t draw_count(struct draw *draw, const struct storm_limits *limits)
{
    size_t least = limits->minimal, most = limits->most;
    uint64_t dice = draw_below(draw, 1000), reach;

    if (dice < 80)
        return draw_below(draw, least);
    if (limits->layered > 0 && dice < 200)
        return limits->layered;
    /* Large ones are seldom, that there may be many, but in a storm of large ones truly large. */
    if (dice >= 998 && most > 1 << 20)
        return between(draw, most / 32, most + 1);
    reach = dice < 750 ? 4 : dice < 960 ? 32 : dice < 998 ? 256 : most / least;
    return between(draw, least, least * reach < most ? least * reach : most + 1);
}

static enum data_kind draw_kind(struct draw *draw)
{
    if (draw_once_in(draw, 2))
        return DATA_GAUSSIAN;
    return (enum data_kind)draw_below(draw, DATA_KINDS);
}

static enum storm_what draw_what(struct draw *draw)
{
    uint64_t dice = draw_below(draw, 100);

    if (dice < 68)
        return STORM_FLOAT32;
    if (dice < 81 && element_datatype(ELEMENT_FLOAT16) != MPI_DATATYPE_NULL)
        return STORM_FLOAT16;
    if (dice < 90)
        return STORM_OPAQUE16;
    return (enum storm_what)(STORM_MAX + draw_below(draw, STORM_WHATS - STORM_MAX));
}

static void draw_buffers(struct draw *draw, const struct storm_limits *limits,
                         struct storm_call *call)
{
    call->in_place = draw_once_in(draw, 2);
    call->ahead = call->further = 0;
    if (call->what < STORM_SUMS && draw_once_in(draw, 3)) {
        call->ahead = draw_below(draw, 17);
        call->further = draw_below(draw, 17);
    }
    call->from = call->to = PLACE_HOST;
    if (!limits->devices)
        return;
    call->from = call->to = PLACE_DEVICE;
    if (draw_once_in(draw, 3)) {
        call->from = (enum place)draw_below(draw, PLACES);
        call->to = (enum place)draw_below(draw, PLACES);
    }
}

struct storm_call draw_call(struct draw *draw, const struct storm_limits *limits)
{
    struct storm_call call = {.what = draw_what(draw)};

    call.count = draw_count(draw, limits);
    call.kind = draw_kind(draw);
    call.large = draw_once_in(draw, 8);
    call.apart = draw_once_in(draw, 6);
    draw_buffers(draw, limits, &call);
    return call;
}

struct storm_call draw_again(struct draw *draw, const struct storm_call *call)
{
    struct storm_call again = *call;

    if (draw_once_in(draw, 20))
        again.kind = (enum data_kind)(DATA_NONFINITE + draw_below(draw, 2));
    else if (draw_once_in(draw, 20))
        again.kind = draw_kind(draw);
    return again;
}

struct storm_call draw_own(const struct storm_call *call, uint64_t seed, int rank,
                           const struct storm_limits *limits)
{
    struct draw draw = {seed, 1000 + (uint64_t)rank, 0};
    struct storm_call own = *call;

    if (call->apart)
        draw_buffers(&draw, limits, &own);
    return own;
}

/* ---- making ---- */

static const char *const names[] = {"float32",
                                    "float16",
                                    "two bytes by an op",
                                    "float32 max",
                                    "float32 product",
                                    "int",
                                    "unsigned xor",
                                    "short",
                                    "double",
                                    "three floats by an op",
                                    "two floats of four by an op"};

/* What the program has made; begun when it is first needed. */
static bool begun;
static MPI_Datatype pair, triple, gaps;
static MPI_Op half_sum, triple_sum, gaps_sum;

const char *make_name(enum storm_what what)
{
    return names[what];
}

enum element make_type(enum storm_what what)
{
    return what == STORM_FLOAT16 || what == STORM_OPAQUE16 || what == STORM_SHORT ? ELEMENT_FLOAT16
                                                                                  : ELEMENT_FLOAT32;
}

bool make_is_sum(enum storm_what what)
{
    return what < STORM_SUMS || what >= STORM_TRIPLES;
}

/* How many elements of data one of the datatype has. */
static size_t data_in(enum storm_what what)
{
    return what == STORM_DOUBLE ? 2 : what == STORM_TRIPLES ? 3 : what == STORM_GAPS ? 4 : 1;
}

static bool is_gap(size_t element)
{
    return element % 2 == 1;
}

void make_clear_gaps(enum storm_what what, size_t count, void *result)
{
    if (what == STORM_GAPS)
        for (size_t i = 0; i < count; i++)
            if (is_gap(i))
                element_store(ELEMENT_FLOAT32, result, i, 0);
}

static void add_triples(void *in, void *inout, int *length, MPI_Datatype *datatype)
{
    const float *from = in;
    float *to = inout;

    (void)datatype;
    for (int i = 0; i < 3 * *length; i++)
        to[i] += from[i];
}

static void add_between_gaps(void *in, void *inout, int *length, MPI_Datatype *datatype)
{
    const float *from = in;
    float *to = inout;

    (void)datatype;
    for (int i = 0; i < 4 * *length; i++)
        if (!is_gap((size_t)i))
            to[i] += from[i];
}

static void begin(void)
{
    MPI_Datatype apart;

    MPI_Type_contiguous(2, MPI_BYTE, &pair);
    MPI_Type_contiguous(3, MPI_FLOAT, &triple);
    MPI_Type_vector(2, 1, 2, MPI_FLOAT, &apart);
    MPI_Type_create_resized(apart, 0, 4 * sizeof(float), &gaps);
    MPI_Type_free(&apart);
    MPI_Type_commit(&pair);
    MPI_Type_commit(&triple);
    MPI_Type_commit(&gaps);
    MPI_Op_create(element_add_float16, 1, &half_sum);
    MPI_Op_create(add_triples, 1, &triple_sum);
    MPI_Op_create(add_between_gaps, 1, &gaps_sum);
    begun = true;
}

void make_end(void)
{
    if (!begun)
        return;
    MPI_Type_free(&pair);
    MPI_Type_free(&triple);
    MPI_Type_free(&gaps);
    MPI_Op_free(&half_sum);
    MPI_Op_free(&triple_sum);
    MPI_Op_free(&gaps_sum);
}

/* 0 for what the type of the data has anyway. */
static void find_objects(enum storm_what what, MPI_Datatype *datatype, MPI_Op *op)
{
    if (!begun)
        begin();
    *datatype = what == STORM_INT        ? MPI_INT
                : what == STORM_BITS     ? MPI_UNSIGNED
                : what == STORM_SHORT    ? MPI_SHORT
                : what == STORM_DOUBLE   ? MPI_DOUBLE
                : what == STORM_OPAQUE16 ? pair
                : what == STORM_TRIPLES  ? triple
                : what == STORM_GAPS     ? gaps
                                         : 0;
    *op = what == STORM_MAX        ? MPI_MAX
          : what == STORM_PRODUCT  ? MPI_PROD
          : what == STORM_BITS     ? MPI_BXOR
          : what == STORM_OPAQUE16 ? half_sum
          : what == STORM_TRIPLES  ? triple_sum
          : what == STORM_GAPS     ? gaps_sum
                                   : 0;
}

struct placed make_sum(const struct storm_call *call, uint64_t seed)
{
    struct placed sum = {.kind = call->kind,
                         .type = make_type(call->what),
                         .seed = seed,
                         .count = call->count - call->count % data_in(call->what),
                         .from = call->from,
                         .to = call->to,
                         .in_place = call->in_place,
                         .ahead = call->ahead,
                         .further = call->further};

    find_objects(call->what, &sum.datatype, &sum.op);
    return sum;
}

bool make_call(const struct storm_call *call, const struct placed *sum, MPI_Comm comm, void *result)
{
    struct sum large = {sum->kind, sum->type, sum->seed, sum->count, SUM_LARGE};

    if (call->large && call->what < STORM_OPAQUE16 && call->from == PLACE_HOST &&
        call->to == PLACE_HOST)
        return sum_reduce(&large, comm, result);
    return placed_sum(sum, comm, result);
}

/* ---- communicators ---- */

const char *make_comm_name(enum make_comm kind)
{
    static const char *const kinds[] = {"the world",          "a duplicate",           "reversed",
                                        "even and odd ranks", "all but the last rank", "blocks"};

    return kinds[kind];
}

MPI_Comm make_comm(enum make_comm kind, int *group)
{
    MPI_Comm comm = MPI_COMM_WORLD;
    int key = kind == MAKE_REVERSED ? -check_rank : check_rank;

    *group = kind == MAKE_SPLIT    ? check_rank % 2
             : kind == MAKE_MOST   ? check_rank == check_size - 1
             : kind == MAKE_BLOCKS ? check_rank >= 3
                                   : 0;
    if (kind == MAKE_DUP)
        MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    else if (kind != MAKE_WORLD)
        MPI_Comm_split(MPI_COMM_WORLD, kind == MAKE_MOST && *group ? MPI_UNDEFINED : *group, key,
                       &comm);
    if (comm != MPI_COMM_NULL)
        MPI_Comm_set_name(comm, make_comm_name(kind));
    return comm;
}
