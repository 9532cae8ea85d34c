/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

#include "draw.h"

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
