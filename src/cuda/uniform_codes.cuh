/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

/* Quantises a group, a row in each lane: finds the kinds of its blocks, and where each lane has its
 * part of the group's bits. */
#ifndef CGX_CUDA_UNIFORM_CODES_CUH
#define CGX_CUDA_UNIFORM_CODES_CUH

#include "cuda/uniform_bits.cuh"

#define CGX_TOO_MANY 0xFFFFFFFFu

struct cgx_uniform_row {
    uint32_t zeros; /* mask of the elements that are zeros */
    /* Kind and form of its block; the form is CGX_UNIFORM_NONE also if there are no codes. */
    uint32_t kind, form;
    uint32_t of;               /* mask of the elements that have codes */
    uint32_t codes[CGX_MASKS]; /* masks of each bit of codes of 8 bits */
    uint32_t quotients[CGX_MASKS];
    /* Masks of the elements that reach each level; level 0 is not used. */
    uint32_t levels[CGX_UNIFORM_LEVELS + 1];
    /* Where the bits of its block are in the group: */
    uint32_t words, form_at, masks;
    uint32_t nibbles, holes; /* where the row's own nibbles and holes are */
    /* Where the row's own levels are, in pairs: 2 and 3, 4 and 5, ..., 12 and what goes beyond. */
    uint32_t levels_at[CGX_UNIFORM_LEVELS / 2];
};

/* ---- codes ---- */

/* Byte BYTE of each of four elements of K, 8 apart from ELEMENT on. */
CGX_DEVICE uint32_t gather_bytes(const uint32_t *k, int element, uint32_t byte)
{
    const uint32_t pair = byte | (byte + 4) << 4;

    return __byte_perm(__byte_perm(k[element], k[element + 8], pair),
                       __byte_perm(k[element + 16], k[element + 24], pair), 0x5410);
}

/* Sets the masks of the N bits of the codes of VALUES. False: a value has no code, and its masks
 * are undefined. */
template <int N>
CGX_DEVICE bool find_codes(const float *values, float inverse, uint32_t key, uint32_t block,
                           uint32_t *masks)
{
    const float limit =
        N > CGX_MASKS ? (float)CGX_UNIFORM_MOST_WIDE_CODE : CGX_UNIFORM_MOST_CODE + 0.5f;
    struct cgx_dithers dithers;
    uint32_t k[CGX_LANE]; /* the lower halves of the words hold k */
    bool fits = true;

    CGX_FORGET(key); /* dithers must not stay in registers for another call */
    dithers = dithers_of(key, block);
#pragma unroll
    for (int i = 0; i < CGX_MASKS; i++) {
#pragma unroll
        for (int half = i; half < 16; half += 8) {
            const uint32_t hash = hash_of(&dithers, half);

#pragma unroll
            for (int e = half; e < CGX_LANE; e += 16) {
                const float scaled = values[e] * inverse, x = scaled + dither_of(&dithers, hash, e);

                k[e] = cgx_float_bits(x + 0x1.8p23f);
                fits = fits && fabsf(x) <= limit;
            }
        }
#pragma unroll
        for (int byte = 0; byte < N / CGX_MASKS; byte++)
            masks[byte * CGX_MASKS + i] = gather_bytes(k, i, byte);
    }
#pragma unroll
    for (int i = 0; i < N; i += CGX_MASKS)
        exchange_bits(masks + i);
    fold_signs<N>(masks);
    return fits;
}

/* The elements that are zeros; if IS_SUM, only -0. */
template <bool IS_SUM> CGX_DEVICE uint32_t find_zeros(const float *values)
{
    int32_t least = 0;
    float magnitude = 1;
    uint32_t zeros = 0;

#pragma unroll
    for (int i = 0; i < CGX_LANE; i++) {
        if (IS_SUM)
            least = min(least, (int32_t)cgx_float_bits(values[i]));
        else
            magnitude = fminf(magnitude, fabsf(values[i]));
    }
    if (__ballot_sync(CGX_WARP, IS_SUM ? least == INT32_MIN : magnitude == 0) == 0)
        return 0;
#pragma unroll
    for (int i = 0; i < CGX_LANE; i++) {
        const bool is_zero = IS_SUM ? cgx_float_bits(values[i]) == 0x80000000u : values[i] == 0;

        zeros |= is_zero ? 1u << i : 0;
    }
    return zeros;
}

