/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

/* What is inspected of a sum (codec/inspect.h). A sampled bucket has a block, whose first warp
 * decodes the bucket of the sum; then each warp compares members' payloads with it. A bucket that
 * is asked about has a warp, whose lanes read members' headers. The last blocks look for signs in
 * the headers of the sum. */
#ifndef CGX_CUDA_INSPECT_CUH
#define CGX_CUDA_INSPECT_CUH

#include "codec/inspect.h"
#include "codec/squares.h"
#include "cuda/codes.cuh"
#include "cuda/rows.cuh"

/* A bucket, with what is needed to decode it from any of the sources. */
struct cgx_inspected_place {
    const struct cgx_kernel_piece *piece;
    uint32_t index, size, count; /* in the piece; elements of a whole bucket, and of this one */
};

CGX_DEVICE struct cgx_inspected_place place_of(const struct cgx_kernel_args &args,
                                               const struct cgx_inspected_bucket *bucket)
{
    struct cgx_inspected_place place;
    uint64_t start;

    place.piece = &args.pieces[bucket->piece];
    place.index = bucket->index;
    place.size = args.bucket_size;
    start = (uint64_t)place.index * place.size;
    place.count = place.piece->count - start < place.size ? (uint32_t)(place.piece->count - start)
                                                          : place.size;
    return place;
}

CGX_DEVICE uint32_t header_in(const struct cgx_inspected_place *place, const unsigned char *payload)
{
    return ((const uint32_t *)(payload + place->piece->offset))[place->index];
}

/* ---- decoding ---- */

/* The elements of a bucket in a payload, to be read by a warp. */
struct cgx_inspected_view {
    float step; /* NaN: poisoned, and there are no elements */
    const unsigned char *payload;
    struct cgx_tile tile; /* begins with the bucket */
    bool has_grid;
    int32_t zero;
    float constant; /* without a grid */
};

/* The code of element I. */
CGX_DEVICE uint32_t code_in(const struct cgx_inspected_view *view, uint32_t i)
{
    const uint64_t *planes = view->tile.planes;
    const uint32_t bits = view->tile.bits;
    uint32_t code = 0;

    if (bits == 8)
        return view->payload[planes[0] + i];
    if (bits & 4)
        code = view->payload[planes[0] + i / 2] >> i % 2 * 4 & 15;
    if (bits & 2)
        code |= (uint32_t)(view->payload[planes[1] + i / 4] >> i % 4 * 2 & 3) << (bits & 4);
    if (bits & 1)
        code |= (uint32_t)(view->payload[planes[2] + i / 8] >> i % 8 & 1) << (bits & 6);
    return code;
}

CGX_DEVICE float value_in(const struct cgx_inspected_view *view, uint32_t i)
{
    return view->has_grid ? cgx_level(code_in(view, i), view->step, view->zero) : view->constant;
}

/* False: poisoned. */
CGX_DEVICE bool view_grid(const struct cgx_inspected_place *place, uint32_t header,
                          struct cgx_inspected_view *view)
{
    const uint32_t bits = place->piece->bits;
    uint64_t plane;

    lay_out(place->piece, place->index, place->size, place->size, 0, &view->tile);
    view->zero = cgx_header_zero(header);
    view->has_grid = cgx_header_is_grid(header);
    if (view->has_grid)
        return true;
    plane = bits >= 4   ? view->tile.planes[0]
            : bits >= 2 ? view->tile.planes[1]
                        : view->tile.planes[2];
    view->constant = *(const float *)(view->payload + plane);
    return header == CGX_BUCKET_CONSTANT && cgx_is_regular(view->constant);
}

/* Views a bucket of PAYLOAD. */
CGX_DEVICE void view_bucket(const struct cgx_inspected_place *place, const unsigned char *payload,
                            struct cgx_inspected_view *view)
{
    const uint32_t header = header_in(place, payload);

    view->payload = payload;
    view->step =
        view_grid(place, header, view) ? cgx_header_scale(header) : cgx_bits_float(CGX_NAN_FLOAT32);
}

/* ---- sums over a warp ---- */

CGX_DEVICE double warp_sum(double sum)
{
    for (int distance = CGX_SQUARES_LANES / 2; distance > 0; distance /= 2)
        sum += __shfl_xor_sync(CGX_WARP, sum, distance);
    return cgx_plain_double(sum);
}

CGX_DEVICE uint32_t warp_count(uint32_t count)
{
    for (int distance = 16; distance > 0; distance /= 2)
        count += __shfl_xor_sync(CGX_WARP, count, distance);
    return count;
}

/* The signs that lanes have seen, each CGX_SIGN_. */
CGX_DEVICE uint32_t warp_signs(uint32_t signs)
{
    return (__ballot_sync(CGX_WARP, (signs & CGX_SIGN_POSITIVE) != 0) != 0 ? CGX_SIGN_POSITIVE
                                                                           : 0) |
           (__ballot_sync(CGX_WARP, (signs & CGX_SIGN_NEGATIVE) != 0) != 0 ? CGX_SIGN_NEGATIVE : 0);
}

