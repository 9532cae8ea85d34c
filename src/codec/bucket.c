/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

#include "codec/bucket.h"

#include <string.h>

#include "codec/encoding.h"
#include "codec/quant.h"

static uint32_t header_at(const unsigned char *data, size_t index)
{
    uint32_t header;

    memcpy(&header, data + index * CGX_BUCKET_HEADER_BYTES, sizeof header);
    return header;
}

struct cgx_shown cgx_bucket_headers(const struct cgx_piece *piece, unsigned bucket_size)
{
    return (struct cgx_shown){.offset = piece->offset,
                              .bytes = cgx_bucket_count(piece->count, bucket_size) *
                                       CGX_BUCKET_HEADER_BYTES};
}

float cgx_bucket_scale(const unsigned char *data, size_t index)
{
    return cgx_header_scale(header_at(data, index));
}

bool cgx_bucket_zero(const unsigned char *data, size_t index, int32_t *zero)
{
    uint32_t header = header_at(data, index);

    *zero = cgx_header_zero(header);
    return cgx_header_is_grid(header);
}

double cgx_bucket_energy(const struct cgx_piece *piece, unsigned bucket_size,
                         const unsigned char *data)
{
    size_t buckets = cgx_bucket_count(piece->count, bucket_size);
    double sum = 0;

    if (cgx_encoding_is_exact(piece->bits))
        return 0;
    for (size_t i = 0; i < buckets; i++) {
        double u = (double)cgx_bucket_scale(data, i);

        sum += (double)cgx_bucket_elements(piece, bucket_size, i) * u * u;
    }
    return sum;
}

/* ---- sums beyond the type ---- */

/* A bucket in memory. */
struct stored {
    const struct cgx_coding *coding;
    const struct cgx_piece *piece;
    struct cgx_layout layout;
    size_t index;
    unsigned char *data;
};

/* Where its codes lie in plane I of the piece, which has WIDTH bits of each. */
static unsigned char *codes_of(const struct stored *bucket, int i, unsigned *width)
{
    size_t first = bucket->index * bucket->coding->bucket_size;

    *width = cgx_plane_width(bucket->piece->bits, i);
    return bucket->data + bucket->layout.plane[i] + first * *width / 8;
}

static unsigned code_at(const struct stored *bucket, size_t element)
{
    unsigned code = 0, place = 0;

    for (int i = 0; i < CGX_PLANES; i++) {
        unsigned width;
        const unsigned char *codes = codes_of(bucket, i, &width);

        if (width == 0)
            continue;
        code |= (codes[element * width / 8] >> element * width % 8 & ((1u << width) - 1)) << place;
        place += width;
    }
    return code;
}

static float constant_of(const struct stored *bucket)
{
    unsigned width = 0;
    float value;
    int i = -1;

    while (width == 0)
        codes_of(bucket, ++i, &width);
    memcpy(&value, codes_of(bucket, i, &width), sizeof value);
    return value;
}

/* Whether the exact sum may be beyond the type's range: what was quantised is no further than half
 * a step, or a whole one, from its levels. */
static bool may_overflow(const struct stored *bucket, float scales)
{
    bool stochastic = bucket->coding->rounding == CGX_ROUNDING_STOCHASTIC;
    bool float16 = bucket->coding->dtype == CGX_FLOAT16;
    size_t count = cgx_bucket_elements(bucket->piece, bucket->coding->bucket_size, bucket->index);
    uint32_t header = header_at(bucket->data, bucket->index);
    float u = cgx_header_scale(header), error = stochastic ? u : u / 2, zero;
    unsigned least = UINT32_MAX, most = 0;

    if (header == CGX_BUCKET_CONSTANT) {
        float value = constant_of(bucket);

        return cgx_may_overflow(value, value, scales, stochastic, float16);
    }
    zero = u * (float)cgx_header_zero(header);
    /* Most are far from it, whatever their codes. */
    if (!cgx_may_overflow(zero - u, zero + u * (float)(1 << bucket->piece->bits), scales,
                          stochastic, float16))
        return false;
    for (size_t i = 0; i < count; i++) {
        unsigned code = code_at(bucket, i);

        least = code < least ? code : least;
        most = code > most ? code : most;
    }
    return cgx_may_overflow(zero + u * (float)least - error, zero + u * (float)most + error, scales,
                            stochastic, float16);
}

static void poison(const struct stored *bucket)
{
    const uint32_t header = CGX_BUCKET_POISON;
    size_t first = bucket->index * bucket->coding->bucket_size;
    size_t rest = bucket->layout.elements - first; /* padding included */
    size_t count = rest < bucket->coding->bucket_size ? rest : bucket->coding->bucket_size;

    memcpy(bucket->data + bucket->index * CGX_BUCKET_HEADER_BYTES, &header, sizeof header);
    for (int i = 0; i < CGX_PLANES; i++) {
        unsigned width;
        unsigned char *codes = codes_of(bucket, i, &width);

        memset(codes, 0, count * width / 8);
    }
}

bool cgx_bucket_poison(const struct cgx_coding *coding, const struct cgx_piece *piece, size_t index,
                       float scales, unsigned char *data)
{
    const struct stored bucket = {
        .coding = coding,
        .piece = piece,
        .layout = cgx_piece_layout(piece->count, piece->bits, coding->bucket_size, coding->dtype),
        .index = index,
        .data = data};

    if (header_at(data, index) == CGX_BUCKET_POISON || !may_overflow(&bucket, scales))
        return false;
    poison(&bucket);
    return true;
}