/* This function and the next are rarely called, but in a loop. The constant that each hides stops
 * the compiler from computing before the loop what does not depend on it. */
CGX_DEVICE bool are_finite(const float *values)
{
    uint32_t most = 0, one = 1;

    CGX_FORGET(one);
#pragma unroll
    for (int i = 0; i < CGX_LANE; i++)
        most = max(most, cgx_float_bits(values[i]) << one);
    return most < 0xFF000000u;
}

/* How often STEP must be doubled so that all finite values of the group have codes of 8 bits. */
CGX_DEVICE int32_t most_exponent(const float *values, float step)
{
    uint32_t most = 0, magnitude = 0x7FFFFFFFu;
    int32_t exponent = 0;

    CGX_FORGET(magnitude);
#pragma unroll
    for (int i = 0; i < CGX_LANE; i++) {
        const uint32_t bits = cgx_float_bits(values[i]) & magnitude;

        most = bits < 0x7F800000u ? max(most, bits) : most;
    }
    for (int distance = 1; distance < 32; distance *= 2)
        most = max(most, __shfl_xor_sync(CGX_WARP, most, distance));
    while (!(cgx_bits_float(most) * (1.0f / cgx_uniform_scaled(step, exponent)) <=
             CGX_UNIFORM_MOST_CODE))
        exponent++;
    return exponent;
}

/* ---- kinds ---- */

/* Whether a condition HOLDS in none of the rows of a lane's block. */
CGX_DEVICE bool in_no_row(bool holds)
{
    return (__ballot_sync(CGX_WARP, holds) & 3u << (threadIdx.x & 30)) == 0;
}

/* Sets the kind and the form of a block with codes of 8 bits. */
CGX_DEVICE void choose_form(struct cgx_uniform_row *row)
{
    const uint32_t sum = of_pair(sum_of<CGX_MASKS>(row->codes)),
                   form = cgx_uniform_form(sum, CGX_UNIFORM_BLOCK),
                   masks = form == CGX_UNIFORM_NONE ? 1 : form + 1;
    uint32_t any = 0, zeros = of_pair(__popc(row->zeros)), none;

#pragma unroll
    for (int i = 0; i < CGX_MASKS; i++)
        any |= row->codes[i];
    none = of_pair(__popc(~any));
    row->kind = row->form = form;
    row->of = CGX_ALL;
    if (zeros == CGX_UNIFORM_BLOCK) {
        row->kind = CGX_UNIFORM_ZEROS;
        row->form = CGX_UNIFORM_NONE;
    } else if (zeros != 0 && masks * zeros + none < CGX_UNIFORM_BLOCK) {
        row->kind = CGX_UNIFORM_HOLES;
    } else if (zeros != 0) {
        row->kind = CGX_UNIFORM_SPARSE;
        row->form = cgx_uniform_form(sum, CGX_UNIFORM_BLOCK - zeros);
        row->of = ~row->zeros;
    }
}

/* Chooses the form again for blocks with a value that has no code of 8 bits: those of this lane
 * unless FITS. Their quotients become codes of 8 bits. */
CGX_DEVICE void choose_wide(const float *values, float inverse, uint32_t key, uint32_t block,
                            bool poisons, bool fits, struct cgx_uniform_row *row)
{
    const uint32_t zeros = of_pair(__popc(row->zeros));
    uint32_t masks[CGX_WIDE_MASKS], sum, used = 0, parameter;
    const bool is_wide = in_no_row(!find_codes<CGX_WIDE_MASKS>(values, inverse, key, block, masks));
    const bool poisoned = !in_no_row(!are_finite(values)) && poisons;

    sum = of_pair(sum_of<CGX_WIDE_MASKS>(masks));
#pragma unroll
    for (int i = 0; i < CGX_WIDE_MASKS; i++)
        used |= masks[i] != 0 ? 1u << i : 0;
    used |= __shfl_xor_sync(CGX_WARP, used, 1);
    if (fits)
        return;
    row->form = CGX_UNIFORM_NONE;
    row->of = CGX_ALL;
    row->kind = poisoned ? CGX_UNIFORM_POISON : CGX_UNIFORM_RAW;
    if (!is_wide)
        return;
    parameter = cgx_uniform_parameter(sum, CGX_UNIFORM_BLOCK - zeros, 14);
    while (used >> parameter > 255)
        parameter++;
    row->kind = zeros != 0 ? CGX_UNIFORM_SPARSE : CGX_UNIFORM_WIDE;
    row->form = CGX_UNIFORM_WIDE_FORM + parameter;
    row->of = zeros != 0 ? ~row->zeros : CGX_ALL;
    shift_right<CGX_WIDE_MASKS>(masks, parameter);
#pragma unroll
    for (int i = 0; i < CGX_MASKS; i++)
        row->codes[i] = masks[i];
}

