/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

/* Encodes a bucket: from values, which its threads hold in registers, to header and codes. */
#ifndef CGX_CUDA_ENCODE_CUH
#define CGX_CUDA_ENCODE_CUH

#include "cuda/codes.cuh"

/* ---- range ---- */

/* The least and the greatest value; both are NaN if one of the values is. */
struct cgx_range {
    float min;
    float max;
};

CGX_DEVICE float min_or_nan(float x, float y)
{
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800
    float least;

    asm("min.NaN.f32 %0, %1, %2;" : "=f"(least) : "f"(x), "f"(y));
    return least;
#else
    return y < x || y != y ? y : x;
#endif
}

CGX_DEVICE float max_or_nan(float x, float y)
{
    return -min_or_nan(-x, -y);
}

CGX_DEVICE struct cgx_range range_with(struct cgx_range range, struct cgx_range other)
{
    range.min = min_or_nan(range.min, other.min);
    range.max = max_or_nan(range.max, other.max);
    return range;
}

/* The range of the thread's elements; if WHOLE, none of them is missing. */
template <bool WHOLE>
CGX_DEVICE struct cgx_range thread_range(const struct cgx_place *place, const cgx_values values)
{
    struct cgx_range range = {INFINITY, -INFINITY};

#pragma unroll
    for (int i = 0; i < CGX_GROUPS * CGX_GROUP; i++) {
        float value = values[i / CGX_GROUP][i % CGX_GROUP];
        struct cgx_range other = {value, value};

        if (WHOLE || (uint32_t)(i % CGX_GROUP) < place->counts[i / CGX_GROUP])
            range = range_with(range, other);
    }
    return range;
}

/* The range over all threads of the bucket. No thread returns before all of them have finished
 * their earlier reads. All lanes of the warp must call it. */
CGX_DEVICE struct cgx_range bucket_range(const struct cgx_place *place, const cgx_values values)
{
    struct cgx_range range, other;

    if (place->is_whole)
        range = thread_range<true>(place, values);
    else
        range = thread_range<false>(place, values);
#pragma unroll
    for (int distance = 1; distance < CGX_MAXMIN_BUCKET / (CGX_GROUPS * CGX_GROUP); distance *= 2) {
        other.min = __shfl_xor_sync(0xFFFFFFFFu, range.min, distance);
        other.max = __shfl_xor_sync(0xFFFFFFFFu, range.max, distance);
        range = range_with(range, other);
    }
    __syncwarp();
    return range;
}

/* ---- codes ---- */

/* The bits k + CGX_BIAS are those of the float 1.5 * 2^23 + k; k may be negative. */
#define CGX_BIAS 0x4B400000u /* 1.5 * 2^23 */

CGX_DEVICE uint32_t biased_nearest(float value, float inv)
{
    return (uint32_t)cgx_round_product(value, inv) + CGX_BIAS;
}

/* A mask of the COUNT lowest bytes of a word. */
CGX_DEVICE uint32_t low_bytes(uint32_t count)
{
    return count == 0 ? 0 : 0xFFFFFFFFu >> (32 - 8 * count);
}

/* The codes of BIASED, which is k + CGX_BIAS. ZERO is the zero point + CGX_BIAS and not above
 * BIASED. */
CGX_DEVICE struct cgx_codes codes_of(const uint32_t *biased, uint32_t zero)
{
    struct cgx_codes codes;

    codes.even = ((biased[6] * 256 + biased[4]) * 256 + biased[2]) * 256 + biased[0];
    codes.odd = ((biased[7] * 256 + biased[5]) * 256 + biased[3]) * 256 + biased[1];
    codes.even -= zero * 0x01010101u;
    codes.odd -= zero * 0x01010101u;
    return codes;
}

