/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

/* Decodes a group. One thread finds where its blocks begin, since each ends where its codes say;
 * then each lane decodes a row. */
#ifndef CGX_CUDA_UNIFORM_LEVELS_CUH
#define CGX_CUDA_UNIFORM_LEVELS_CUH

#include "cuda/uniform_codes.cuh"

#define CGX_UNIFORM_SOURCES 8 /* payloads whose blocks are found at once */

/* A group of a payload. */
struct cgx_uniform_source {
    int64_t words; /* their address */
    uint64_t kinds;
    float step; /* 0: the group is malformed */
    uint32_t key;
    uint16_t starts[CGX_UNIFORM_BLOCKS]; /* bits from the first word to each block */
};

/* The 64 bits from bit AT on. */
CGX_DEVICE uint64_t bits_at(const uint32_t *words, uint32_t at)
{
    const uint32_t i = at / 32;
    const uint64_t low = (uint64_t)words[i + 1] << 32 | words[i];

    return low >> at % 32 | (uint64_t)words[i + 2] << 1 << (63 - at % 32);
}

CGX_DEVICE uint32_t row_bits_at(const uint32_t *words, uint32_t at)
{
    const uint32_t i = at / 32;

    return (uint32_t)(((uint64_t)words[i + 1] << 32 | words[i]) >> at % 32);
}

CGX_DEVICE uint32_t count_of(uint64_t mask)
{
    return __popc((uint32_t)mask) + __popc((uint32_t)(mask >> 32));
}

/* The COUNT lowest bits; 0 to 64. */
CGX_DEVICE uint64_t lowest(uint64_t value, uint32_t count)
{
    return count < 64 ? value & (((uint64_t)1 << count) - 1) : value;
}

/* ---- where blocks begin ---- */

/* Moves *AT behind the levels of a block with PARAMETER, after the first, which is at *AT - 64.
 * False: they do not end before END, or at a code of 8 bits. */
CGX_DEVICE bool skip_levels(const uint32_t *words, uint32_t parameter, uint32_t end, uint32_t *at)
{
    uint32_t count = count_of(bits_at(words, *at - CGX_UNIFORM_BLOCK));

    for (uint32_t level = 1; count != 0; level++) {
        if (level << parameter >= 256 || count > end - *at)
            return false;
        *at += count;
        count = count_of(lowest(bits_at(words, *at - count), count));
    }
    return true;
}

/* Sets STARTS for BLOCKS of these KINDS with COUNT 64-bit words. False: the group is malformed. */
CGX_DEVICE bool find_starts(const uint32_t *words, uint64_t count, uint64_t kinds, uint32_t blocks,
                            uint16_t *starts)
{
    const uint32_t end = (uint32_t)count * 64;
    uint32_t at = 0;

    if (count > 32 * CGX_UNIFORM_BLOCKS)
        return false;
    for (uint32_t b = 0; b < blocks; b++, kinds >>= 4) {
        const uint32_t kind = kinds & 15;
        uint32_t fixed = 0;

        starts[b] = (uint16_t)at;
        if (kind < CGX_UNIFORM_PLAIN)
            fixed = (kind + 1) * CGX_UNIFORM_BLOCK;
        else if (kind == CGX_UNIFORM_PLAIN)
            fixed = 8 * CGX_UNIFORM_BLOCK;
        else if (kind == CGX_UNIFORM_RAW)
            fixed = 32 * CGX_UNIFORM_BLOCK;
        if (kind >= CGX_UNIFORM_KINDS || fixed > end - at)
            return false;
        at += fixed;
        if (kind < CGX_UNIFORM_PLAIN && !skip_levels(words, kind, end, &at))
            return false;
    }
    return kinds == 0 && end - at < 64;
}

/* Finds group INDEX, of BLOCKS blocks, in the payload at ADDRESS. A malformed one has zeros. */
CGX_DEVICE void find_source(const struct cgx_kernel_args &args, const struct cgx_uniform_tile *tile,
                            int64_t address, uint32_t index, uint32_t blocks,
                            struct cgx_uniform_source *source)
{
    const unsigned char *piece = global_memory(address) + tile->piece;
    const uint32_t *ends = (const uint32_t *)(piece + tile->layout.ends);
    const uint32_t begin = index > 0 ? ends[index - 1] : 0, end = ends[index];
    const unsigned char *words = piece + tile->layout.words + (uint64_t)begin * sizeof(uint64_t);
    float step = *(const float *)piece;
    bool is_good = cgx_uniform_is_step(step) && begin <= end && end <= tile->words &&
                   *(const uint64_t *)(piece + 8) <= tile->words;

    source->words = (int64_t)words;
    source->kinds = ((const uint64_t *)(piece + tile->layout.kinds))[index];
    source->key = ((const uint32_t *)piece)[1];
    if (is_good) {
        step = cgx_uniform_scaled(step, piece[tile->layout.exponents + index]);
        is_good = cgx_uniform_is_step(step) && find_starts((const uint32_t *)words, end - begin,
                                                           source->kinds, blocks, source->starts);
    }
    source->step = is_good ? step : 0;
    if (!is_good)
        *args.status = CGX_KERNEL_BAD_HEADER;
}

/* Finds the groups of the tile in the COUNT payloads at ADDRESSES, four for each payload; an
 * address that is not positive is none. All threads of the block must call it. */