/* Finds the elements that reach each level. */
CGX_DEVICE void find_levels(struct cgx_uniform_row *row)
{
    const bool is_wide = row->form >= CGX_UNIFORM_WIDE_FORM;
    uint32_t *q = row->quotients, *levels = row->levels, beyond, eight;

#pragma unroll
    for (int i = 0; i < CGX_MASKS; i++)
        q[i] = cgx_uniform_has_levels(row->form) ? row->codes[i] : 0;
    shift_right<CGX_MASKS>(q, is_wide ? 0 : row->form & 7);
    beyond = q[4] | q[5] | q[6] | q[7];
    eight = q[3] | beyond;
    levels[1] = q[0] | q[1] | q[2] | eight;
    levels[2] = q[1] | q[2] | eight;
    levels[3] = (q[0] & q[1]) | q[2] | eight;
    levels[4] = q[2] | eight;
    levels[5] = (q[2] & (q[0] | q[1])) | eight;
    levels[6] = (q[2] & q[1]) | eight;
    levels[7] = (q[2] & q[1] & q[0]) | eight;
    levels[8] = eight;
    levels[9] = (q[3] & (q[0] | q[1] | q[2])) | beyond;
    levels[10] = (q[3] & (q[1] | q[2])) | beyond;
    levels[11] = (q[3] & (q[2] | (q[1] & q[0]))) | beyond;
    levels[12] = (q[3] & q[2]) | beyond;
}

/* This lane's half of the first mask of a block that has form 0 or CGX_UNIFORM_NIBBLES. The mask
 * has bits for the elements with codes only. */
CGX_DEVICE uint32_t first_half(const struct cgx_uniform_row *row)
{
    const struct cgx_moves moves = find_moves(row->of);

    if (__ballot_sync(CGX_WARP, row->kind == CGX_UNIFORM_SPARSE) == 0)
        return row->levels[1];
    return half_of(join_rows(extract(row->levels[1], &moves), __popc(row->of)));
}

/* Cuts a first mask into two levels where that takes fewer bits. */
CGX_DEVICE void choose_nibbles(struct cgx_uniform_row *row)
{
    uint32_t count, bits;

    if (__ballot_sync(CGX_WARP, row->form == 0) == 0)
        return;
    count = of_pair(__popc(row->of));
    bits = 16 + 4 * of_pair(__popc(nibbles_of(first_half(row))));
    if (row->form == 0 && bits < count) {
        row->kind = row->kind == 0 ? (uint32_t)CGX_UNIFORM_NIBBLES : row->kind;
        row->form = CGX_UNIFORM_NIBBLES;
    }
}

/* ---- places ---- */

CGX_DEVICE bool is_special(const struct cgx_uniform_row *row)
{
    return row->kind >= CGX_UNIFORM_SPARSE;
}

/* The elements with code 0, of which a block with holes says whether they are zeros. */
CGX_DEVICE uint32_t find_holes(const struct cgx_uniform_row *row)
{
    uint32_t any = row->kind == CGX_UNIFORM_HOLES ? 0 : CGX_ALL;

#pragma unroll
    for (int i = 0; i < CGX_MASKS; i++)
        any |= row->codes[i];
    return ~any;
}

/* Finds where words, forms and masks are; returns the end of the last. *HOLES is set to the number
 * of their bits, which are last in the group. */
