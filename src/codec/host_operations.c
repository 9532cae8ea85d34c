/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

/* The walk over pieces and buckets, and the operations on unquantised pieces. The families have the
 * operations on buckets. */

#include <stdatomic.h>
#include <string.h>

#include "codec/encoding.h"
#include "codec/host_walk.h"
#include "util/float_state.h"

static cgx_bucket_operation *const *const families[CGX_FAMILIES] = {
    [CGX_FAMILY_MAXMIN] = cgx_host_maxmin, [CGX_FAMILY_UNIFORM] = cgx_host_uniform};

static size_t element_size(const struct cgx_walk *walk)
{
    return cgx_dtype_size(walk->coding->dtype);
}

/* ---- unquantised pieces ---- */

/* Encodes or decodes. */
static void copy_exact(const struct cgx_walk *walk, const struct cgx_work *work)
{
    const struct cgx_piece *piece = walk->piece;
    size_t size = element_size(walk), in_buffer = piece->first * size;
    bool decodes = work->operation == CGX_DECODE;

    memcpy((unsigned char *)work->out + (decodes ? in_buffer : piece->offset),
           (const unsigned char *)work->in + (decodes ? piece->offset : in_buffer),
           piece->count * size);
}

static void reduce_exact(const struct cgx_walk *walk, const struct cgx_work *work)
{
    const struct cgx_piece *piece = walk->piece;
    size_t size = element_size(walk);
    unsigned char *out = (unsigned char *)work->out + piece->offset;

    for (size_t start = 0; start < piece->count; start += CGX_BUCKET_MOST) {
        size_t n = piece->count - start;

        n = n < CGX_BUCKET_MOST ? n : CGX_BUCKET_MOST;
        for (size_t p = 0; p < work->nsources; p++) {
            const unsigned char *elements =
                cgx_walk_unquantised(walk, work, p, piece->first + start);

            if (!elements)
                elements = work->sources[p] + piece->offset + start * size;
            cgx_walk_add(walk, elements, n, p == 0);
        }
        walk->kernels->narrow[walk->coding->dtype](walk->values, n, out + start * size);
    }
}

/* ---- the walk ---- */

static void begin_piece(struct cgx_walk *walk, const struct cgx_piece *piece)
{
    walk->piece = piece;
    walk->layout = cgx_piece_layout(piece->count, piece->bits, walk->coding->dtype);
    walk->size = cgx_encoding_quantiser(piece->bits)->bucket;
    for (int i = 0; i < CGX_PLANES; i++)
        walk->plane[i] = cgx_plane_width(cgx_encoding_width(piece->bits), i);
}

/* Counts COUNT elements as done, and polls WORK's meanwhile when that is due. */
static void pass_elements(struct cgx_walk *walk, const struct cgx_work *work, size_t count)
{
    const struct cgx_meanwhile *meanwhile = work->meanwhile;

    walk->passed += count;
    if (!meanwhile || walk->passed < CGX_MEANWHILE_ELEMENTS)
        return;
    walk->passed = 0;
    cgx_float_leave(walk->caller);
    meanwhile->poll(meanwhile->state);
    cgx_float_enter(walk->caller);
}

/* Zeroes the padding behind each part of the piece. */
static void zero_padding(const struct cgx_walk *walk, const struct cgx_work *work)
{
    const struct cgx_layout *layout = &walk->layout;
    const struct cgx_piece *piece = walk->piece;
    unsigned char *at = (unsigned char *)work->out + piece->offset;
    size_t end = layout->buckets * CGX_BUCKET_HEADER_BYTES;

    if (cgx_encoding_quantiser(piece->bits)->has_variable_size)
        return;
    if (cgx_encoding_is_exact(piece->bits))
        end = piece->count * element_size(walk);
    for (int i = 0; i < CGX_PLANES && !cgx_encoding_is_exact(piece->bits); i++) {
        memset(at + end, 0, layout->plane[i] - end);
        end = layout->plane[i] + layout->elements / 8 * walk->plane[i];
    }
    memset(at + end, 0, layout->bytes - end);
}

