/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

#include "unit/lib/codec_reference.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static size_t up(size_t value, size_t multiple)
{
    return (value + multiple - 1) / multiple * multiple;
}

static float as_float(uint32_t bits)
{
    float value;

    memcpy(&value, &bits, sizeof value);
    return value;
}

static uint32_t as_bits(float value)
{
    uint32_t bits;

    memcpy(&bits, &value, sizeof bits);
    return bits;
}

/* ---- types ---- */

/* VALUE to a binary format of that many fraction bits and least exponent, to nearest. */
static double round_to(double value, int fraction, int least_exponent)
{
    int exponent;
    double unit;

    if (value == 0 || !isfinite(value))
        return value;
    frexp(value, &exponent);
    exponent = exponent - 1 < least_exponent ? least_exponent : exponent - 1;
    unit = ldexp(1, exponent - fraction);
    return nearbyint(value / unit) * unit;
}

float reference_widen(enum cgx_dtype dtype, const void *elements, size_t index)
{
    uint16_t half;
    double magnitude;

    if (dtype == CGX_FLOAT32) {
        float value;

        memcpy(&value, (const char *)elements + 4 * index, sizeof value);
        return value;
    }
    memcpy(&half, (const char *)elements + 2 * index, sizeof half);
    if (dtype == CGX_BFLOAT16)
        return as_float((uint32_t)half << 16);
    if ((half >> 10 & 31) == 31)
        magnitude = half & 1023 ? NAN : INFINITY;
    else if ((half >> 10 & 31) == 0)
        magnitude = ldexp(half & 1023, -24);
    else
        magnitude = ldexp(1024 + (half & 1023), (half >> 10 & 31) - 25);
    return (float)(half >> 15 ? -magnitude : magnitude);
}

static uint16_t to_float16(float value)
{
    uint16_t sign = signbit(value) ? 0x8000 : 0;
    double magnitude = fabs(round_to(value, 10, -14));
    int exponent;

    if (isnan(value))
        return 0x7E00;
    if (magnitude > 65504)
        return (uint16_t)(sign | 0x7C00);
    if (magnitude < 0x1p-14)
        return (uint16_t)(sign | (int)ldexp(magnitude, 24));
    frexp(magnitude, &exponent);
    return (uint16_t)(sign | (exponent + 14) << 10 | ((int)ldexp(magnitude, 11 - exponent) & 1023));
}

static uint16_t to_bfloat16(float value)
{
    double rounded = round_to(value, 7, -126);

    if (isnan(value))
        return 0x7FC0;
    if (fabs(rounded) >= 0x1p128)
        rounded = copysignf(INFINITY, value);
    return (uint16_t)(as_bits((float)rounded) >> 16);
}

void reference_narrow(enum cgx_dtype dtype, float value, void *elements, size_t index)
{
    uint16_t half = dtype == CGX_FLOAT16 ? to_float16(value) : to_bfloat16(value);

    if (isnan(value))
        value = as_float(0x7FC00000);
    if (dtype == CGX_FLOAT32)
        memcpy((char *)elements + 4 * index, &value, sizeof value);
    else
        memcpy((char *)elements + 2 * index, &half, sizeof half);
}

/* ---- layout ---- */

struct slice {
    unsigned width;
    unsigned lowest; /* of the code's bits */
    size_t offset;
};

/* Which slices a width has; their number. */
static int slices_of(size_t count, unsigned bits, unsigned bucket_size, struct slice slices[3],
                     size_t *bytes)
{
    size_t end = up(4 * (up(count, bucket_size) / bucket_size), 16);
    unsigned lowest = 0;
    int n = 0;

    for (unsigned width = 8; width >= 1; width /= 2)
        if (bits & width) {
            slices[n++] = (struct slice){width, lowest, end};
            end = up(end + up(count, 64) * width / 8, 16);
            lowest += width;
        }
    *bytes = end;
    return n;
}

