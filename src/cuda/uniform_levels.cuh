/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

/* Decodes a group, a row in each lane. Each part of its bits has those of all blocks in order, so
 * that lanes find theirs by sums over the lanes before them. */
#ifndef CGX_CUDA_UNIFORM_LEVELS_CUH
#define CGX_CUDA_UNIFORM_LEVELS_CUH

#include "cuda/uniform_bits.cuh"

#define CGX_UNIFORM_SOURCES 8 /* payloads whose groups are found at once */

/* A group of a payload. */
struct cgx_uniform_source {
    int64_t words; /* address of its words */
    uint64_t kinds;
    float step; /* step size; 0: the group is malformed */
    uint32_t key;
    uint32_t count; /* number of its words */
};

/* The bits of a group that have not been read. */
struct cgx_uniform_reader {
    const uint32_t *words;
    uint32_t at, end;
};

/* A row whose codes are read. It has as many masks of bits of codes below the quotients as its form
 * says. */
struct cgx_read_row {
    uint32_t kind, form; /* kind and form of its block */
    uint32_t first;      /* the first word of its block that holds bits of the row */
    uint32_t of;         /* mask of the elements that are no zeros */
    uint32_t masks[CGX_MASKS];
    uint32_t wide;  /* where its masks are if codes have 16 bits */
    uint32_t level; /* mask of the elements that reach level 1 */
    uint32_t quotients[CGX_MASKS];
};

/* ---- groups ---- */

/* Finds group INDEX, of BLOCKS blocks, in the payload at ADDRESS. */
CGX_DEVICE void find_source(const struct cgx_uniform_tile *tile, int64_t address, uint32_t index,
                            uint32_t blocks, struct cgx_uniform_source *source)
{
    const unsigned char *piece = global_memory(address) + tile->piece;
    const uint32_t *ends = (const uint32_t *)(piece + tile->layout.ends);
    const uint32_t begin = index > 0 ? ends[index - 1] : 0, end = ends[index];
    const uint64_t kinds = ((const uint64_t *)(piece + tile->layout.kinds))[index];
    const float step = *(const float *)piece;

    source->words = (int64_t)(piece + tile->layout.words + (uint64_t)begin * sizeof(uint64_t));
    source->kinds = kinds;
    source->key = ((const uint32_t *)piece)[1];
    source->count = end - begin;
    source->step = 0;
    if (!cgx_uniform_is_step(step) || begin > end || end > tile->words ||
        end - begin > blocks * CGX_UNIFORM_BLOCK_WORDS ||
        *(const uint64_t *)(piece + 8) > tile->words ||
        (blocks < CGX_UNIFORM_BLOCKS && kinds >> 4 * blocks != 0))
        return;
    source->step = cgx_uniform_group_step(step, piece[tile->layout.exponents + index]);
    if (!cgx_uniform_is_group_step(source->step))
        source->step = 0;
}

/* Finds the groups of the tile in the COUNT payloads at ADDRESSES, four for each payload; an
 * address of 0 stands for no payload. All threads of the block must call this. */
CGX_DEVICE const struct cgx_uniform_source *find_sources(const struct cgx_uniform_tile *tile,
                                                         const int64_t *addresses, uint32_t count)
{
    __shared__ struct cgx_uniform_source found[CGX_UNIFORM_SOURCES * CGX_KERNEL_GROUPS];
    const uint32_t s = threadIdx.x / CGX_KERNEL_GROUPS, bucket = threadIdx.x % CGX_KERNEL_GROUPS;
    const uint32_t left = count_within(bucket * CGX_UNIFORM_GROUP, tile->count, CGX_UNIFORM_GROUP);

    __syncthreads(); /* so that all have read what was found before */
    if (s < count && left > 0 && addresses[s] != 0)
        find_source(tile, addresses[s], tile->index * CGX_KERNEL_GROUPS + bucket,
                    (left + CGX_UNIFORM_BLOCK - 1) / CGX_UNIFORM_BLOCK, &found[threadIdx.x]);
    __syncthreads();
    return found;
}

/* ---- parts ---- */

/* Reads past the COUNT bits that each lane has in the next part, and sets *AT to where this lane's
 * bits begin. False: the group has fewer bits. */
CGX_DEVICE bool find_row_bits(struct cgx_uniform_reader *reader, uint32_t count, uint32_t *at)
{
    const uint32_t up_to = sum_up_to(count), all = __shfl_sync(CGX_WARP, up_to, 31),
                   left = reader->end - reader->at;

    *at = reader->at + up_to - count;
    reader->at += all;
    return all <= left;
}

