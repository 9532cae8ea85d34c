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

/* Reads BUCKET of the input into VALUES; zeros if it cannot be read. Returns the number of
 * elements.
 */
static size_t read_input(const struct cgx_work *work, const struct cgx_inspected_bucket *bucket,
                         float *values)
{
    const struct cgx_coding *coding = work->coding;
    const struct cgx_piece *piece = piece_of(work, bucket);
    size_t count = cgx_bucket_elements(piece, coding->bucket_size, bucket->index);
    size_t first =
        piece->first + bucket->index * cgx_encoding_bucket(piece->bits, coding->bucket_size);

    if (work->inspection->sees_input)
        cgx_peek_elements(coding->dtype,
                          (const char *)work->in + first * cgx_dtype_size(coding->dtype), count,
                          values);
    else
        memset(values, 0, count * sizeof *values);
    return count;
}

/* The signs of BUCKET in the input; 0 if all its elements are zero. */
static uint32_t own_signs(const struct cgx_work *work, const struct cgx_inspected_bucket *bucket)
{
    float values[CGX_BUCKET_SIZE_MAX];
    size_t count = read_input(work, bucket, values);
    uint32_t signs = 0;

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

static struct cgx_inspected_contributors poisoned(float sum)
{
    return (struct cgx_inspected_contributors){.sum = sum, .poisoned = 1};
}

/* Whether blocks of BUCKET, of a uniform piece, suffice to show that an element has several
 * contributors: two payloads, or one and this rank's input, OWN. */
static bool blocks_meet(const struct cgx_work *work, const struct cgx_inspected_bucket *bucket,
                        const float *own, size_t count)
{
    const struct cgx_piece *piece = piece_of(work, bucket);
    uint32_t some = 0, full = 0;

    for (size_t s = work->inspection->nmembers; s + 1 < work->nsources; s++) {
        uint32_t its_some, its_full;

        if (!work->sources[s])
            continue;
        its_some = cgx_uniform_filled(work->sources[s] + piece->offset, piece->count, bucket->index,
                                      &its_full);
        if ((some & its_full) | (full & its_some))
            return true;
        some |= its_some;
        full |= its_full;
    }
    for (size_t i = 0; i < count; i++) {
        if (own[i] != 0 && full >> i / CGX_UNIFORM_BLOCK & 1)
            return true;
    }
    return false;
}

/* Sets FOUND's shared for BUCKET of a uniform piece. Steps of groups say nothing of contributors,
 * but zeros stay zeros. An element of the sum that is farther from the only payload with something
 * than by its rounding has something of this rank too, or of its local peers. */
static void find_shared(const struct cgx_work *work, const struct cgx_inspected_bucket *bucket,
                        struct cgx_inspected_contributors *found)
{
    const float rounding = 0.51f * found->sum;
    float own[CGX_UNIFORM_GROUP], only[CGX_UNIFORM_GROUP] = {0}, values[CGX_UNIFORM_GROUP];
    size_t count = read_input(work, bucket, own);
    bool shared = blocks_meet(work, bucket, own, count);

    for (size_t s = work->inspection->nmembers; s < work->nsources && !shared; s++) {
        bool is_sum = s + 1 == work->nsources;

        if (!work->sources[s])
            continue;
        if (isnan(decode(work, bucket, work->sources[s], values))) {
            *found = poisoned(found->sum);
            return;
        }
        for (size_t i = 0; i < count; i++) {
            if (only[i] != 0)
                shared |=
                    is_sum ? own[i] != 0 || fabsf(values[i] - only[i]) > rounding : values[i] != 0;
            only[i] += values[i];
        }
    }
    found->shared = shared;
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
            return poisoned(sum);
        if (step > 0) {
            found.others++;
            found.only = step;
            found.bringer = (uint32_t)s - work->inspection->nmembers;
        }
    }
    if (cgx_encoding_quantiser(piece->bits)->varies && found.others > 0)
        find_shared(work, bucket, &found);
    else if (found.others == 1)
        found.shared = own_signs(work, bucket);
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
