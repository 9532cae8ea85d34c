/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

/* Residuals (doc/format.md) of a rotated bucket, by the warp that holds its values. */
#ifndef CGX_CUDA_ROTATED_RESIDUALS_CUH
#define CGX_CUDA_ROTATED_RESIDUALS_CUH

#include "cuda/rotated_codes.cuh"

typedef struct cgx_quads<struct cgx_type_bfloat16> cgx_residual_quads;

CGX_DEVICE unsigned char *residuals_at(const struct cgx_kernel_args &args,
                                       const struct cgx_rotated_tile *tile,
                                       const struct cgx_rotated_place *place)
{
    return (unsigned char *)args.residuals +
           (tile->first + place->bucket * CGX_ROTATED_BUCKET) * sizeof(uint16_t);
}

CGX_DEVICE void load_residuals(const struct cgx_kernel_args &args,
                               const struct cgx_rotated_tile *tile,
                               const struct cgx_rotated_place *place, cgx_residual_quads *residuals)
{
    load_lane<struct cgx_type_bfloat16>(residuals_at(args, tile, place), place, residuals);
}

/* As cgx_residual_cap; divides and takes a root only if necessary. */
CGX_DEVICE float find_cap(float values, float residuals)
{
    if (__ballot_sync(CGX_WARP, !cgx_residuals_fit(values, residuals)) == 0)
        return 1.0f;
    CGX_BRANCH;
    return cgx_residual_cap(values, residuals);
}

/* Adds RESIDUALS, capped, to the elements VALUES. Returns whether VALUES had a positive norm. */
CGX_DEVICE bool add_to_elements(const cgx_residual_quads *residuals, float *values)
{
    const float squares = sum_squares<false>(values);
    float added[CGX_LANE], cap;

    widen_quads<struct cgx_type_bfloat16>(residuals, added);
    cap = find_cap(squares, sum_squares<false>(added));
#pragma unroll
    for (int i = 0; i < CGX_LANE; i++)
        values[i] = cgx_fma(added[i], cap, values[i]);
    return squares > 0.0f;
}

/* Adds the residuals, capped, to SUMS of all sources. Returns whether SUMS had a positive norm. */
CGX_DEVICE bool add_to_sums(const struct cgx_kernel_args &args, const struct cgx_rotated_tile *tile,
                            const struct cgx_rotated_place *place, float *sums)
{
    const float mean = sum_squares<true>(sums) * (1.0f / CGX_ROTATED_BUCKET);
    cgx_residual_quads residuals;
    float added[CGX_LANE], cap;

    load_residuals(args, tile, place, &residuals);
    widen_quads<struct cgx_type_bfloat16>(&residuals, added);
#pragma unroll
    for (int i = 0; i < CGX_LANE; i++)
        added[i] *= 1.0f / CGX_ROTATED_BUCKET;
    cap = find_cap(mean, sum_squares<false>(added));
    rotate(signs_of(args, tile, place), added);
#pragma unroll
    for (int i = 0; i < CGX_LANE; i++)
        sums[i] = cgx_fma(added[i], cap, sums[i]);
    return mean > 0.0f;
}

/* Divides ERRORS by FACTOR, which is not 1. Errors beyond the range of bfloat16 become zero. */
CGX_DEVICE void scale_errors(float factor, float *errors)
{
    const float back = factor == CGX_ROTATED_UP ? CGX_ROTATED_DOWN : CGX_ROTATED_UP;

#pragma unroll
    for (int i = 0; i < CGX_LANE; i++) {
        const float error = errors[i] * back;

        errors[i] = fabsf(error) < 0x1.ffp127f ? error : 0;
    }
}

/* Stores ERRORS, from write_bucket, as residuals: zeros if HEADER is 0, nothing if it is the
 * poison. */
CGX_DEVICE void leave_residuals(const struct cgx_kernel_args &args,
                                const struct cgx_rotated_tile *tile,
                                const struct cgx_rotated_place *place, uint32_t header,
                                float factor, float *errors)
{
    cgx_residual_quads residuals;

    rotate_back(signs_of(args, tile, place), errors);
    if (factor != 1.0f) {
        CGX_BRANCH;
        scale_errors(factor, errors);
    }
    narrow_quads<struct cgx_type_bfloat16>(errors, &residuals);
    if (header == 0) {
        CGX_BRANCH;
#pragma unroll
        for (int i = 0; i < CGX_LANE / cgx_type_bfloat16::LANES; i++)
            residuals.words[i / cgx_residual_quads::WORDS][i % cgx_residual_quads::WORDS] = 0;
    }
    if (header != CGX_BUCKET_POISON)
        store_lane<struct cgx_type_bfloat16>(residuals_at(args, tile, place), place, &residuals);
}

#endif