size_t reference_bytes(size_t count, unsigned bits, unsigned bucket_size, enum cgx_dtype dtype)
{
    struct slice slices[3];
    size_t bytes;

    if (bits == 32)
        return up(count * (dtype == CGX_FLOAT32 ? 4 : 2), 16);
    slices_of(count, bits, bucket_size, slices, &bytes);
    return bytes;
}

static void put_code(unsigned char *piece, const struct slice *slices, int n, size_t index,
                     unsigned code)
{
    for (int s = 0; s < n; s++)
        for (unsigned b = 0; b < slices[s].width; b++) {
            size_t bit = index * slices[s].width + b;

            if (code >> (slices[s].lowest + b) & 1)
                piece[slices[s].offset + bit / 8] |= (unsigned char)(1u << bit % 8);
        }
}

static unsigned get_code(const unsigned char *piece, const struct slice *slices, int n,
                         size_t index)
{
    unsigned code = 0;

    for (int s = 0; s < n; s++)
        for (unsigned b = 0; b < slices[s].width; b++) {
            size_t bit = index * slices[s].width + b;

            code |= (piece[slices[s].offset + bit / 8] >> bit % 8 & 1u) << (slices[s].lowest + b);
        }
    return code;
}

/* ---- buckets ---- */

static float step_of(float min, float max, unsigned steps)
{
    double low = fabs((double)min), high = fabs((double)max);
    float by_range = (float)((double)(float)((double)max - min) * (float)(1.0 / steps));
    float by_magnitude = (float)((low > high ? low : high) * 0x1.02p-15);
    double u = by_range > by_magnitude ? by_range : by_magnitude;
    int exponent;

    u = u > 0x1p-126 ? u : 0x1p-126;
    frexp(u, &exponent);
    return (float)(ceil(ldexp(u, 8 - exponent)) * ldexp(1, exponent - 8));
}

/* One bucket of N values; INDEX is the first one's place in the piece. The piece is zero before.
 * The bucket's header. */
static uint32_t encode_bucket(unsigned bits, const float *values, size_t n, size_t index,
                              const struct slice *slices, int nslices, unsigned char *piece)
{
    float min = INFINITY, max = -INFINITY, u, inv;
    int z, last = (1 << bits) - 1;
    uint32_t header = 0;

    for (size_t i = 0; i < n; i++) {
        if (!(fabs((double)values[i]) < 0x1p125))
            header = 0x7FC00000;
        min = values[i] < min ? values[i] : min;
        max = values[i] > max ? values[i] : max;
    }
    if (header == 0 && min == max) {
        float value = min == 0 ? 0 : min;

        memcpy(piece + slices[0].offset + index * slices[0].width / 8, &value, sizeof value);
    } else if (header == 0) {
        u = step_of(min, max, (1u << bits) - 1);
        inv = (float)(1.0 / u);
        z = (int)nearbyint((double)min * inv);
        header = as_bits(u) | ((uint32_t)z & 0xFFFF);
        for (size_t i = 0; i < n; i++) {
            int code = (int)nearbyint((double)values[i] * inv);

            code = code - z < 0 ? 0 : code - z > last ? last : code - z;
            put_code(piece, slices, nslices, index + i, (unsigned)code);
        }
    }
    return header;
}

static void encode_values(const struct cgx_coding *coding, const struct cgx_piece *piece,
                          const float *values, unsigned char *payload)
{
    unsigned char *out = payload + piece->offset;
    struct slice slices[3];
    size_t bytes;
    int nslices = slices_of(piece->count, piece->bits, coding->bucket_size, slices, &bytes);

    memset(out, 0, bytes);
    for (size_t bucket = 0; bucket < up(piece->count, coding->bucket_size) / coding->bucket_size;
         bucket++) {
        size_t i = bucket * coding->bucket_size;
        size_t n = piece->count - i < coding->bucket_size ? piece->count - i : coding->bucket_size;
        uint32_t header = encode_bucket(piece->bits, values + i, n, i, slices, nslices, out);

        memcpy(out + 4 * bucket, &header, sizeof header);
    }
}

