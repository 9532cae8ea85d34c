/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

/* Operations on buckets of rotated encodings: element types, range and headers. The arithmetic is
 * in the kernels. */

#include "codec/host_walk.h"

#include <string.h>

#include "codec/encoding.h"
#include "codec/host_history.h"
#include "codec/rotated/rotated_kernels.h"
#include "codec/rotated/rotated_model.h"

/* The most sources that one pass sums in registers. */
#define SOURCES_AT_ONCE 16

static const struct cgx_rotated_kernels *kernels_of(const struct cgx_walk *walk)
{
    return walk->kernels->families[CGX_FAMILY_ROTATED];
}

static unsigned width_of(const struct cgx_walk *walk)
{
    return walk->piece->bits - CGX_ROTATED;
}

/* The number of a bucket in the buffer, on which its signs depend. */
static uint32_t number_of(const struct cgx_bucket *bucket)
{
    return (uint32_t)(bucket->first / CGX_ROTATED_BUCKET);
}

static enum cgx_status read_header(const struct cgx_bucket *bucket, const unsigned char *payload,
                                   uint32_t *header)
{
    memcpy(header, payload + bucket->header, sizeof *header);
    return cgx_rotated_is_header(*header) ? CGX_OK : CGX_ERR_FORMAT;
}

/* ---- quantising ---- */

/* Values to quantise, already multiplied by FACTOR: a COMPLETE sum, or incomplete elements from
 * `rotate`. SQUARES: the sum of squares, of incomplete elements before their rotation. */
struct quantity {
    const float *values;
    bool complete;
    float squares;
    float factor;
};

/* Writes a bucket. */
static void quantise(const struct cgx_walk *walk, const struct cgx_bucket *bucket,
                     const struct quantity *quantity, unsigned char *payload)
{
    bool complete = quantity->complete;
    float squares = quantity->squares;
    float mean = complete ? squares * 0x1p-10f : squares; /* mean square of complete values */
    float total = complete ? squares : squares * 0x1p10f;
    uint32_t header = 0;

    if (!(squares < INFINITY)) {
        cgx_walk_poison(walk, bucket, payload);
        return;
    }
    if (squares > 0) {
        float inv = cgx_reciprocal(cgx_rotated_rms(mean));
        float a = kernels_of(walk)->quantise(quantity->values, complete, inv, width_of(walk),
                                             payload + bucket->codes[0]);
        float step = cgx_rotated_step(inv, a, total);

        header = cgx_rotated_header(complete ? step : step * 0x1p-10f, quantity->factor);
    }
    cgx_walk_header(bucket, header, payload);
    if (header == 0)
        cgx_walk_clear(walk, bucket, payload);
}

/* ---- encode ---- */

static enum cgx_status encode(const struct cgx_walk *walk, const struct cgx_work *work,
                              const struct cgx_bucket *bucket)
{
    const struct cgx_rotated_kernels *kernels = kernels_of(walk);
    const unsigned char *elements = cgx_walk_element(walk, work->in, bucket->first);
    cgx_rotated_values room, rotated;
    struct quantity quantity = {.values = rotated};
    const cgx_float32 *values;

    cgx_walk_prefetch(elements, bucket->count * cgx_dtype_size(walk->coding->dtype));
    values = cgx_history_widened(walk, work, bucket, elements, room);
    quantity.squares = kernels->rotate(values, 1, walk->key, number_of(bucket), rotated);
    quantity.factor = cgx_rotated_factor(quantity.squares);
    if (quantity.factor != 1)
        quantity.squares =
            kernels->rotate(values, quantity.factor, walk->key, number_of(bucket), rotated);
    quantise(walk, bucket, &quantity, work->out);
    return CGX_OK;
}

/* ---- reduce ---- */

/* A sum in progress. Sources wait until one pass can sum SOURCES_AT_ONCE. */
struct sum {
    struct cgx_rotated_source waiting[SOURCES_AT_ONCE];
    size_t nwaiting;
    bool began;    /* VALUES has the sum of earlier sources */
    bool elements; /* ROTATED is one of the waiting sources */
    float squares; /* sum of squares of VALUES */
    cgx_rotated_values values, rotated, room;
};

static void add_waiting(const struct cgx_walk *walk, struct sum *sum)
{
    sum->squares =
        kernels_of(walk)->sum(sum->waiting, sum->nwaiting, width_of(walk), sum->began, sum->values);
    sum->began = true;
    sum->elements = false;
    sum->nwaiting = 0;
}

/* Adds unquantised ELEMENTS, rotated and in the unit of levels, to a sum. */
static void add_elements(const struct cgx_walk *walk, const struct cgx_work *work,
                         const struct cgx_bucket *bucket, const unsigned char *elements,
                         struct sum *sum)
{
    if (sum->elements || sum->nwaiting == SOURCES_AT_ONCE)
        add_waiting(walk, sum);
    kernels_of(walk)->rotate(cgx_history_widened(walk, work, bucket, elements, sum->room), 0x1p-10f,
                             walk->key, number_of(bucket), sum->rotated);
    sum->waiting[sum->nwaiting++] =
        (struct cgx_rotated_source){.step = 1, .elements = sum->rotated};
    sum->elements = true;
}