/* Sets PARTS to the codes of the thread's groups; MAX is the bucket's greatest value. */
CGX_DEVICE void encode_groups(const struct cgx_tile *tile, const struct cgx_place *place,
                              struct cgx_grid grid, float max, const cgx_values values,
                              struct cgx_parts parts[CGX_GROUPS])
{
    uint32_t bits = tile->bits;
    uint32_t zero = (uint32_t)grid.z + CGX_BIAS, last = zero + (1u << bits) - 1;
    uint32_t biased[CGX_GROUPS][CGX_GROUP];
    struct cgx_codes codes[CGX_GROUPS];
    uint32_t greatest = biased_nearest(max, grid.inv);

#pragma unroll
    for (int i = 0; i < CGX_GROUPS * CGX_GROUP; i++)
        biased[i / CGX_GROUP][i % CGX_GROUP] =
            biased_nearest(values[i / CGX_GROUP][i % CGX_GROUP], grid.inv);
    /* k is monotone, so none is below that of the minimum. Few buckets have a k that is too large
     * (a tie at either end). */
    if (greatest > last) {
        CGX_BRANCH;
#pragma unroll
        for (int i = 0; i < CGX_GROUPS * CGX_GROUP; i++)
            biased[i / CGX_GROUP][i % CGX_GROUP] = min(biased[i / CGX_GROUP][i % CGX_GROUP], last);
    }
#pragma unroll
    for (int i = 0; i < CGX_GROUPS; i++)
        codes[i] = codes_of(biased[i], zero);
    if (!place->is_whole) { /* missing elements come last; their codes are zero */
        CGX_BRANCH;
#pragma unroll
        for (int i = 0; i < CGX_GROUPS; i++) {
            codes[i].even &= low_bytes((place->counts[i] + 1) / 2);
            codes[i].odd &= low_bytes(place->counts[i] / 2);
        }
    }
    pack_codes(codes, bits, parts);
}

/* Writes the bucket whose values, in RANGE, the threads hold: a grid, a constant, or poison. */
CGX_DEVICE void encode_bucket(const struct cgx_kernel_args &args, const struct cgx_tile *tile,
                              const struct cgx_place *place, struct cgx_range range,
                              const cgx_values values)
{
    const bool is_poison = !(range.max < 0x1p125f && range.min > -0x1p125f);
    uint32_t header = is_poison ? CGX_BUCKET_POISON : CGX_BUCKET_CONSTANT;
    struct cgx_parts parts[CGX_GROUPS] = {};

    if (!is_poison && range.min != range.max) {
        const struct cgx_grid grid = cgx_grid_over(range.min, range.max, tile->bits);

        header = cgx_grid_header(grid);
        encode_groups(tile, place, grid, range.max, values, parts);
    } else {
        const float constant = is_poison ? 0 : range.min + 0.0f; /* -0 becomes +0 */

#pragma unroll
        for (uint32_t i = 0; i < CGX_GROUPS; i++)
            parts[i] = constant_parts(constant, place->thread + i * place->threads, tile->bits);
    }
    if (place->thread == 0 && place->count > 0)
        *header_of(tile, place, args.payload) = header;
    store_parts(tile, place, args.payload, tile->bits, parts);
}

/* Writes zeros after headers and codes, up to a multiple of 16 bytes. */
CGX_DEVICE void write_padding(const struct cgx_tile *tile, unsigned char *payload)
{
    uint32_t buckets = (tile->count + CGX_MAXMIN_BUCKET - 1) / CGX_MAXMIN_BUCKET;
    uint32_t elements = (tile->count + CGX_CODES_MULTIPLE - 1) & ~(CGX_CODES_MULTIPLE - 1u);

    if (threadIdx.x < tile->header_padding)
        *(uint32_t *)(payload + tile->headers + (buckets + threadIdx.x) * CGX_BUCKET_HEADER_BYTES) =
            0;
    if (threadIdx.x == 0 && tile->plane_padding > 0)
        *(uint2 *)(payload + tile->planes[2] + elements / 8) = make_uint2(0, 0);
}

#endif