void reference_encode(const struct cgx_coding *coding, const struct cgx_piece *piece,
                      const void *buffer, unsigned char *payload)
{
    size_t size = coding->dtype == CGX_FLOAT32 ? 4 : 2;
    float *values = malloc(piece->count * sizeof *values);

    if (piece->bits == 32) {
        memset(payload + piece->offset, 0, up(piece->count * size, 16));
        memcpy(payload + piece->offset, (const char *)buffer + piece->first * size,
               piece->count * size);
    } else {
        for (size_t i = 0; i < piece->count; i++)
            values[i] = reference_widen(coding->dtype, buffer, piece->first + i);
        encode_values(coding, piece, values, payload);
    }
    free(values);
}

float reference_step(const struct cgx_coding *coding, const struct cgx_piece *piece,
                     const unsigned char *payload, size_t index)
{
    uint32_t header;

    memcpy(&header, payload + piece->offset + index / coding->bucket_size * 4, sizeof header);
    return as_float(header & 0xFFFF0000);
}

/* The level, as it enters a sum. */
static float value_at(const struct cgx_coding *coding, const struct cgx_piece *piece,
                      const unsigned char *payload, size_t index)
{
    const unsigned char *in = payload + piece->offset;
    struct slice slices[3];
    size_t bytes, bucket = index / coding->bucket_size;
    uint32_t header;
    float constant;
    int n;

    if (piece->bits == 32)
        return reference_widen(coding->dtype, in, index);
    n = slices_of(piece->count, piece->bits, coding->bucket_size, slices, &bytes);
    memcpy(&header, in + 4 * bucket, sizeof header);
    memcpy(&constant, in + slices[0].offset + bucket * coding->bucket_size * slices[0].width / 8,
           sizeof constant);
    if (header == 0)
        return constant;
    return as_float(header & 0xFFFF0000) *
           (float)((int)get_code(in, slices, n, index) + (int16_t)(header & 0xFFFF));
}

void reference_decode(const struct cgx_coding *coding, const struct cgx_piece *piece,
                      const unsigned char *payload, void *buffer)
{
    size_t size = coding->dtype == CGX_FLOAT32 ? 4 : 2;

    for (size_t i = 0; i < piece->count; i++)
        reference_narrow(coding->dtype, value_at(coding, piece, payload, i), buffer,
                         piece->first + i);
    if (piece->bits == 32)
        memcpy((char *)buffer + piece->first * size, payload + piece->offset, piece->count * size);
}

float reference_sum(const struct cgx_coding *coding, const struct cgx_piece *piece,
                    const unsigned char *const *sources, size_t nsources, const void *buffer,
                    size_t index)
{
    float sum = 0;

    for (size_t p = 0; p < nsources; p++) {
        float value = sources[p] ? value_at(coding, piece, sources[p], index)
                                 : reference_widen(coding->dtype, buffer, piece->first + index);

        sum = p == 0 ? value : sum + value;
    }
    return sum;
}

void reference_reduce(const struct cgx_coding *coding, const struct cgx_piece *piece,
                      const unsigned char *const *sources, size_t nsources, const void *buffer,
                      unsigned char *payload)
{
    float *sums = calloc(piece->count, sizeof *sums);

    for (size_t i = 0; i < piece->count; i++)
        sums[i] = reference_sum(coding, piece, sources, nsources, buffer, i);
    if (piece->bits == 32) {
        memset(payload + piece->offset, 0,
               reference_bytes(piece->count, 32, coding->bucket_size, coding->dtype));
        for (size_t i = 0; i < piece->count; i++)
            reference_narrow(coding->dtype, sums[i], payload + piece->offset, i);
    } else {
        encode_values(coding, piece, sums, payload);
    }
    free(sums);
}