CGX_DEVICE uint32_t place_blocks(struct cgx_uniform_row *row, uint32_t *holes)
{
    const uint32_t words = words_of_kind(row->kind), lane = threadIdx.x % 32;
    const bool has_form = is_special(row) && row->kind != CGX_UNIFORM_NIBBLES;
    uint32_t counts, up_to, all, end, masks, nibbles, here;

    *holes = row->form_at = row->masks = row->nibbles = row->holes = 0;
    if (__ballot_sync(CGX_WARP, is_special(row)) == 0) {
        up_to = sum_up_to(lane % 2 == 0 ? words : 0);
        row->words = up_to - words;
        return __shfl_sync(CGX_WARP, up_to, 31) * 64;
    }
    masks = of_pair(__popc(row->of));
    masks = is_special(row) ? bits_of_masks(row->form, masks) : 0;
    /* All blocks together have at most 512 words, 16 forms, and 16 times 960 bits in masks. */
    counts = words | has_form << 10 | masks << 15;
    up_to = sum_up_to(lane % 2 == 0 ? counts : 0);
    all = __shfl_sync(CGX_WARP, up_to, 31);
    up_to -= counts;
    row->words = up_to & 1023;
    end = (all & 1023) * 64;
    row->form_at = end + CGX_UNIFORM_FORM_BITS * (up_to >> 10 & 31);
    end += CGX_UNIFORM_FORM_BITS * (all >> 10 & 31);
    row->masks = end + (up_to >> 15);
    end += all >> 15;
    nibbles = nibbles_of(first_half(row));
    here = row->form == CGX_UNIFORM_NIBBLES ? 4 * __popc(nibbles) : 0;
    here |= __popc(find_holes(row)) << 16;
    up_to = sum_up_to(here);
    all = __shfl_sync(CGX_WARP, up_to, 31);
    row->nibbles = end + ((up_to - here) & 0xFFFFu);
    row->holes = (up_to - here) >> 16;
    *holes = all >> 16;
    return end + (all & 0xFFFFu);
}

/* Finds where the levels are, from AT on; returns their end. */
CGX_DEVICE uint32_t place_levels(struct cgx_uniform_row *row, uint32_t at)
{
#pragma unroll
    for (int i = 0; i < CGX_UNIFORM_LEVELS / 2; i++) {
        const bool is_last = 2 * i + 2 == CGX_UNIFORM_LEVELS; /* 8 bits for each element */
        const uint32_t first = __popc(row->levels[2 * i + 1]),
                       counts = first | __popc(row->levels[2 * i + 2]) << (is_last ? 19 : 16);
        uint32_t up_to, all;

        row->levels_at[i] = 0;
        if (__ballot_sync(CGX_WARP, first != 0) == 0)
            continue;
        up_to = sum_up_to(counts);
        all = __shfl_sync(CGX_WARP, up_to, 31);
        row->levels_at[i] = up_to - counts + at + ((at + (all & 0xFFFFu)) << 16);
        at += (all & 0xFFFFu) + (all >> 16);
    }
    return at;
}

/* ---- groups ---- */

/* Quantises the group with STEP and KEY. Sets ROW, whose zeros are known, and returns the group's
 * number of 64-bit words, or CGX_TOO_MANY if they do not fit into its room. With POISONS, blocks
 * that are not finite are poisoned. */
CGX_DEVICE uint32_t quantise_group(const struct cgx_uniform_tile *tile,
                                   const struct cgx_row_place *place, const float *values,
                                   float step, uint32_t key, bool poisons,
                                   struct cgx_uniform_row *row)
{
    const uint32_t blocks = blocks_of(place), block = block_of(tile, place);
    const float inverse = 1.0f / step;
    const bool fits = in_no_row(!find_codes<CGX_MASKS>(values, inverse, key, block, row->codes));
    uint32_t end, holes;

    choose_form(row);
    if (__ballot_sync(CGX_WARP, !fits) != 0)
        choose_wide(values, inverse, key, block, poisons, fits, row);
    if (place->lane / 2 >= blocks)
        row->kind = row->form = CGX_UNIFORM_NONE;
    find_levels(row);
    choose_nibbles(row);
    end = place_levels(row, place_blocks(row, &holes));
    row->holes += end;
    end += holes;
    return end <= blocks * CGX_UNIFORM_BLOCK_WORDS * 64 ? (end + 63) / 64 : CGX_TOO_MANY;
}

#endif