/* The signs of a bucket in the input. */
template <class Type>
CGX_DEVICE uint32_t own_signs_of(const struct cgx_kernel_args &args,
                                 const struct cgx_inspected_place *place)
{
    const uint32_t size = sizeof(typename Type::element);
    const unsigned char *elements =
        (const unsigned char *)args.buffer +
        (place->piece->first + (uint64_t)place->index * place->size) * size;
    const bool aligned = alignment_of<Type>((int64_t)elements).elements;
    uint32_t signs = 0;

    for (uint32_t i = threadIdx.x % 32; i < place->count; i += 32) {
        float values[Type::LANES];

        Type::widen(load_element<Type>(elements + i * size, aligned), values);
        signs |= cgx_sign_of(values[0]);
    }
    return warp_signs(signs);
}

CGX_DEVICE uint32_t own_signs(const struct cgx_kernel_args &args,
                              const struct cgx_inspected_place *place)
{
    if (!args.inspection->sees_input)
        return 0;
    return args.inspection->dtype == CGX_FLOAT32   ? own_signs_of<cgx_type_float32>(args, place)
           : args.inspection->dtype == CGX_FLOAT16 ? own_signs_of<cgx_type_float16>(args, place)
                                                   : own_signs_of<cgx_type_bfloat16>(args, place);
}

/* ---- sampled buckets ---- */

CGX_DEVICE void inspect_sum(const struct cgx_kernel_args &args,
                            const struct cgx_inspected_bucket *bucket,
                            const struct cgx_inspected_place *place, float step,
                            const float *values, struct cgx_inspected_sum *sum)
{
    const struct cgx_inspection *inspection = args.inspection;
    uint16_t *kept = cgx_inspected_kept(inspection, args.payload) + bucket->at;
    const uint32_t lane = threadIdx.x % 32;
    const uint32_t own = inspection->is_last ? own_signs(args, place) : 0;
    const uint32_t count = step == step ? place->count : 0;
    double squares = 0, magnitude = 0;
    uint32_t nonzero = 0;

    for (uint32_t i = lane; i < count; i += CGX_SQUARES_LANES) {
        const double value = (double)fabsf(values[i]);

        squares += value * value;
        magnitude += value;
        nonzero += values[i] != 0;
    }
    for (uint32_t i = lane; i < bucket->run; i += 32)
        kept[i] =
            count > 0 ? (uint16_t)(cgx_float_bits(values[bucket->first + i]) >> 16) : (uint16_t)0;
    squares = warp_sum(squares);
    magnitude = warp_sum(magnitude);
    nonzero = warp_count(nonzero);
    if (lane != 0)
        return;
    sum->squares = squares;
    sum->magnitude = magnitude;
    sum->step = step;
    sum->nonzero = nonzero;
    sum->own = own;
    sum->unused = 0;
}

CGX_DEVICE void inspect_member(const struct cgx_kernel_args &args,
                               const struct cgx_inspected_place *place, uint32_t member,
                               float sum_step, const float *sums, struct cgx_inspected_member *seen)
{
    const double share = args.inspection->shares[member];
    struct cgx_inspected_view view = {};
    double squared = 0;
    uint32_t nonzero = 0, count;

    view_bucket(place, global_memory(args.sources[member]), &view);
    count = view.step == view.step && sum_step == sum_step ? place->count : 0;
    for (uint32_t i = threadIdx.x % 32; i < count; i += CGX_SQUARES_LANES) {
        const float value = value_in(&view, i);
        const double difference = (double)value - share * (double)sums[i];

        squared += difference * difference;
        nonzero += value != 0;
    }
    squared = warp_sum(squared);
    nonzero = warp_count(nonzero);
    if (threadIdx.x % 32 != 0)
        return;
    seen->squared = squared;
    seen->step = view.step;
    seen->nonzero = nonzero;
}

CGX_DEVICE void inspect_sampled(const struct cgx_kernel_args &args, uint32_t number)
{
    __shared__ float sums[CGX_BUCKET_SIZE_MAX], step;
    const struct cgx_inspection *inspection = args.inspection;
    const struct cgx_inspected_bucket *bucket = &inspection->sampled[number];
    const struct cgx_inspected_place place = place_of(args, bucket);
    const uint32_t warp = threadIdx.x / 32, warps = CGX_KERNEL_THREADS / 32;

    if (warp == 0) {
        struct cgx_inspected_view view = {};

        view_bucket(&place, global_memory(args.sources[args.nsources - 1]), &view);
        for (uint32_t i = threadIdx.x; view.step == view.step && i < place.count; i += 32)
            sums[i] = value_in(&view, i);
        if (threadIdx.x == 0)
            step = view.step;
    }
    __syncthreads();
    for (uint32_t m = warp; m < inspection->nmembers; m += warps)
        inspect_member(args, &place, m, step, sums,
                       cgx_inspected_members(inspection, args.payload) +
                           number * inspection->nmembers + m);
    if (warp == warps - 1)
        inspect_sum(args, bucket, &place, step, sums, cgx_inspected_sums(args.payload) + number);
}

