/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

#include "policy/recent.h"

#include <stdlib.h>

#include "codec/quant.h"
#include "util/integers.h"

/* The upper half is precise enough: squared, the error is less than 2^-14 of the element's square.
 */
static double widen(uint16_t kept)
{
    return (double)cgx_bits_float((uint32_t)kept << 16);
}

struct cgx_recent *cgx_recent_create(size_t most)
{
    struct cgx_recent *recent =
        calloc(1, sizeof *recent + CGX_RECENT_SUMS * most * sizeof recent->kept[0]);

    if (recent)
        recent->most = most;
    return recent;
}

struct cgx_taking cgx_recent_begin(struct cgx_recent *recent, uint32_t places, size_t buckets)
{
    size_t every = buckets > CGX_RECENT_RUNS ? cgx_divide_up(buckets, CGX_RECENT_RUNS) : 1;
    size_t runs = buckets > 0 ? cgx_divide_up(buckets, every) : 1;

    if (recent && recent->places != places) {
        recent->places = places;
        cgx_recent_forget(recent);
    }
    return (struct cgx_taking){
        .recent = recent, .every = every, .run = recent ? recent->most / runs : 0};
}

bool cgx_recent_wants(struct cgx_taking *taking)
{
    return taking->bucket++ % taking->every == 0;
}

/* The place of the sum AGO calls ago. The present sum goes to the place of the oldest. */
static unsigned place_of(const struct cgx_recent *recent, unsigned ago)
{
    return (recent->next + CGX_RECENT_SUMS - ago) % CGX_RECENT_SUMS;
}

static void take(struct cgx_taking *taking, uint16_t now)
{
    struct cgx_recent *recent = taking->recent;
    uint16_t *kept = &recent->kept[taking->taken++];
    double present = widen(now);

    for (unsigned ago = CGX_RECENT_NEAREST; ago <= CGX_RECENT_SUMS; ago++) {
        double difference = present - widen(kept[place_of(recent, ago) * recent->most]);

        taking->difference[ago - CGX_RECENT_NEAREST] += difference * difference;
    }
    taking->squares += present * present;
    kept[recent->next * recent->most] = now;
}

/* Runs of adjacent elements, since elements of matrices differ along their rows. The run moves on
 * from bucket to bucket. */
struct cgx_run cgx_recent_run(const struct cgx_taking *taking, size_t count)
{
    size_t run = count < taking->run ? count : taking->run; /* 0 without memory */

    return (struct cgx_run){.first = (taking->bucket / taking->every) * run % (count - run + 1),
                            .count = run};
}

void cgx_recent_take(struct cgx_taking *taking, const float *values, size_t count, double variance)
{
    const struct cgx_run run = cgx_recent_run(taking, count);

    for (size_t i = run.first; i < run.first + run.count; i++)
        take(taking, (uint16_t)(cgx_float_bits(values[i]) >> 16));
    taking->noise += (double)run.count * variance;
}

void cgx_recent_take_run(struct cgx_taking *taking, const uint16_t *halves, size_t count,
                         double variance)
{
    for (size_t i = 0; i < count; i++)
        take(taking, halves[i]);
    taking->noise += (double)count * variance;
}

struct cgx_change cgx_recent_end(struct cgx_taking *taking)
{
    struct cgx_recent *recent = taking->recent;
    struct cgx_change change = {INFINITY, taking->squares};

    if (!recent)
        return CGX_CHANGE_UNKNOWN;
    if (2 * taking->noise > taking->squares)
        change = (struct cgx_change){0, 0};
    if (taking->taken != recent->elements)
        cgx_recent_forget(recent);
    for (unsigned ago = CGX_RECENT_NEAREST; ago <= recent->count; ago++) {
        double noise = taking->noise + recent->noise[place_of(recent, ago)];
        double difference = taking->difference[ago - CGX_RECENT_NEAREST] - noise;

        if (difference < change.difference)
            change.difference = difference > 0 ? difference : 0;
    }
    recent->elements = taking->taken;
    recent->noise[recent->next] = taking->noise;
    recent->next = (recent->next + 1) % CGX_RECENT_SUMS;
    recent->count += recent->count < CGX_RECENT_SUMS;
    return change;
}