CGX_DEVICE const struct cgx_uniform_source *find_sources(const struct cgx_kernel_args &args,
                                                         const struct cgx_uniform_tile *tile,
                                                         const int64_t *addresses, uint32_t count)
{
    __shared__ struct cgx_uniform_source found[CGX_UNIFORM_SOURCES * CGX_KERNEL_GROUPS];
    const uint32_t s = threadIdx.x / CGX_KERNEL_GROUPS, bucket = threadIdx.x % CGX_KERNEL_GROUPS;
    const uint32_t left = limit(bucket * CGX_UNIFORM_GROUP, tile->rows.count, CGX_UNIFORM_GROUP);

    __syncthreads(); /* all have read what was found before */
    if (s < count && left > 0 && addresses[s] != 0)
        find_source(args, tile, addresses[s], tile->index * CGX_KERNEL_GROUPS + bucket,
                    (left + CGX_UNIFORM_BLOCK - 1) / CGX_UNIFORM_BLOCK, &found[threadIdx.x]);
    __syncthreads();
    return found;
}

/* ---- rows ---- */

/* The bits of SOURCE, from the lowest on, at the ones of MASK. */
CGX_DEVICE uint32_t deposit(uint32_t source, uint32_t mask)
{
    uint32_t result = 0;

    for (; source != 0; source >>= 1) {
        const uint32_t bit = mask & (0 - mask);

        result |= (source & 1) != 0 ? bit : 0;
        mask ^= bit;
    }
    return result;
}

/* Doubles all codes and adds the bits of PLANE. The product spreads four bits over a word. */
CGX_DEVICE void add_plane(uint32_t plane, uint32_t *codes)
{
#pragma unroll
    for (int i = 0; i < CGX_CODE_WORDS; i++)
        codes[i] = codes[i] * 2 + ((plane >> 4 * i & 15) * 0x00204081u & 0x01010101u);
}

/* Sets CODES to the quotients of this lane's row, whose block has its first level at AT. */
CGX_DEVICE void read_quotients(const uint32_t *words, uint32_t at, uint32_t *codes)
{
    const bool is_odd = threadIdx.x % 2 != 0;
    uint64_t bits = bits_at(words, at);
    uint32_t low = __popc((uint32_t)bits), high = __popc((uint32_t)(bits >> 32));
    uint32_t left = (uint32_t)(is_odd ? bits >> 32 : bits), planes[8] = {};

    at += CGX_UNIFORM_BLOCK;
    for (uint32_t level = 1; low + high != 0; level++) {
        uint32_t here, there;

#pragma unroll
        for (int i = 0; i < 8; i++)
            planes[i] ^= (level & ((1u << i) - 1)) == 0 ? left : 0;
        bits = bits_at(words, at);
        here = (uint32_t)lowest(bits, low);
        there = (uint32_t)lowest(bits >> low, high);
        at += low + high;
        left = deposit(is_odd ? there : here, left);
        low = __popc(here);
        high = __popc(there);
    }
#pragma unroll
    for (int i = 7; i >= 0; i--) {
        left |= planes[i];
        if (left != 0 || i < 3)
            add_plane(planes[i], codes);
    }
}

/* Sets VALUES to this lane's row of a raw block that begins at AT. */
CGX_DEVICE void read_raw(const uint32_t *words, uint32_t at, float *values)
{
    at += threadIdx.x % 2 * CGX_LANE * 32;
#pragma unroll
    for (int i = 0; i < CGX_LANE; i++)
        values[i] = cgx_bits_float(row_bits_at(words, at + 32 * i));
}

/* Sets LEVELS to those of CODES. */
CGX_DEVICE void find_levels(const struct cgx_uniform_source *source, uint32_t block,
                            const uint32_t *codes, float *levels)
{
#pragma unroll
    for (int i = 0; i < 16; i++) {
        const uint32_t hash = hash_of(source->key, block, i);

#pragma unroll
        for (int e = i; e < CGX_LANE; e += 16) {
            const uint32_t code = codes[e / 4] >> e % 4 * 8 & 255u,
                           k = code >> 1 ^ (0 - (code & 1));
            const float exact = cgx_bits_float(0x4B400000u + k) - 0x1.8p23f;

            levels[e] = (exact - dither_of(hash, source->key, e)) * source->step;
        }
    }
}

/* Decodes this lane's row of a group; BLOCK is the number of its block in the buffer. The row is 0
 * if the block does not exist or the group is malformed. */
CGX_DEVICE void read_row(const struct cgx_uniform_source *source, const struct cgx_row_place *place,
                         uint32_t block, float *levels)
{
    const uint32_t *words = (const uint32_t *)global_memory(source->words);
    const uint32_t lane = threadIdx.x % 32, at = source->starts[lane / 2];
    const bool is_good = source->step != 0 && lane / 2 < blocks_of(place);
    const uint32_t kind =
        is_good ? (uint32_t)(source->kinds >> lane / 2 * 4) & 15 : (uint32_t)CGX_UNIFORM_ZEROS;
    const uint32_t planes = kind < CGX_UNIFORM_PLAIN ? kind : kind == CGX_UNIFORM_PLAIN ? 8 : 0;
    uint32_t codes[CGX_CODE_WORDS] = {};

    if (kind < CGX_UNIFORM_PLAIN)
        read_quotients(words, at + planes * CGX_UNIFORM_BLOCK, codes);
    for (uint32_t i = planes; i > 0; i--)
        add_plane(row_bits_at(words, at + (i - 1) * CGX_UNIFORM_BLOCK + lane % 2 * 32), codes);
    find_levels(source, block, codes, levels);
    if (kind > CGX_UNIFORM_NONE) {
        CGX_BRANCH;
        if (kind == CGX_UNIFORM_RAW)
            read_raw(words, at, levels);
#pragma unroll
        for (int i = 0; i < CGX_LANE; i++)
            levels[i] = kind == CGX_UNIFORM_RAW     ? levels[i]
                        : kind == CGX_UNIFORM_ZEROS ? 0.0f
                                                    : cgx_bits_float(CGX_NAN_FLOAT32);
    }
}

#endif