/* The same for bits of blocks; both lanes of a block share them. */
CGX_DEVICE bool find_block_bits(struct cgx_uniform_reader *reader, uint32_t count, uint32_t *at)
{
    const bool is_odd = threadIdx.x % 2 != 0, taken = find_row_bits(reader, is_odd ? 0 : count, at);

    *at -= is_odd ? count : 0;
    return taken;
}

/* Reads the part that is whole words. */
CGX_DEVICE bool read_words(struct cgx_uniform_reader *reader, struct cgx_read_row *row)
{
    const uint32_t kind = row->kind, odd = threadIdx.x % 2,
                   masks = kind < CGX_UNIFORM_NONE ? cgx_uniform_planes(kind) : 0;
    const uint32_t *words;
    uint32_t at;

    if (!find_block_bits(reader, words_of_kind(kind) * 64, &at))
        return false;
    row->first = at / 32;
    words = reader->words + row->first + odd;
#pragma unroll
    for (uint32_t i = 0; i < CGX_MASKS; i++)
        row->masks[i] = i < masks ? words[2 * i] : 0;
    row->level = kind < CGX_UNIFORM_PLAIN ? words[2 * masks] : 0;
    row->wide = 0;
    row->of = kind == CGX_UNIFORM_SPARSE ? words[0] : kind == CGX_UNIFORM_ZEROS ? 0 : CGX_ALL;
    row->form =
        kind <= CGX_UNIFORM_NONE || kind == CGX_UNIFORM_NIBBLES ? kind : (uint32_t)CGX_UNIFORM_NONE;
    return true;
}

/* Reads the forms, masks and nibbles of special blocks. */
CGX_DEVICE bool read_specials(struct cgx_uniform_reader *reader, struct cgx_read_row *row)
{
    const uint32_t *words = reader->words, odd = threadIdx.x % 2, mine = __popc(row->of);
    const uint32_t other = __shfl_xor_sync(CGX_WARP, mine, 1), count = mine + other;
    const bool is_special = row->kind >= CGX_UNIFORM_SPARSE,
               has_form = is_special && row->kind != CGX_UNIFORM_NIBBLES;
    const struct cgx_moves moves = find_moves(row->of);
    uint32_t at, masks, nibbles, half;

    if (!find_block_bits(reader, has_form ? CGX_UNIFORM_FORM_BITS : 0, &at))
        return false;
    if (has_form)
        row->form = row_bits_at(words, at) & 31;
    if (__ballot_sync(CGX_WARP, has_form && !cgx_uniform_may_have(row->kind, row->form)) != 0)
        return false;
    masks = is_special ? cgx_uniform_planes(row->form) : 0;
    if (!find_block_bits(reader, is_special ? bits_of_masks(row->form, count) : 0, &at))
        return false;
    row->wide = at += odd * other;
#pragma unroll
    for (uint32_t i = 0; i < CGX_MASKS; i++)
        if (row->form < CGX_UNIFORM_WIDE_FORM && i < masks)
            row->masks[i] = deposit(row_bits_at(words, at + i * count), &moves);
    nibbles = 0;
    if (row->form == CGX_UNIFORM_NIBBLES)
        nibbles = row_bits_at(words, at - odd * other + odd * CGX_MASKS) & 255;
    else if (is_special && cgx_uniform_has_levels(row->form))
        row->level = deposit(row_bits_at(words, at + masks * count), &moves);
    if (!find_row_bits(reader, 4 * __popc(nibbles), &at))
        return false;
    nibbles = spread_nibbles(nibbles);
    half = nibbles != 0 ? deposit_few(row_bits_at(words, at), nibbles) : 0;
    half = (uint32_t)(join_rows(half, 32) >> odd * other);
    if (row->form == CGX_UNIFORM_NIBBLES)
        row->level = deposit(half, &moves);
    return true;
}

/* Reads what goes beyond the last level, which the elements LEFT reach. */
CGX_DEVICE bool read_beyond(struct cgx_uniform_reader *reader, uint32_t left,
                            struct cgx_read_row *row)
{
    uint32_t at, beyond = 0;