/* Adds a bucket of the payload SOURCE to a sum. A poisoned bucket has the step NaN, which makes the
 * sum NaN. */
static enum cgx_status add_codes(const struct cgx_walk *walk, const struct cgx_bucket *bucket,
                                 const unsigned char *source, struct sum *sum)
{
    uint32_t header;

    if (read_header(bucket, source, &header) != CGX_OK)
        return CGX_ERR_FORMAT;
    if (sum->nwaiting == SOURCES_AT_ONCE)
        add_waiting(walk, sum);
    sum->waiting[sum->nwaiting++] = (struct cgx_rotated_source){.codes = source + bucket->codes[0],
                                                                .step = cgx_bits_float(header)};
    return CGX_OK;
}

static enum cgx_status reduce(const struct cgx_walk *walk, const struct cgx_work *work,
                              const struct cgx_bucket *bucket)
{
    struct quantity quantity = {.complete = true};
    struct sum sum;

    sum.nwaiting = 0;
    sum.began = sum.elements = false;
    for (size_t p = 0; p < work->nsources; p++) {
        const unsigned char *elements = cgx_walk_unquantised(walk, work, p, bucket->first);

        if (elements)
            add_elements(walk, work, bucket, elements, &sum);
        else if (add_codes(walk, bucket, work->sources[p], &sum) != CGX_OK)
            return CGX_ERR_FORMAT;
    }
    add_waiting(walk, &sum);
    quantity.factor = cgx_rotated_factor(sum.squares);
    if (quantity.factor != 1) {
        for (size_t i = 0; i < CGX_ROTATED_BUCKET; i++)
            sum.values[i] *= quantity.factor;
        add_waiting(walk, &sum);
    }
    quantity.values = sum.values;
    quantity.squares = sum.squares;
    quantise(walk, bucket, &quantity, work->out);
    return CGX_OK;
}

/* ---- decode ---- */

/* Decodes all elements of a bucket with HEADER. */
static void restore(const struct cgx_walk *walk, const struct cgx_bucket *bucket, uint32_t header,
                    const unsigned char *payload, cgx_float32 *values)
{
    float step = cgx_bits_float(header);
    bool is_large = step >= CGX_ROTATED_LARGE; /* false for the poison, a NaN */

    if (header == 0 || header == CGX_BUCKET_POISON) {
        for (size_t i = 0; i < CGX_ROTATED_BUCKET; i++)
            values[i] = step;
        return;
    }
    kernels_of(walk)->restore(payload + bucket->codes[0], width_of(walk),
                              is_large ? step * CGX_ROTATED_ASIDE : step, walk->key,
                              number_of(bucket), values);
    for (size_t i = 0; is_large && i < CGX_ROTATED_BUCKET; i++)
        values[i] *= 1 / CGX_ROTATED_ASIDE;
}

static enum cgx_status decode(const struct cgx_walk *walk, const struct cgx_work *work,
                              const struct cgx_bucket *bucket)
{
    enum cgx_dtype dtype = walk->coding->dtype;
    size_t size = cgx_dtype_size(dtype);
    unsigned char *elements = (unsigned char *)work->out + bucket->first * size;
    bool in_place = dtype == CGX_FLOAT32 && bucket->count == CGX_ROTATED_BUCKET;
    cgx_rotated_values room;
    cgx_float32 *values = in_place ? (cgx_float32 *)elements : room;
    uint32_t header;

    cgx_walk_prefetch(elements, bucket->count * size);
    if (read_header(bucket, work->in, &header) != CGX_OK)
        return CGX_ERR_FORMAT;
    restore(walk, bucket, header, work->in, values);
    if (work->history.scales) {
        cgx_history_multiply(walk, work, bucket, values);
        cgx_history_enter(walk, work, bucket, values);
    }
    if (!in_place)
        walk->kernels->narrow[dtype](room, bucket->count, elements);
    return CGX_OK;
}

/* ---- the family ---- */

static enum cgx_status peek(const struct cgx_walk *walk, const struct cgx_bucket *bucket,
                            const unsigned char *payload, float *values, float *scale)
{
    cgx_rotated_values room;
    uint32_t header;

    if (read_header(bucket, payload, &header) != CGX_OK)
        return CGX_ERR_FORMAT;
    restore(walk, bucket, header, payload, room);
    memcpy(values, room, bucket->count * sizeof *values);
    *scale = cgx_bits_float(header) * cgx_encoding_noise(walk->piece->bits);
    return CGX_OK;
}

const struct cgx_host_family cgx_host_rotated = {
    .operations = {[CGX_ENCODE] = encode, [CGX_REDUCE] = reduce, [CGX_DECODE] = decode},
    .peek = peek};
