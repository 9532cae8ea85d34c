/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

/* The rotation of a bucket by a warp, and sums over a bucket, in the orders of doc/format.md. Bits
 * 0 to 4 of a value's number in its lane are bits 0, 1, 7, 8, 9 of the element's number in element
 * order, and bits 4, 5, 6, 2, 3 in code order. */
#ifndef CGX_CUDA_ROTATION_CUH
#define CGX_CUDA_ROTATION_CUH

#include "cuda/rotated_tile.cuh"
#include "cuda/row_history.cuh"

/* ---- rotation ---- */

/* Replaces A[0], C[0] and A[1], C[1] by their sums and differences. From sm_100 on an instruction
 * adds two float32, each rounded as by itself (PTX ISA, add.f32x2). */
CGX_DEVICE void add_two_pairs(float *a, float *c)
{
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 1000
    asm("{ .reg .b64 x, y, s, d; mov.b64 x, {%0, %1}; mov.b64 y, {%2, %3};"
        " add.rn.f32x2 s, x, y; sub.rn.f32x2 d, x, y;"
        " mov.b64 {%0, %1}, s; mov.b64 {%2, %3}, d; }"
        : "+f"(a[0]), "+f"(a[1]), "+f"(c[0]), "+f"(c[1]));
#else
    for (int i = 0; i < 2; i++) {
        const float sum = a[i] + c[i];

        c[i] = a[i] - c[i];
        a[i] = sum;
    }
#endif
}

/* Replaces two values of a lane whose numbers differ only in bit DISTANCE by sum and difference. */
template <int DISTANCE> CGX_DEVICE void add_pairs(float *values)
{
#pragma unroll
    for (int i = 0; i < CGX_LANE; i += 2) {
        if (DISTANCE == 1) {
            const float sum = values[i] + values[i + 1];

            values[i + 1] = values[i] - values[i + 1];
            values[i] = sum;
        } else if (!(i & DISTANCE)) {
            add_two_pairs(values + i, values + (i ^ DISTANCE));
        }
    }
}

CGX_DEVICE void turn_signs(uint32_t signs, float *values)
{
#pragma unroll
    for (int i = 0; i < CGX_LANE; i++)
        values[i] = (signs >> i & 1) != 0 ? -values[i] : values[i];
}

/* Where warp_room has value E of LANE in code order. */
CGX_DEVICE uint32_t code_at(uint32_t lane, uint32_t e)
{
    return lane / 4 * CGX_PITCH + ((e >> 3 | (e & 7) << 2) * CGX_QUAD) + lane % 4;
}

CGX_DEVICE void elements_to_codes(float *values)
{
    uint32_t *room = warp_room(), lane = threadIdx.x % 32, quad[CGX_QUAD];

    __syncwarp();
#pragma unroll
    for (int k = 0; k < CGX_QUADS; k++) {
#pragma unroll
        for (int j = 0; j < CGX_QUAD; j++)
            quad[j] = cgx_float_bits(values[k * CGX_QUAD + j]);
        store_16((unsigned char *)(room + k * CGX_PITCH + lane * CGX_QUAD), quad);
    }
    __syncwarp();
#pragma unroll
    for (int e = 0; e < CGX_LANE; e++)
        values[e] = cgx_bits_float(room[code_at(lane, e)]);
}

CGX_DEVICE void codes_to_elements(float *values)
{
    uint32_t *room = warp_room(), lane = threadIdx.x % 32, quad[CGX_QUAD];

    __syncwarp();
#pragma unroll
    for (int e = 0; e < CGX_LANE; e++)
        room[code_at(lane, e)] = cgx_float_bits(values[e]);
    __syncwarp();
#pragma unroll
    for (int k = 0; k < CGX_QUADS; k++) {
        load_16((const unsigned char *)(room + k * CGX_PITCH + lane * CGX_QUAD), quad);
#pragma unroll
        for (int j = 0; j < CGX_QUAD; j++)
            values[k * CGX_QUAD + j] = cgx_bits_float(quad[j]);
    }
}

CGX_DEVICE void rotate(uint32_t signs, float *values)
{
    turn_signs(signs, values);
    add_pairs<4>(values);
    add_pairs<8>(values);
    add_pairs<16>(values);
    add_pairs<1>(values);
    add_pairs<2>(values);
    elements_to_codes(values);
    add_pairs<8>(values);
    add_pairs<16>(values);
    add_pairs<1>(values);
    add_pairs<2>(values);
    add_pairs<4>(values);
}

CGX_DEVICE void rotate_back(uint32_t signs, float *values)
{
    add_pairs<1>(values);
    add_pairs<2>(values);
    add_pairs<4>(values);
    add_pairs<8>(values);
    add_pairs<16>(values);
    codes_to_elements(values);
    add_pairs<1>(values);
    add_pairs<2>(values);
    add_pairs<4>(values);
    add_pairs<8>(values);
    add_pairs<16>(values);
    turn_signs(signs, values);
}

/* The signs of this lane's elements. */
CGX_DEVICE uint32_t signs_of(const struct cgx_kernel_args &args,
                             const struct cgx_rotated_tile *tile, const struct cgx_row_place *place)
{
    uint32_t bucket = (uint32_t)(tile->rows.first / CGX_ROTATED_BUCKET) + place->bucket;

    return cgx_rotated_signs(args.key, bucket, place->lane);
}

/* ---- sums ---- */

/* The sum of all lanes' SUM, in code order. */
CGX_DEVICE float sum_of_codes(float sum)
{
#pragma unroll
    for (int distance = 16; distance > 0; distance /= 2)
        sum = add_lane(sum, distance);
    return sum;
}

/* The sum of squares over the bucket: in code order if CODES, else in element order. */
template <bool CODES> CGX_DEVICE float sum_squares(const float *values)
{
    float sums[CGX_QUAD] = {};

#pragma unroll
    for (int i = 0; i < CGX_LANE; i++) {
        float *sum = &sums[CODES ? 0 : i % CGX_QUAD];

        *sum = cgx_fma(values[i], values[i], *sum);
    }
    if (CODES)
        return sum_of_codes(sums[0]);
    sums[0] = (sums[0] + sums[1]) + (sums[2] + sums[3]);
    sums[0] = add_lane(sums[0], 4);
    sums[0] = add_lane(sums[0], 8);
    sums[0] = add_lane(sums[0], 16);
    sums[0] = add_lane(sums[0], 1);
    return add_lane(sums[0], 2);
}

/* As sum_squares, but if the sum is out of range, VALUES are multiplied by *FACTOR first. Otherwise
 * *FACTOR is 1. */
template <bool CODES> CGX_DEVICE float sum_in_range(float *values, float *factor)
{
    const float squares = sum_squares<CODES>(values);

    *factor = 1.0f;
    if (__ballot_sync(CGX_WARP, !(squares >= CGX_ROTATED_LEAST && squares < CGX_ROTATED_MOST)) == 0)
        return squares;
    *factor = cgx_rotated_factor(squares);
#pragma unroll
    for (int i = 0; i < CGX_LANE; i++)
        values[i] *= *factor;
    return sum_squares<CODES>(values);
}

#endif
