/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

#include "codec/encoding.h"
#include "codec/host_walk.h"

static struct cgx_sample sample_of(const struct cgx_walk *walk, const float *values, size_t count)
{
    const struct cgx_host_kernels *kernels = walk->kernels;
    struct cgx_host_range range = kernels->range(values, count);
    enum cgx_rounding rounding = walk->coding->rounding;
    bool stochastic = rounding == CGX_ROUNDING_STOCHASTIC;
    struct cgx_sample sample = {0};

    if (range.poison) {
        sample.min = sample.max = cgx_bits_float(CGX_NAN_FLOAT32);
        return sample;
    }
    sample.min = range.min + 0.0f; /* -0 becomes +0 */
    sample.max = range.max + 0.0f;
    if (sample.min == sample.max)
        return sample;
    for (unsigned bits = cgx_encoding_least(rounding); bits <= CGX_WIDTHS; bits++)
        sample.squares[bits - 1] = kernels->squares(
            values, count, cgx_grid_over(range.min, range.max, bits, stochastic), bits, stochastic);
    return sample;
}

/* *SAMPLES: where the first one of the piece goes, and on return that of the next piece. */
static enum cgx_status measure_piece(const struct cgx_walk *walk, struct cgx_sum *sum,
                                     struct cgx_sample **samples)
{
    struct cgx_sampling sampling = walk->coding->sampling;
    size_t count = cgx_sample_count(walk->layout.buckets, sampling);

    for (size_t i = 0; i < count; i++) {
        struct cgx_bucket bucket = cgx_walk_bucket(walk, cgx_sample_bucket(i, sampling));

        if (cgx_walk_sum(walk, &bucket, sum) != CGX_OK)
            return CGX_ERR_FORMAT;
        *(*samples)++ = sample_of(walk, sum->values, bucket.count);
    }
    return CGX_OK;
}

enum cgx_status cgx_host_measure(const struct cgx_host_kernels *kernels,
                                 const struct cgx_work *work)
{
    struct cgx_walk walk = {.kernels = kernels, .coding = work->coding};
    struct cgx_sample *samples = work->out;
    struct cgx_sum sum;
    enum cgx_status status = CGX_OK;

    sum.work = work;
    for (size_t i = 0; i < work->npieces && status == CGX_OK; i++) {
        cgx_walk_piece(&walk, &work->pieces[i]);
        if (!cgx_walk_is_exact(&walk))
            status = measure_piece(&walk, &sum, &samples);
    }
    return status;
}
