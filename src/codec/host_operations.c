/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

/* The walk over pieces and buckets, and what each operation does with one of them. */

#include <string.h>

#include "codec/encoding.h"
#include "codec/host_history.h"
#include "codec/host_rotated.h"
#include "codec/host_walk.h"

/* An operation at work. */
struct run {
    struct cgx_walk walk;
    const struct cgx_work *work;
    size_t samples;           /* measured so far */
    cgx_bucket_values values; /* of one bucket: its elements widened, its levels or its sum */
    cgx_bucket_values addend;
};

static size_t element_size(const struct run *run)
{
    return cgx_dtype_size(run->walk.coding->dtype);
}

/* ---- residuals ---- */

/* Those of the elements of BUCKET, or NULL. */
static uint16_t *residuals_of(const struct run *run, const struct cgx_bucket *bucket)
{
    const struct cgx_residuals *residuals = &run->work->residuals;

    if (!residuals->at || run->walk.piece->bits < CGX_RESIDUAL_BITS ||
        run->walk.coding->rounding != CGX_ROUNDING_NEAREST)
        return NULL;
    return residuals->at + (bucket->first - residuals->first);
}

/* Adds RESIDUALS to the values of the run. */
static void add_residuals(struct run *run, const struct cgx_bucket *bucket,
                          const uint16_t *residuals)
{
    const struct cgx_host_kernels *kernels = run->walk.kernels;
    size_t size = run->walk.coding->bucket_size, missing = size - bucket->count;
    float cap;

    kernels->widen[CGX_BFLOAT16](residuals, bucket->count, run->addend);
    memset(run->addend + bucket->count, 0, missing * sizeof *run->addend);
    memset(run->values + bucket->count, 0, missing * sizeof *run->values);
    cap = cgx_residual_cap(kernels->norm(run->values, size), kernels->norm(run->addend, size));
    kernels->add_scaled(run->addend, cap, bucket->count, run->values);
}

/* Leaves in RESIDUALS what the bucket lacks, as it was written, of the values of the run. */
static void leave_residuals(struct run *run, const struct cgx_bucket *bucket, uint16_t *residuals)
{
    const struct cgx_walk *walk = &run->walk;
    struct cgx_scale scale;

    if (cgx_walk_scale(bucket, run->work->out, &scale) != CGX_OK || scale.kind == CGX_SCALE_POISON)
        return;
    cgx_walk_levels(walk, bucket, &scale, run->work->out, false, run->addend);
    for (size_t i = 0; i < bucket->count; i++)
        run->addend[i] = run->values[i] - run->addend[i];
    walk->kernels->narrow[CGX_BFLOAT16](run->addend, bucket->count, residuals);
}

/* ---- encode ---- */

static void encode_exact(struct run *run)
{
    const struct cgx_piece *piece = run->walk.piece;

    memcpy((unsigned char *)run->work->out + piece->offset,
           cgx_walk_element(&run->walk, run->work->in, piece->first),
           piece->count * element_size(run));
}

static enum cgx_status encode_bucket(struct run *run, const struct cgx_bucket *bucket)
{
    const struct cgx_walk *walk = &run->walk;
    enum cgx_dtype dtype = walk->coding->dtype;
    const unsigned char *elements = cgx_walk_element(walk, run->work->in, bucket->first);
    const cgx_float32 *values = (const cgx_float32 *)elements;
    unsigned char *payload = run->work->out;
    uint16_t *residuals = residuals_of(run, bucket);
    bool has_history = cgx_has_history(walk, run->work);

    cgx_walk_prefetch(elements, bucket->count * element_size(run));
    /* Here the codes are half of what is read; for fewer it costs more than it gains. */
    if (dtype != CGX_FLOAT32 && walk->piece->bits == 8)
        cgx_walk_prefetch(payload + bucket->codes[0], bucket->count);
    if (dtype != CGX_FLOAT32 || residuals || has_history) {
        walk->kernels->widen[dtype](elements, bucket->count, run->values);
        values = run->values;
    }
    if (has_history)
        cgx_history_divide(walk, run->work, bucket, run->values);
    if (residuals)
        add_residuals(run, bucket, residuals);
    cgx_walk_encode(walk, bucket, walk->kernels->range(values, bucket->count), values, payload);
    if (residuals)
        leave_residuals(run, bucket, residuals);
    return CGX_OK;
}