/* ---- buckets that are asked about, and signs ---- */

/* Finds the contributors to BUCKET, by a warp. */
CGX_DEVICE void ask(const struct cgx_kernel_args &args, const struct cgx_inspected_bucket *bucket,
                    struct cgx_inspected_contributors *found)
{
    const uint32_t first = args.inspection->nmembers, last = args.nsources - 1;
    const struct cgx_inspected_place place = place_of(args, bucket);
    const uint32_t lane = threadIdx.x % 32;
    uint32_t others = 0, bringer = 0, own = 0;
    float only = 0;
    bool is_poisoned = false;

    for (uint32_t s = first; s < last; s += 32) {
        const int64_t source = s + lane < last ? args.sources[s + lane] : 0;
        const float step =
            source > 0 ? cgx_header_scale(header_in(&place, global_memory(source))) : 0;
        const uint32_t some = __ballot_sync(CGX_WARP, step > 0);

        is_poisoned |= __ballot_sync(CGX_WARP, step != step) != 0;
        if (some == 0)
            continue;
        others += __popc(some);
        bringer = s - first + 31 - __clz((int)some);
        only = __shfl_sync(CGX_WARP, step, 31 - __clz((int)some));
    }
    if (others == 1)
        own = own_signs(args, &place);
    if (lane != 0)
        return;
    found->sum = cgx_header_scale(header_in(&place, global_memory(args.sources[last])));
    found->only = is_poisoned ? 0 : only;
    found->others = is_poisoned ? 0 : others;
    found->bringer = is_poisoned ? 0 : bringer;
    found->shared = is_poisoned ? 0 : own;
    found->poisoned = is_poisoned;
}

/* Adds the signs in SHARE of the headers of each piece of the sum; small pieces have one share
 * each. */
CGX_DEVICE void find_signs(const struct cgx_kernel_args &args, uint32_t share,
                           struct cgx_inspected_signs *found)
{
    __shared__ struct cgx_inspected_signs warps[CGX_KERNEL_THREADS / 32];
    const unsigned char *sum = global_memory(args.sources[args.nsources - 1]);
    const uint32_t shares = args.npieces < CGX_INSPECT_SHARES ? CGX_INSPECT_SHARES : 1;
    struct cgx_inspected_signs signs = {0, 0};

    for (uint32_t p = shares == 1 ? share : 0; p < args.npieces;
         p += shares == 1 ? CGX_INSPECT_SHARES : 1) {
        const struct cgx_kernel_piece *piece = &args.pieces[p];
        const uint32_t *headers = (const uint32_t *)(sum + piece->offset);
        const uint64_t buckets =
            (piece->count + args.bucket_size - 1) >> (__ffs((int)args.bucket_size) - 1);
        const int32_t steps = (1 << piece->bits % 32) - 1;

        if (piece->bits < CGX_INSPECT_LEAST_BITS || piece->bits > CGX_WIDTHS)
            continue;
        for (uint64_t i = (shares == 1 ? 0 : share) * CGX_KERNEL_THREADS + threadIdx.x; i < buckets;
             i += shares * CGX_KERNEL_THREADS)
            cgx_signs_add(&signs, headers[i], steps);
    }
    signs.signs = warp_signs(signs.signs);
    signs.buckets = warp_count(signs.buckets);
    if (threadIdx.x % 32 == 0)
        warps[threadIdx.x / 32] = signs;
    __syncthreads();
    if (threadIdx.x != 0)
        return;
    for (uint32_t i = 1; i < CGX_KERNEL_THREADS / 32; i++) {
        signs.signs |= warps[i].signs;
        signs.buckets += warps[i].buckets;
    }
    *found = signs;
}

/* Writes the results of args.inspection to PAYLOAD; BUFFER has this rank's elements. */
CGX_DEVICE void inspect(const struct cgx_kernel_args &args)
{
    const struct cgx_inspection *inspection = args.inspection;
    struct cgx_inspected *results = (struct cgx_inspected *)args.payload;
    uint32_t block = blockIdx.x;

    if (block < inspection->nsampled)
        return inspect_sampled(args, block);
    block -= inspection->nsampled;
    if (block < CGX_INSPECT_SHARES) {
        if (inspection->is_last)
            find_signs(args, block, &results->signs[block]);
        return;
    }
    block = (block - CGX_INSPECT_SHARES) * (CGX_KERNEL_THREADS / 32) + threadIdx.x / 32;
    if (block < inspection->nasked)
        ask(args, &inspection->asked[block], &results->asked[block]);
}

#endif
