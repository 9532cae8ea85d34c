/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

#include "coll/powers.h"

#include <math.h>

#include "codec/bucket.h"
#include "codec/encoding.h"
#include "codec/peek.h"
#include "coll/feedback.h"

/* The payloads of contributions. */
struct inputs {
    const struct cgx_payloads *from;
    const unsigned char *begin, *end; /* between nodes: where those that count have come to */
    unsigned contributions;
    bool known;
};

unsigned cgx_powers_contributions(const struct cgx_schedule *schedule)
{
    if (schedule->grid.rows > 1)
        return schedule->grid.rows;
    return schedule->nodes->nodes > 1 ? schedule->nodes->nodes : schedule->ranks;
}

/* Between nodes, sources that local peers have brought are none. */
static bool counts(const struct inputs *inputs, const unsigned char *payload)
{
    return !inputs->begin || (payload >= inputs->begin && payload < inputs->end);
}

static struct inputs inputs_of(const struct cgx_slice *slice, const struct cgx_payloads *from)
{
    const struct cgx_schedule *schedule = slice->coll->schedule;
    bool is_cross = schedule->nodes->nodes > 1;
    const unsigned char *staging = slice->slot->staging;
    const size_t *incoming = slice->incoming;
    enum cgx_level last = schedule->grid.rows > 1 ? CGX_LEVEL_COLUMN : CGX_LEVEL_ROW;
    struct inputs inputs = {.from = from,
                            .begin = is_cross ? staging + incoming[last] : NULL,
                            .end = is_cross ? staging + slice->samples : NULL,
                            .contributions = cgx_powers_contributions(schedule)};
    unsigned others = 0;

    for (size_t i = 0; i < from->count; i++)
        others += counts(&inputs, from->at[i]);
    inputs.known = others + 1 == inputs.contributions &&
                   (inputs.contributions == 2 ||
                    (is_cross ? schedule->cross : schedule->inner) == CGX_REDUCTION_SRA);
    return inputs;
}

static double square_of(const float *values, size_t count)
{
    double sum = 0;

    for (size_t i = 0; i < count; i++)
        sum += (double)values[i] * (double)values[i];
    return sum;
}

/* The power of all contributions to bucket INDEX of PIECE; NaN if it is not known. */
static double inputs_power(const struct inputs *inputs, const struct cgx_coding *coding,
                           const struct cgx_piece *piece, size_t index)
{
    struct cgx_piece there = *piece;
    float values[CGX_BUCKET_SIZE_MAX], scale;
    double sum = 0;

    there.offset -= inputs->from->origin;
    for (size_t i = 0; inputs->known && i < inputs->from->count; i++) {
        const unsigned char *payload = inputs->from->at[i];

        if (!counts(inputs, payload))
            continue;
        if (cgx_peek_bucket(coding, &there, index, payload, values, &scale) != CGX_OK)
            return NAN;
        sum += square_of(values, cgx_bucket_elements(piece, coding->bucket_size, index));
    }
    return inputs->known ? sum * inputs->contributions / (inputs->contributions - 1) : NAN;
}

/* Keeps some of the COUNT values of bucket INDEX, and returns half the square of their change,
 * taken for all; NaN if it is not known. */
static double change_of(struct cgx_kept *kept, const float *values, size_t count, size_t index)
{
    size_t some = count < CGX_KEPT_ELEMENTS ? count : CGX_KEPT_ELEMENTS;
    size_t stride = count / some, from = index * 7 % stride;
    double sum = 0;

    if (kept->room - kept->at < some)
        return NAN;
    for (size_t i = 0; i < some; i++) {
        float *before = &kept->elements[kept->at++], now = values[from + i * stride];
        double change = (double)now - (double)*before;

        sum += change * change;
        *before = now;
    }
    return kept->compares ? sum / 2 * (double)count / (double)some : NAN;
}

static void add(struct cgx_finding *finding, enum cgx_power power, double value, double weight)
{
    if (!isfinite(value) || !isfinite(weight))
        return;
    finding->powers[power] += value;
    finding->seen[power] += weight;
}

static void add_bucket(const struct cgx_slice *slice, const struct inputs *inputs,
                       const struct cgx_piece *piece, size_t index, struct cgx_finding *finding)
{
    const struct cgx_coding *coding = &slice->coding;
    size_t count = cgx_bucket_elements(piece, coding->bucket_size, index);
    const unsigned char *payload = slice->slot->staging;
    float values[CGX_BUCKET_SIZE_MAX], scale;
    double weight;

    if (cgx_peek_bucket(coding, piece, index, payload, values, &scale) != CGX_OK)
        return;
    scale = cgx_bucket_scale(payload + piece->offset, index);
    weight = (double)count * scale * scale * cgx_encoding_range(piece->bits, coding->rounding);
    add(finding, CGX_POWER_SUM, square_of(values, count), weight);
    add(finding, CGX_POWER_CHANGE,
        change_of(slice->coll->feedback->kept, values, count,
                  piece->first / cgx_encoding_bucket(piece->bits, coding->bucket_size) + index),
        weight);
    add(finding, CGX_POWER_INPUTS, inputs_power(inputs, coding, piece, index), weight);
}

void cgx_powers_add(const struct cgx_slice *slice, const struct cgx_block *part,
                    const struct cgx_payloads *from)
{
    const struct cgx_coll *coll = slice->coll;
    const struct inputs inputs = inputs_of(slice, from);
    unsigned bucket_size = slice->coding.bucket_size;
    bool is_here = coll->schedule->nodes->nodes > 1 || slice->pull != CGX_PULL_DEVICE;

    if (!coll->feedback || !coll->feedback->kept)
        return;
    for (size_t i = 0; i < part->npieces; i++) {
        const struct cgx_piece *piece = &cgx_slice_pieces(slice, part)[i];
        struct cgx_sampling sampling = coll->feedback->kept->sampling;
        struct cgx_finding *finding =
            &coll->feedback->findings[cgx_plan_segment(coll->schedule->plan, piece->first)];
        size_t samples = cgx_sample_count(cgx_piece_buckets(piece, bucket_size), sampling);

        if (cgx_encoding_is_exact(piece->bits))
            continue;
        finding->owned +=
            cgx_feedback_weight(coll->schedule->plan, piece, slice->slot->staging + piece->offset);
        for (size_t s = 0; is_here && s < samples; s++)
            add_bucket(slice, &inputs, piece, cgx_sample_bucket(s, sampling), finding);
    }
}