/* ---- decode ---- */

static void decode_exact(struct run *run)
{
    const struct cgx_piece *piece = run->walk.piece;
    size_t size = element_size(run);

    memcpy((unsigned char *)run->work->out + piece->first * size,
           (const unsigned char *)run->work->in + piece->offset, piece->count * size);
}

static bool reaches_beyond_float16(const struct cgx_scale *scale, unsigned bits)
{
    float least = cgx_level(0, scale->u, scale->z);
    float greatest = cgx_level((1u << bits) - 1, scale->u, scale->z);

    if (scale->kind == CGX_SCALE_CONSTANT)
        least = greatest = scale->constant;
    return cgx_clamp_float16(least) != least || cgx_clamp_float16(greatest) != greatest;
}

/* A bucket that is not poisoned, where it belongs. */
static void decode_float32(struct run *run, const struct cgx_bucket *bucket,
                           const struct cgx_scale *scale, cgx_float32 *elements)
{
    const struct cgx_walk *walk = &run->walk;

    cgx_walk_levels(walk, bucket, scale, run->work->in, false, elements);
    if (!cgx_has_history(walk, run->work))
        return;
    cgx_history_multiply(walk, run->work, bucket, elements);
    cgx_history_enter(walk, run->work, bucket, elements, run->addend);
}

static enum cgx_status decode_bucket(struct run *run, const struct cgx_bucket *bucket)
{
    const struct cgx_walk *walk = &run->walk;
    enum cgx_dtype dtype = walk->coding->dtype;
    size_t size = element_size(run);
    unsigned char *elements = (unsigned char *)run->work->out + bucket->first * size;
    bool has_history = cgx_has_history(walk, run->work);
    struct cgx_scale scale;

    cgx_walk_prefetch(elements, bucket->count * size);
    if (cgx_walk_scale(bucket, run->work->in, &scale) != CGX_OK)
        return CGX_ERR_FORMAT;
    if (dtype == CGX_FLOAT32 && scale.kind != CGX_SCALE_POISON) {
        decode_float32(run, bucket, &scale, (cgx_float32 *)elements);
        return CGX_OK;
    }
    cgx_walk_levels(walk, bucket, &scale, run->work->in, false, run->values);
    if (has_history)
        cgx_history_multiply(walk, run->work, bucket, run->values);
    if (dtype == CGX_FLOAT16 && (has_history || reaches_beyond_float16(&scale, walk->piece->bits)))
        for (size_t i = 0; i < bucket->count; i++)
            run->values[i] = cgx_clamp_float16(run->values[i]);
    walk->kernels->narrow[dtype](run->values, bucket->count, elements);
    if (has_history)
        cgx_history_enter(walk, run->work, bucket, run->values, run->addend);
    return CGX_OK;
}

/* ---- sums ---- */

/* Adds COUNT unquantised elements, of BUCKET if they are to be quantised; those of the first source
 * are the sum. */
static void add_elements(struct run *run, const struct cgx_bucket *bucket, const void *elements,
                         size_t count, bool is_first)
{
    const struct cgx_host_kernels *kernels = run->walk.kernels;
    enum cgx_dtype dtype = run->walk.coding->dtype;
    bool has_history = bucket && cgx_has_history(&run->walk, run->work);
    float *values = is_first ? run->values : run->addend;

    if (!is_first && dtype == CGX_FLOAT32 && !has_history) {
        kernels->add(elements, count, run->values);
        return;
    }
    kernels->widen[dtype](elements, count, values);
    if (has_history)
        cgx_history_divide(&run->walk, run->work, bucket, values);
    if (!is_first)
        kernels->add(values, count, run->values);
}

/* Sums the sources of a bucket. The scale of a poisoned one is NaN, and so become its levels and
 * the sum. *SCALES: the sum of all scales. CGX_ERR_FORMAT as cgx_walk_scale. */