    if (!find_row_bits(reader, 8 * __popc(left), &at))
        return false;
    for (; left != 0; left &= left - 1, at += 8) {
        const uint32_t bit = left & (0 - left),
                       quotient = CGX_UNIFORM_LEVELS + (row_bits_at(reader->words, at) & 255);

#pragma unroll
        for (int i = 0; i < CGX_MASKS; i++)
            row->quotients[i] = (row->quotients[i] & ~bit) | ((quotient >> i & 1) != 0 ? bit : 0);
        beyond |= quotient >> CGX_MASKS;
    }
    return __ballot_sync(CGX_WARP, beyond != 0) == 0;
}

/* Reads the levels: bit i of a quotient is that of the number of levels it reaches that are
 * multiples of 2^i. */
CGX_DEVICE bool read_levels(struct cgx_uniform_reader *reader, struct cgx_read_row *row)
{
    uint32_t left = row->level, at;

#pragma unroll
    for (int i = 0; i < CGX_MASKS; i++)
        row->quotients[i] = i == 0 ? left : 0;
#pragma unroll 1
    for (uint32_t level = 2; level <= CGX_UNIFORM_LEVELS; level++) {
        uint32_t bits;

        if (__ballot_sync(CGX_WARP, left != 0) == 0)
            return true;
        if (!find_row_bits(reader, __popc(left), &at))
            return false;
        bits = row_bits_at(reader->words, at);
        if (level <= CGX_FULL_LEVELS) {
            const struct cgx_moves moves = find_moves(left);

            left = deposit(bits, &moves);
        } else {
            left = deposit_few(bits, left);
        }
#pragma unroll
        for (int i = 0; i < 4; i++)
            row->quotients[i] ^= (level & ((1u << i) - 1)) == 0 ? left : 0;
    }
    return __ballot_sync(CGX_WARP, left != 0) == 0 || read_beyond(reader, left, row);
}

/* Reads which elements with code 0 are zeros, in blocks with holes. */
CGX_DEVICE bool read_holes(struct cgx_uniform_reader *reader, struct cgx_read_row *row)
{
    uint32_t any = row->kind == CGX_UNIFORM_HOLES ? row->level : CGX_ALL, at;

#pragma unroll
    for (int i = 0; i < CGX_MASKS; i++)
        any |= row->masks[i];
    if (!find_row_bits(reader, __popc(~any), &at))
        return false;
    if (any != CGX_ALL)
        row->of = any | deposit_few(row_bits_at(reader->words, at), ~any);
    return true;
}

/* Reads all parts. False: the group is malformed. Whether codes fit their form is not checked. */
CGX_DEVICE bool read_parts(struct cgx_uniform_reader *reader, struct cgx_read_row *row)
{
    if (!read_words(reader, row))
        return false;
    if (__ballot_sync(CGX_WARP, row->kind >= CGX_UNIFORM_SPARSE) != 0 &&
        !read_specials(reader, row))
        return false;
    if (!read_levels(reader, row))
        return false;
    if (__ballot_sync(CGX_WARP, row->kind == CGX_UNIFORM_HOLES) != 0 && !read_holes(reader, row))
        return false;
    return reader->end - reader->at < 64;
}

/* ---- codes ---- */

/* Sets the masks of the N bits of a row's codes. False: a code of the group has more. */
template <int N>
CGX_DEVICE bool join_masks(const struct cgx_uniform_reader *reader, const struct cgx_read_row *row,
                           uint32_t *codes)
{
    const bool is_wide = row->form >= CGX_UNIFORM_WIDE_FORM;
    const uint32_t masks = cgx_uniform_planes(row->form);
    uint32_t lost;

#pragma unroll
    for (int i = 0; i < N; i++)
        codes[i] = i < CGX_MASKS ? row->quotients[i] : 0;
    lost = shift_left<N>(codes, masks < N ? masks : 0);
    if (N > CGX_MASKS) {
        const uint32_t count = of_pair(__popc(row->of));
        const struct cgx_moves moves = find_moves(row->of);

#pragma unroll
        for (uint32_t i = 0; i < N; i++) {
            lost |= i >= CGX_MASKS && !is_wide ? codes[i] : 0;
            if (is_wide && i < masks)
                codes[i] |= deposit(row_bits_at(reader->words, row->wide + i * count), &moves);
        }
    }
#pragma unroll
    for (int i = 0; i < CGX_MASKS; i++)
        codes[i] |= row->masks[i];
    return __ballot_sync(CGX_WARP, lost != 0) == 0;
}

/* Sets VALUES to the levels of a row's codes of N bits. BLOCK is the number of its block in the
 * buffer. */
