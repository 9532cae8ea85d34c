/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

#include "codec/host_inspect.h"

#include <string.h>

#include "codec/bucket.h"
#include "codec/encoding.h"
#include "codec/squares.h"

static const struct cgx_piece *piece_of(const struct cgx_work *work,
                                        const struct cgx_inspected_bucket *bucket)
{
    return &work->pieces[bucket->piece];
}

static const unsigned char *sum_of(const struct cgx_work *work)
{
    return work->sources[work->nsources - 1];
}

/* The signs of BUCKET in the input; 0 if all its elements are zero. */
static uint32_t own_signs(const struct cgx_work *work, const struct cgx_inspected_bucket *bucket)
{
    const struct cgx_coding *coding = work->coding;
    const struct cgx_piece *piece = piece_of(work, bucket);
    size_t count = cgx_bucket_elements(piece, coding->bucket_size, bucket->index);
    size_t first =
        piece->first + bucket->index * cgx_encoding_bucket(piece->bits, coding->bucket_size);
    float values[CGX_BUCKET_SIZE_MAX];
    uint32_t signs = 0;

    if (!work->inspection->sees_input)
        return 0;
    cgx_peek_elements(coding->dtype, (const char *)work->in + first * cgx_dtype_size(coding->dtype),
                      count, values);
    for (size_t i = 0; i < count; i++)
        signs |= cgx_sign_of(values[i]);
    return signs;
}

static float step_of(const struct cgx_piece *piece, const unsigned char *payload, size_t index)
{
    return cgx_bucket_scale(piece, payload + piece->offset, index);
}

/* Decodes BUCKET of PAYLOAD; its step, NaN if it is poisoned. */
static float decode(const struct cgx_work *work, const struct cgx_inspected_bucket *bucket,
                    const unsigned char *payload, float *values)
{
    const struct cgx_piece *piece = piece_of(work, bucket);
    float scale;

    if (cgx_peek_bucket(work->coding, piece, bucket->index, payload, values, &scale) != CGX_OK ||
        isnan(scale))
        return cgx_bits_float(CGX_NAN_FLOAT32);
    return step_of(piece, payload, bucket->index);
}

/* Inspects sampled bucket NUMBER. */
static void sample(const struct cgx_work *work, size_t number)
{
    const struct cgx_inspection *inspection = work->inspection;
    const struct cgx_inspected_bucket *bucket = &inspection->sampled[number];
    struct cgx_inspected_sum *sum = cgx_inspected_sums(work->out) + number;
    struct cgx_inspected_member *members =
        cgx_inspected_members(inspection, work->out) + number * inspection->nmembers;
    uint16_t *kept = cgx_inspected_kept(inspection, work->out) + bucket->at;
    size_t count =
        cgx_bucket_elements(piece_of(work, bucket), work->coding->bucket_size, bucket->index);
    float sums[CGX_BUCKET_SIZE_MAX], values[CGX_BUCKET_SIZE_MAX];

    *sum = (struct cgx_inspected_sum){.step = decode(work, bucket, sum_of(work), sums)};
    if (inspection->is_last)
        sum->own = own_signs(work, bucket);
    if (!isnan(sum->step)) {
        sum->squares = cgx_plain_double(cgx_squares_sum(sums, count, &sum->magnitude));
        sum->magnitude = cgx_plain_double(sum->magnitude);
        sum->nonzero = (uint32_t)cgx_squares_nonzero(sums, count);
    }
    for (uint32_t i = 0; i < bucket->run; i++)
        kept[i] = isnan(sum->step) ? 0 : (uint16_t)(cgx_float_bits(sums[bucket->first + i]) >> 16);
    for (uint32_t m = 0; m < inspection->nmembers; m++) {
        members[m] =
            (struct cgx_inspected_member){.step = decode(work, bucket, work->sources[m], values)};
        if (isnan(members[m].step) || isnan(sum->step))
            continue;
        members[m].squared =
            cgx_plain_double(cgx_squares_difference(values, sums, inspection->shares[m], count));
        members[m].nonzero = (uint32_t)cgx_squares_nonzero(values, count);
    }
}

/* Finds the contributors to BUCKET. */
static struct cgx_inspected_contributors ask(const struct cgx_work *work,
                                             const struct cgx_inspected_bucket *bucket)
{
    const struct cgx_piece *piece = piece_of(work, bucket);
    const float sum = step_of(piece, sum_of(work), bucket->index);
    struct cgx_inspected_contributors found = {.sum = sum};

    for (size_t s = work->inspection->nmembers; s + 1 < work->nsources; s++) {
        float step = work->sources[s] ? step_of(piece, work->sources[s], bucket->index) : 0;

        if (isnan(step))
            return (struct cgx_inspected_contributors){.sum = sum, .poisoned = 1};
        if (step > 0) {
            found.others++;
            found.only = step;
            found.bringer = (uint32_t)s - work->inspection->nmembers;
        }
    }
    if (found.others == 1)
        found.own = own_signs(work, bucket);
    return found;
}

static void find_signs(const struct cgx_work *work, struct cgx_inspected_signs *signs)
{
    for (size_t i = 0; i < work->npieces; i++) {
        const struct cgx_piece *piece = &work->pieces[i];
        size_t buckets = cgx_piece_buckets(piece, work->coding->bucket_size);
        int32_t steps = (int32_t)cgx_encoding_steps(piece->bits);

        if (piece->bits < CGX_INSPECT_LEAST_BITS || piece->bits > CGX_WIDTHS)
            continue;
        for (size_t k = 0; k < buckets; k++)
            cgx_signs_add(signs, cgx_bucket_header(sum_of(work) + piece->offset, k), steps);
    }
}

void cgx_host_inspect(const struct cgx_work *work)
{
    const struct cgx_inspection *inspection = work->inspection;
    struct cgx_inspected *results = work->out;

    memset(results, 0, sizeof *results);
    if (inspection->is_last)
        find_signs(work, results->signs);
    for (size_t i = 0; i < inspection->nasked; i++)
        results->asked[i] = ask(work, &inspection->asked[i]);
    for (size_t i = 0; i < inspection->nsampled; i++)
        sample(work, i);
}