static enum cgx_status sum_bucket(struct run *run, const struct cgx_bucket *bucket, float *scales)
{
    *scales = 0;
    for (size_t p = 0; p < run->work->nsources; p++) {
        const unsigned char *source = run->work->sources[p];
        const unsigned char *elements =
            cgx_walk_unquantised(&run->walk, run->work, p, bucket->first);
        struct cgx_scale scale;

        if (elements) {
            add_elements(run, bucket, elements, bucket->count, p == 0);
            continue;
        }
        if (cgx_walk_scale(bucket, source, &scale) != CGX_OK)
            return CGX_ERR_FORMAT;
        *scales += scale.u;
        cgx_walk_levels(&run->walk, bucket, &scale, source, p > 0, run->values);
    }
    return CGX_OK;
}

/* ---- reduce ---- */

static void reduce_exact(struct run *run)
{
    const struct cgx_piece *piece = run->walk.piece;
    size_t size = element_size(run);
    unsigned char *out = (unsigned char *)run->work->out + piece->offset;

    for (size_t start = 0; start < piece->count; start += CGX_BUCKET_SIZE_MAX) {
        size_t n = piece->count - start;

        n = n < CGX_BUCKET_SIZE_MAX ? n : CGX_BUCKET_SIZE_MAX;
        for (size_t p = 0; p < run->work->nsources; p++) {
            const unsigned char *elements =
                cgx_walk_unquantised(&run->walk, run->work, p, piece->first + start);

            if (!elements)
                elements = run->work->sources[p] + piece->offset + start * size;
            add_elements(run, NULL, elements, n, p == 0);
        }
        run->walk.kernels->narrow[run->walk.coding->dtype](run->values, n, out + start * size);
    }
}

static enum cgx_status reduce_bucket(struct run *run, const struct cgx_bucket *bucket)
{
    const struct cgx_coding *coding = run->walk.coding;
    uint16_t *residuals = residuals_of(run, bucket);
    struct cgx_host_range range;
    float scales;

    if (sum_bucket(run, bucket, &scales) != CGX_OK)
        return CGX_ERR_FORMAT;
    for (size_t i = 0; residuals && i < bucket->count; i++)
        run->values[i] += 0.0f; /* of negative zeros alone it is +0, as where it begins with that */
    if (residuals)
        add_residuals(run, bucket, residuals);
    range = run->walk.kernels->range(run->values, bucket->count);
    range.poison =
        range.poison ||
        cgx_may_overflow(range.min, range.max, scales, coding->rounding == CGX_ROUNDING_STOCHASTIC,
                         coding->dtype == CGX_FLOAT16 && !coding->partial) ||
        cgx_history_overflows(&run->walk, run->work, bucket, run->values, scales, run->addend);
    cgx_walk_encode(&run->walk, bucket, range, run->values, run->work->out);
    if (residuals)
        leave_residuals(run, bucket, residuals);
    return CGX_OK;
}

/* ---- measure ---- */

static struct cgx_sample sample_of(const struct run *run, size_t count)
{
    const struct cgx_host_kernels *kernels = run->walk.kernels;
    struct cgx_host_range range = kernels->range(run->values, count);
    enum cgx_rounding rounding = run->walk.coding->rounding;
    bool stochastic = rounding == CGX_ROUNDING_STOCHASTIC;
    struct cgx_sample sample = {0};

    if (range.poison) {
        sample.min = sample.max = cgx_bits_float(CGX_NAN_FLOAT32);
        return sample;
    }
    sample.min = range.min + 0.0f; /* -0 becomes +0 */
    sample.max = range.max + 0.0f;
    sample.power =
        kernels->squares(run->values, count, cgx_sample_grid(range.min, range.max), 1, false);
    if (sample.min == sample.max)
        return sample;
    for (unsigned bits = cgx_encoding_least(rounding); bits <= CGX_WIDTHS; bits++)
        sample.squares[bits - 1] = kernels->squares(
            run->values, count, cgx_grid_over(range.min, range.max, bits, stochastic), bits,
            stochastic);
    return sample;
}

static enum cgx_status measure_bucket(struct run *run, const struct cgx_bucket *bucket)
{
    struct cgx_sample *samples = run->work->out;
    float scales;

    if (sum_bucket(run, bucket, &scales) != CGX_OK)
        return CGX_ERR_FORMAT;
    samples[run->samples++] = sample_of(run, bucket->count);
    return CGX_OK;
}

