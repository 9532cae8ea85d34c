/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

#include "unit/lib/family_reference.h"

#include <math.h>
#include <string.h>

#include "unit/lib/codec_reference.h"

/* ---- pieces ---- */

static size_t buckets_of(size_t count)
{
    return (count + BUCKET - 1) / BUCKET;
}

static size_t codes_at(size_t count)
{
    return (4 * buckets_of(count) + 15) / 16 * 16;
}

size_t rotated_reference_bytes(size_t count, unsigned encoding)
{
    return codes_at(count) + buckets_of(count) * 128 * (encoding - 16);
}

/* The elements of a bucket times FACTOR; zeros behind the piece. */
static void elements_of(const struct cgx_coding *coding, const struct cgx_piece *piece,
                        size_t bucket, const void *elements, size_t before, double by, float *x)
{
    for (size_t i = 0; i < BUCKET; i++)
        x[i] = bucket * BUCKET + i < piece->count
                   ? (float)(by *
                             reference_widen(coding->dtype, elements, before + bucket * BUCKET + i))
                   : 0;
}

/* The levels of a bucket, in the order of elements; returns its step. */
static float levels_of(const struct cgx_piece *piece, size_t bucket, const unsigned char *payload,
                       float *z)
{
    int width = (int)piece->bits - 16;
    const unsigned char *at = payload + piece->offset;
    float step;

    memcpy(&step, at + 4 * bucket, sizeof step);
    for (int lane = 0; lane < 32; lane++)
        for (int e = 0; e < 32; e++) {
            const unsigned char *codes =
                at + codes_at(piece->count) + bucket * (size_t)(128 * width);

            z[bucket_element(lane, e)] = bucket_level(bucket_code(codes, width, lane, e), width);
        }
    return step;
}

/* ---- operations ---- */

static void write_bucket(const struct cgx_piece *piece, size_t bucket, const float *z,
                         bool of_elements, float n, double f, unsigned char *payload)
{
    int width = (int)piece->bits - 16;
    unsigned char *at = payload + piece->offset;
    uint32_t header = 0x7FC00000;

    if (n == 0)
        header = 0;
    else if (isfinite(n))
        header = bucket_encode(width, z, of_elements ? n : n / 1024, of_elements ? n * 1024 : n, f,
                               of_elements ? 0x1p-10 : 1,
                               at + codes_at(piece->count) + bucket * (size_t)(128 * width));
    memcpy(at + 4 * bucket, &header, sizeof header);
}

void rotated_reference_encode(const struct cgx_coding *coding, const struct cgx_piece *piece,
                              const void *buffer, unsigned char *payload)
{
    memset(payload + piece->offset, 0, rotated_reference_bytes(piece->count, piece->bits));
    for (size_t bucket = 0; bucket < buckets_of(piece->count); bucket++) {
        float x[BUCKET], n;
        double f;

        elements_of(coding, piece, bucket, buffer, piece->first, 1, x);
        f = bucket_factor(bucket_sum_of_elements(x));
        for (int i = 0; i < BUCKET; i++)
            x[i] = (float)(f * x[i]);
        n = bucket_sum_of_elements(x);
        bucket_turn(coding, piece->first + bucket * BUCKET, x);
        bucket_stages(bucket_forth, x);
        write_bucket(piece, bucket, x, true, n, f, payload);
    }
}

void rotated_reference_decode(const struct cgx_coding *coding, const struct cgx_piece *piece,
                              const unsigned char *payload, void *buffer)
{
    for (size_t bucket = 0; bucket < buckets_of(piece->count); bucket++) {
        float z[BUCKET], step = levels_of(piece, bucket, payload, z);
        float large = step >= 0x1p80f ? 0x1p40f : 1;

        for (int i = 0; i < BUCKET; i++)
            z[i] *= step / large;
        bucket_stages(bucket_back, z);
        bucket_turn(coding, piece->first + bucket * BUCKET, z);
        for (size_t i = 0; i < BUCKET && bucket * BUCKET + i < piece->count; i++)
            reference_narrow(coding->dtype,
                             isnan(step) ? NAN
                             : step == 0 ? 0
                                         : z[i] * large,
                             buffer, piece->first + bucket * BUCKET + i);
    }
}

/* Adds SOURCE; NULL: the buffer. */
static void add(const struct cgx_coding *coding, const struct cgx_piece *piece, size_t bucket,
                const unsigned char *source, const void *buffer, float *sum)
{
    float z[BUCKET], step;

    if (source) {
        step = levels_of(piece, bucket, source, z);
        for (int i = 0; i < BUCKET; i++)
            z[i] *= step;
    } else {
        elements_of(coding, piece, bucket, buffer, piece->first, 0x1p-10, z);
        bucket_turn(coding, piece->first + bucket * BUCKET, z);
        bucket_stages(bucket_forth, z);
    }
    for (int i = 0; i < BUCKET; i++)
        sum[i] += z[i];
}

void rotated_reference_reduce(const struct cgx_coding *coding, const struct cgx_piece *piece,
                              const unsigned char *const *sources, size_t nsources,
                              const void *buffer, unsigned char *payload)
{
    static unsigned char room[1 << 16];
    size_t bytes = rotated_reference_bytes(piece->count, piece->bits);
    struct cgx_piece here = *piece;

    here.offset = 0; /* the payload may be a source */
    memset(room, 0, bytes);
    for (size_t bucket = 0; bucket < buckets_of(piece->count); bucket++) {
        float sum[BUCKET] = {0};
        double f;

        for (size_t p = 0; p < nsources; p++)
            add(coding, piece, bucket, sources[p], buffer, sum);
        f = bucket_factor(bucket_sum_of_codes(sum, sum));
        for (int i = 0; i < BUCKET; i++)
            sum[i] = (float)(f * sum[i]);
        write_bucket(&here, bucket, sum, false, bucket_sum_of_codes(sum, sum), f, room);
    }
    memcpy(payload + piece->offset, room, bytes);
}

/* ---- of the family that a piece has ---- */

static bool is_rotated(unsigned encoding)
{
    return encoding > 16 && encoding < 32;
}

size_t reference_bytes(size_t count, unsigned bits, unsigned bucket_size, enum cgx_dtype dtype)
{
    return is_rotated(bits) ? rotated_reference_bytes(count, bits)
                            : maxmin_reference_bytes(count, bits, bucket_size, dtype);
}

void reference_encode(const struct cgx_coding *coding, const struct cgx_piece *piece,
                      const void *buffer, unsigned char *payload)
{
    if (is_rotated(piece->bits))
        rotated_reference_encode(coding, piece, buffer, payload);
    else
        maxmin_reference_encode(coding, piece, buffer, payload);
}

void reference_decode(const struct cgx_coding *coding, const struct cgx_piece *piece,
                      const unsigned char *payload, void *buffer)
{
    (is_rotated(piece->bits) ? rotated_reference_decode : maxmin_reference_decode)(coding, piece,
                                                                                   payload, buffer);
}

void reference_reduce(const struct cgx_coding *coding, const struct cgx_piece *piece,
                      const unsigned char *const *sources, size_t nsources, const void *buffer,
                      unsigned char *payload)
{
    if (is_rotated(piece->bits))
        rotated_reference_reduce(coding, piece, sources, nsources, buffer, payload);
    else
        maxmin_reference_reduce(coding, piece, sources, nsources, buffer, payload);
}
