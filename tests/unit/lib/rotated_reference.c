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

/* ---- residuals ---- */

/* Those of a bucket times BY; zeros where there are none. */
static void residuals_of(const struct cgx_residuals *residuals, const struct cgx_piece *piece,
                         size_t bucket, float by, float *r)
{
    size_t first = bucket * BUCKET;

    memset(r, 0, BUCKET * sizeof *r);
    for (size_t i = first; residuals && i < first + BUCKET && i < piece->count; i++)
        r[i - first] =
            by * reference_widen(CGX_BFLOAT16, residuals->at, piece->first + i - residuals->first);
}

/* What residuals of the norm NR are multiplied by, to what has the norm NX. */
static float cap_of(float nx, float nr)
{
    return !(nx > 0) || nr == INFINITY ? 0 : nr / 16.0 <= nx ? 1 : sqrtf(16 * nx / nr);
}

/* Leaves what the bucket lacks of Z, of the unit of sums, which was multiplied by F. NX: the norm
 * of what residuals were added to. */
static void leave(const struct cgx_coding *coding, const struct cgx_piece *piece, size_t bucket,
                  float nx, const float *z, double f, const unsigned char *payload,
                  const struct cgx_residuals *residuals)
{
    size_t first = bucket * BUCKET;
    float e[BUCKET], step = levels_of(piece, bucket, payload, e);

    for (int i = 0; i < BUCKET; i++)
        e[i] = z[i] - (float)(step * f) * e[i];
    bucket_stages(bucket_back, e);
    bucket_turn(coding, piece->first + first, e);
    for (size_t i = first; !isnan(step) && nx != 0 && i < first + BUCKET && i < piece->count; i++) {
        uint16_t *at = &residuals->at[piece->first + i - residuals->first];

        reference_narrow(CGX_BFLOAT16, step == 0 ? 0 : (float)(e[i - first] / f), at, 0);
        *at = (*at & 0x7F80) == 0x7F80 ? 0 : *at;
    }
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

void rotated_reference_encode_kept(const struct cgx_coding *coding, const struct cgx_piece *piece,
                                   const void *buffer, const struct cgx_residuals *residuals,
                                   unsigned char *payload)
{
    memset(payload + piece->offset, 0, rotated_reference_bytes(piece->count, piece->bits));
    for (size_t bucket = 0; bucket < buckets_of(piece->count); bucket++) {
        float x[BUCKET], r[BUCKET], cap, n, nx;
        double f;

        elements_of(coding, piece, bucket, buffer, piece->first, 1, x);
        residuals_of(residuals, piece, bucket, 1, r);
        nx = bucket_sum_of_elements(x);
        cap = cap_of(nx, bucket_sum_of_elements(r));
        for (int i = 0; i < BUCKET && residuals; i++)
            x[i] = fmaf(cap, r[i], x[i]);
        f = bucket_factor(bucket_sum_of_elements(x));
        for (int i = 0; i < BUCKET; i++)
            x[i] = (float)(f * x[i]);
        n = bucket_sum_of_elements(x);
        bucket_turn(coding, piece->first + bucket * BUCKET, x);
        bucket_stages(bucket_forth, x);
        write_bucket(piece, bucket, x, true, n, f, payload);
        for (int i = 0; i < BUCKET; i++)
            x[i] *= 0x1p-10f;
        if (residuals)
            leave(coding, piece, bucket, nx, x, f, payload, residuals);
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

/* Adds residuals to a sum that is complete but for them; returns the norm of that. */
static float add_residuals(const struct cgx_coding *coding, const struct cgx_piece *piece,
                           size_t bucket, const struct cgx_residuals *residuals, float *sum)
{
    float r[BUCKET], cap, nx = bucket_sum_of_codes(sum, sum) * 0x1p-10f;

    residuals_of(residuals, piece, bucket, 0x1p-10f, r);
    cap = cap_of(nx, bucket_sum_of_elements(r));
    bucket_turn(coding, piece->first + bucket * BUCKET, r);
    bucket_stages(bucket_forth, r);
    for (int i = 0; i < BUCKET; i++)
        sum[i] = fmaf(cap, r[i], sum[i]);
    return nx;
}

void rotated_reference_reduce_kept(const struct cgx_coding *coding, const struct cgx_piece *piece,
                                   const unsigned char *const *sources, size_t nsources,
                                   const void *buffer, const struct cgx_residuals *residuals,
                                   unsigned char *payload)
{
    static unsigned char room[1 << 16];
    size_t bytes = rotated_reference_bytes(piece->count, piece->bits);
    struct cgx_piece here = *piece;

    here.offset = 0; /* the payload may be a source */
    memset(room, 0, bytes);
    for (size_t bucket = 0; bucket < buckets_of(piece->count); bucket++) {
        float sum[BUCKET] = {0}, nx = 0;
        double f;

        for (size_t p = 0; p < nsources; p++)
            add(coding, piece, bucket, sources[p], buffer, sum);
        if (residuals)
            nx = add_residuals(coding, piece, bucket, residuals, sum);
        f = bucket_factor(bucket_sum_of_codes(sum, sum));
        for (int i = 0; i < BUCKET; i++)
            sum[i] = (float)(f * sum[i]);
        write_bucket(&here, bucket, sum, false, bucket_sum_of_codes(sum, sum), f, room);
        if (residuals)
            leave(coding, &here, bucket, nx, sum, f, room, residuals);
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
        rotated_reference_encode_kept(coding, piece, buffer, NULL, payload);
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
        rotated_reference_reduce_kept(coding, piece, sources, nsources, buffer, NULL, payload);
    else
        maxmin_reference_reduce(coding, piece, sources, nsources, buffer, payload);
}