/* ---- the walk ---- */

static const struct operation {
    void (*exact)(struct run *run); /* a piece that is not quantised; NULL: nothing to do */
    enum cgx_status (*bucket)(struct run *run, const struct cgx_bucket *bucket);
    /* of a rotated encoding; NULL: nothing to do */
    enum cgx_status (*rotated)(const struct cgx_walk *walk, const struct cgx_work *work,
                               const struct cgx_bucket *bucket);
    bool writes_payload, samples;
} operations[CGX_OPERATIONS] = {
    [CGX_ENCODE] = {encode_exact, encode_bucket, cgx_rotated_encode, .writes_payload = true},
    [CGX_REDUCE] = {reduce_exact, reduce_bucket, cgx_rotated_reduce, .writes_payload = true},
    [CGX_DECODE] = {decode_exact, decode_bucket, cgx_rotated_decode},
    [CGX_MEASURE] = {NULL, measure_bucket, NULL, .samples = true}};

/* Writes zeros between the parts of the piece. */
static void pad(const struct run *run)
{
    const struct cgx_layout *layout = &run->walk.layout;
    const struct cgx_piece *piece = run->walk.piece;
    unsigned char *at = (unsigned char *)run->work->out + piece->offset;
    size_t end = layout->buckets * CGX_BUCKET_HEADER_BYTES;

    if (cgx_encoding_is_exact(piece->bits))
        end = piece->count * element_size(run);
    for (int i = 0; i < CGX_PLANES && !cgx_encoding_is_exact(piece->bits); i++) {
        memset(at + end, 0, layout->plane[i] - end);
        end = layout->plane[i] + layout->elements / 8 * cgx_encoding_plane(piece->bits, i);
    }
    memset(at + end, 0, layout->bytes - end);
}

static enum cgx_status run_rotated(struct run *run, const struct operation *operation)
{
    for (size_t i = 0; operation->rotated && i < run->walk.layout.buckets; i++) {
        struct cgx_bucket bucket = cgx_walk_bucket(&run->walk, i);

        if (operation->rotated(&run->walk, run->work, &bucket) != CGX_OK)
            return CGX_ERR_FORMAT;
        cgx_walk_pass(&run->walk, run->work, bucket.count);
    }
    return CGX_OK;
}

static enum cgx_status run_piece(struct run *run, const struct operation *operation)
{
    const struct cgx_sampling sampling = run->walk.coding->sampling;
    size_t count = run->walk.layout.buckets;

    if (cgx_encoding_is_exact(run->walk.piece->bits)) {
        if (operation->exact)
            operation->exact(run);
        cgx_walk_pass(&run->walk, run->work, run->walk.piece->count);
        return CGX_OK;
    }
    if (cgx_encoding_is_rotated(run->walk.piece->bits))
        return run_rotated(run, operation);
    if (operation->samples)
        count = cgx_sample_count(count, sampling);
    for (size_t i = 0; i < count; i++) {
        size_t index = operation->samples ? cgx_sample_bucket(i, sampling) : i;
        struct cgx_bucket bucket = cgx_walk_bucket(&run->walk, index);

        if (operation->bucket(run, &bucket) != CGX_OK)
            return CGX_ERR_FORMAT;
        cgx_walk_pass(&run->walk, run->work, bucket.count);
    }
    return CGX_OK;
}

enum cgx_status cgx_host_run(const struct cgx_host_kernels *kernels, const struct cgx_work *work,
                             union cgx_float_state *caller)
{
    const struct operation *operation = &operations[work->operation];
    struct run run;

    if (!operation->bucket)
        return CGX_ERR_INVALID;
    run.walk = (struct cgx_walk){.kernels = kernels, .coding = work->coding, .caller = caller};
    run.work = work;
    run.samples = 0;
    for (size_t i = 0; i < work->npieces; i++) {
        cgx_walk_piece(&run.walk, &work->pieces[i]);
        if (run_piece(&run, operation) != CGX_OK)
            return CGX_ERR_FORMAT;
        if (operation->writes_payload)
            pad(&run);
    }
    return CGX_OK;
}