template <int N>
CGX_DEVICE bool restore_codes(const struct cgx_uniform_source *source,
                              const struct cgx_uniform_reader *reader,
                              const struct cgx_read_row *row, uint32_t block, float *values)
{
    const struct cgx_dithers dithers = dithers_of(source->key, block);
    uint32_t codes[N];

    if (!join_masks<N>(reader, row, codes))
        return false;
    unfold_signs<N>(codes);
    codes[N - 1] = ~codes[N - 1]; /* k plus 2^(N - 1) */
#pragma unroll
    for (int i = 0; i < N; i += CGX_MASKS)
        exchange_bits(codes + i);
#pragma unroll
    for (int i = 0; i < 16; i++) {
        const uint32_t hash = hash_of(&dithers, i);

#pragma unroll
        for (int e = i; e < CGX_LANE; e += 16) {
            uint32_t k = codes[e % 8];

            if (N > CGX_MASKS)
                k = __byte_perm(k, codes[N - CGX_MASKS + e % 8], e / 8 | (e / 8 + 4) << 4);
            const float exact = number_of(k, 0x4B, N > CGX_MASKS ? 0x7410 : 0x7440 | e / 8) -
                                (0x1p23f + (1 << (N - 1)));

            values[e] = (exact - dither_of(&dithers, hash, e)) * source->step;
        }
    }
    return true;
}

/* ---- rows ---- */

/* Sets VALUES to this lane's row of a raw or poisoned block. */
template <bool IS_SUM>
CGX_DEVICE void restore_raw(const struct cgx_uniform_reader *reader, const struct cgx_read_row *row,
                            float *values)
{
    const uint32_t *words = reader->words + row->first + threadIdx.x % 2 * CGX_LANE;

#pragma unroll
    for (int i = 0; i < CGX_LANE; i++) {
        const float value = row->kind == CGX_UNIFORM_RAW ? cgx_bits_float(words[i])
                                                         : cgx_bits_float(CGX_NAN_FLOAT32);

        values[i] = value != value ? cgx_bits_float(CGX_NAN_FLOAT32)
                    : value == 0   ? IS_SUM ? -0.0f : 0.0f
                                   : value;
    }
}

template <bool IS_SUM>
CGX_DEVICE bool restore_row(const struct cgx_uniform_source *source,
                            const struct cgx_row_place *place, uint32_t block, float *values)
{
    struct cgx_uniform_reader reader = {(const uint32_t *)global_memory(source->words), 0,
                                        source->count * 64};
    struct cgx_read_row row;
    bool is_good;

    row.kind = (uint32_t)(source->kinds >> place->lane / 2 * 4) & 15;
    if (place->lane / 2 >= blocks_of(place))
        row.kind = CGX_UNIFORM_ZEROS;
    if (source->step == 0 || !read_parts(&reader, &row))
        return false;
    if (__ballot_sync(CGX_WARP, row.form >= CGX_UNIFORM_WIDE_FORM) != 0)
        is_good = restore_codes<CGX_WIDE_MASKS>(source, &reader, &row, block, values);
    else
        is_good = restore_codes<CGX_MASKS>(source, &reader, &row, block, values);
    if (__ballot_sync(CGX_WARP, row.of != CGX_ALL) != 0) {
#pragma unroll
        for (int i = 0; i < CGX_LANE; i++)
            values[i] = (row.of >> i & 1) != 0 ? values[i] : IS_SUM ? -0.0f : 0.0f;
    }
    if (row.kind == CGX_UNIFORM_RAW || row.kind == CGX_UNIFORM_POISON) {
        CGX_BRANCH;
        restore_raw<IS_SUM>(&reader, &row, values);
    }
    return is_good;
}

/* Decodes this lane's row of a group; BLOCK is the number of its block in the buffer. Zeros become
 * -0 if IS_SUM, as they do not change what they are added to, and +0 otherwise. The row is 0 if the
 * group is malformed, and the status says so. */
template <bool IS_SUM>
CGX_DEVICE void read_row(const struct cgx_kernel_args &args,
                         const struct cgx_uniform_source *source, const struct cgx_row_place *place,
                         uint32_t block, float *values)
{
    if (restore_row<IS_SUM>(source, place, block, values))
        return;
    CGX_BRANCH;
    *args.status = CGX_KERNEL_BAD_HEADER;
#pragma unroll
    for (int i = 0; i < CGX_LANE; i++)
        values[i] = 0;
}

#endif