static enum cgx_status run_piece(struct cgx_walk *walk, const struct cgx_work *work)
{
    cgx_bucket_operation *operation =
        families[cgx_encoding_family(walk->piece->bits)][work->operation];

    if (cgx_encoding_is_exact(walk->piece->bits)) {
        if (work->operation == CGX_REDUCE)
            reduce_exact(walk, work);
        else
            copy_exact(walk, work);
        pass_elements(walk, work, walk->piece->count);
        return CGX_OK;
    }
    for (size_t i = 0; i < walk->layout.buckets; i++) {
        struct cgx_bucket bucket = cgx_walk_bucket(walk, i);
        enum cgx_status status = operation(walk, work, &bucket);

        if (status != CGX_OK)
            return status;
        pass_elements(walk, work, bucket.count);
    }
    return CGX_OK;
}

/* ---- the codec ---- */

/* Runs in the codec's floating-point modes, and polls WORK's meanwhile in the CALLER's. */
static enum cgx_status run_operation(const struct cgx_host_kernels *kernels,
                                     const struct cgx_work *work, union cgx_float_state *caller)
{
    cgx_bucket_values values, addend;
    double sums[CGX_UNIFORM_SUMS], noise;
    struct cgx_walk walk = {.kernels = kernels,
                            .coding = work->coding,
                            .key = cgx_call_key(work->coding->call),
                            .values = values,
                            .addend = addend,
                            .sums = sums,
                            .noise = &noise,
                            .caller = caller};

    if (work->operation > CGX_DECODE)
        return CGX_ERR_INVALID;
    for (size_t i = 0; i < work->npieces; i++) {
        enum cgx_status status;

        begin_piece(&walk, &work->pieces[i]);
        status = run_piece(&walk, work);
        if (status != CGX_OK)
            return status;
        if (work->operation != CGX_DECODE)
            zero_padding(&walk, work);
    }
    return CGX_OK;
}

const char *cgx_codec_name(const struct cgx_codec *codec)
{
    return codec->name;
}

enum cgx_status cgx_codec_run(const struct cgx_codec *codec, const struct cgx_work *work)
{
    enum cgx_status status;
    union cgx_float_state caller;

    cgx_float_enter(&caller);
    status = run_operation(&codec->kernels, work, &caller);
    cgx_float_leave(&caller);
    return status;
}

const struct cgx_codec *cgx_codec_host(void)
{
    static const struct cgx_codec *_Atomic fastest;
    const struct cgx_codec *codec = atomic_load_explicit(&fastest, memory_order_relaxed);

    /* CPUID is slow in virtual machines, so its result is stored. Threads that race find the same
     * codec. */
    if (!codec) {
        codec = cgx_codec_host_named(NULL);
        atomic_store_explicit(&fastest, codec, memory_order_relaxed);
    }
    return codec;
}

/* ---- elements as float32 ---- */

void cgx_peek_elements(enum cgx_dtype dtype, const void *elements, size_t count, float *values)
{
    cgx_codec_host()->kernels.widen[dtype](elements, count, values);
}

/* Sums side by side, so that a processor adds several at a time. */
#define WAYS 16

static double square(const float *values, const float *others, size_t i)
{
    double value = (double)values[i] - (others ? (double)others[i] : 0);

    return value * value;
}

double cgx_squares_sum(const float *values, const float *others, size_t count)
{
    double squares[WAYS] = {0};
    size_t whole = count / WAYS * WAYS;

    for (size_t i = 0; i < whole; i += WAYS)
        for (size_t way = 0; way < WAYS; way++)
            squares[way] += square(values, others, i + way);
    for (size_t i = whole; i < count; i++)
        squares[i - whole] += square(values, others, i);
    for (int half = WAYS / 2; half > 0; half /= 2) {
        for (int way = 0; way < half; way++)
            squares[way] += squares[way + half];
    }
    return squares[0];
}
