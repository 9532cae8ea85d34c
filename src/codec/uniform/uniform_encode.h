/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

/* How all kernel sets encode a group. A set defines INLINE, TOO_LARGE, the type `codes`, which
 * holds the codes of a block in a byte each (2k or -2k - 1 for k), element i in byte i, and
 *   hash_block         the bytes that give the dithers of a block, in the set's own order
 *   quantise_block     the codes of 64 values; TOO_LARGE or more for a value that has no code
 *   have_zeros         whether one of 64 values is a zero
 *   zeros_of           a mask of the values that are zeros
 *   sum_codes          the sum of codes
 *   bit_of             a mask of the codes that have a given bit
 *   at_least           a mask of the codes that are LEVEL or more
 *   extract            the bits of a value at the ones of a mask, moved next to each other
 *   lowest             the COUNT lowest bits of a value, 0 to 64
 * Bit i of a mask belongs to element i of a block. */

#include "codec/uniform/uniform_special.h"

/* ---- levels ---- */

/* A mask of the elements whose quotients are LEVEL or more. */
INLINE uint64_t mask_reaching(codes block, unsigned parameter, unsigned level)
{
    return level << parameter < 256 ? at_least(block, level << parameter) : 0;
}

/* Finds levels 1 to 7 of block B. A branch for each would be unpredictable, so there is none. */
INLINE void find_levels(unsigned b, struct encoded *all)
{
    const codes block = all->codes[b];
    const unsigned parameter = all->parameters[b];
    const uint64_t rice = parameter < CGX_UNIFORM_PLAIN ? ALL : 0;
    const uint64_t more = mask_reaching(block, parameter, 8);
    const uint64_t one = (bit_of(block, parameter) | more) & rice;
    const uint64_t two = (bit_of(block, parameter + 1) | more) & rice;
    const uint64_t four = (bit_of(block, parameter + 2) | more) & rice;

    all->levels[1][b] = one | two | four;
    all->levels[2][b] = two | four;
    all->levels[3][b] = (one & two) | four;
    all->levels[4][b] = four;
    all->levels[5][b] = four & (one | two);
    all->levels[6][b] = four & two;
    all->levels[7][b] = four & two & one;
}

static __attribute__((noinline)) void find_more_levels(unsigned blocks, struct encoded *all)
{
    all->deepest = LEVELS;
    for (unsigned level = 8; level <= LEVELS; level++)
        for (unsigned b = 0; b < blocks; b++)
            all->levels[level][b] = all->levels[level - 1][b] == 0
                                        ? 0
                                        : mask_reaching(all->codes[b], all->parameters[b], level);
}

/* Writes a level, of as many bits as the level before has ones: COUNT. Returns the number of its
 * ones. */
INLINE size_t put_level(struct writer *writer, unsigned blocks, size_t count,
                        const uint64_t *before, const uint64_t *here)
{
    size_t ones = 0;
    uint64_t bits = 0;
    unsigned at = 0;

    if (count > 64) {
        for (unsigned b = 0; b < blocks; b++) {
            put_bits(writer, extract(here[b], before[b]), count_of(before[b]));
            ones += count_of(here[b]);
        }
        return ones;
    }
    for (unsigned b = 0; b < blocks; b++) {
        bits |= extract(here[b], before[b]) << at % 64;
        at += count_of(before[b]);
    }
    put_bits(writer, bits, (unsigned)count);
    return count_of(bits);
}

/* Writes the levels of all blocks from the second on. */
INLINE void put_levels(struct writer *writer, unsigned blocks, const struct encoded *all)
{
    size_t count = 0;

    for (unsigned b = 0; b < blocks; b++)
        count += count_of(all->levels[1][b]);
    for (unsigned level = 2; level <= all->deepest && count != 0; level++)
        count = put_level(writer, blocks, count, all->levels[level - 1], all->levels[level]);
}

static __attribute__((noinline)) void put_escapes(struct writer *writer, unsigned blocks,
                                                  const struct encoded *all)
{
    for (unsigned b = 0; b < blocks; b++) {
        uint8_t bytes[CGX_UNIFORM_BLOCK];

        memcpy(bytes, &all->codes[b], sizeof bytes);
        for (uint64_t left = all->levels[LEVELS][b]; left != 0; left &= left - 1)
            put_bits(writer,
                     (uint64_t)((bytes[__builtin_ctzll(left)] >> all->parameters[b]) - LEVELS), 8);
    }
}

/* ---- groups ---- */

/* The first mask of block B, of the elements that have codes. */
INLINE uint64_t first_of(unsigned b, const struct encoded *all)
{
    return extract(all->levels[1][b], (all->special >> b & 1) != 0 ? all->specials[b].of : ALL);
}

/* Chooses the blocks whose first mask takes fewer bits in two levels. */
INLINE void choose_nibbles(unsigned blocks, struct encoded *all)
{
    for (unsigned b = 0; b < blocks; b++) {
        const unsigned count = count_of(nibbles_of(all->levels[1][b]));
        const bool is_form_0 = (all->parameters[b] | all->kinds[b]) == 0;

        all->nibbles |= (uint32_t)(is_form_0 && 16 + 4 * count < CGX_UNIFORM_BLOCK) << b;
    }
    for (uint32_t rest = all->nibbles; rest != 0; rest &= rest - 1)
        all->kinds[__builtin_ctz(rest)] = CGX_UNIFORM_NIBBLES;
    for (uint32_t rest = all->special; rest != 0; rest &= rest - 1) {
        const unsigned b = (unsigned)__builtin_ctz(rest);
        struct special *special = &all->specials[b];

        if (special->form == 0 &&
            16 + 4 * count_of(nibbles_of(first_of(b, all))) < special->count) {
            special->form = CGX_UNIFORM_NIBBLES;
            all->nibbles |= 1u << b;
        }
    }
}

/* Writes the masks of special block B below its quotients. */
INLINE void put_planes(struct writer *writer, unsigned b, const struct encoded *all)
{
    const struct special *special = &all->specials[b];
    const unsigned planes = cgx_uniform_planes(special->form);
    const bool is_wide = special->form >= CGX_UNIFORM_WIDE_FORM;

    /* Most blocks have three planes or fewer, and how many is unpredictable. */
    for (unsigned i = 0; i < 3 || i < planes; i++) {
        const uint64_t mask =
            is_wide ? special->masks[i] : extract(bit_of(all->codes[b], i), special->of);

        put_bits(writer, i < planes ? mask : 0, i < planes ? special->count : 0);
    }
}

/* Writes the forms, masks and nibbles of blocks that have them. */
static __attribute__((noinline)) void put_specials(struct writer *writer, const struct encoded *all)
{
    for (uint32_t rest = all->special; rest != 0; rest &= rest - 1)
        put_bits(writer, all->specials[__builtin_ctz(rest)].form, CGX_UNIFORM_FORM_BITS);
    for (uint32_t rest = all->special | all->nibbles; rest != 0; rest &= rest - 1) {
        const unsigned b = (unsigned)__builtin_ctz(rest);
        const uint64_t first = first_of(b, all);

        if ((all->special >> b & 1) != 0)
            put_planes(writer, b, all);
        if ((all->nibbles >> b & 1) != 0)
            put_bits(writer, extract(nibbles_of(first), EACH), 16);
        else if (cgx_uniform_has_levels(all->specials[b].form))
            put_bits(writer, first, all->specials[b].count);
    }
    for (uint32_t rest = all->nibbles; rest != 0; rest &= rest - 1) {
        const uint64_t first = first_of((unsigned)__builtin_ctz(rest), all);
        const uint64_t nibbles = nibbles_of(first);

        put_bits(writer, extract(first, 15 * nibbles), 4 * count_of(nibbles));
    }
}

static __attribute__((noinline)) void put_holes(struct writer *writer, const struct encoded *all)
{
    for (uint32_t rest = all->special; rest != 0; rest &= rest - 1) {
        const struct special *special = &all->specials[__builtin_ctz(rest)];

        put_bits(writer, special->holes, special->nholes);
    }
}

/* Whether the group's bits fit its room, which is sure without large blocks (doc/format.md,
 * "Room"). */
static __attribute__((noinline)) bool has_room(unsigned blocks, const struct encoded *all)
{
    size_t bits = 0;

    for (unsigned b = 0; b < blocks; b++) {
        const struct special *special = &all->specials[b];

        bits += 64 * (size_t)words_of_kind[all->kinds[b]];
        if ((all->special >> b & 1) != 0)
            bits += CGX_UNIFORM_FORM_BITS + cgx_uniform_planes(special->form) * special->count +
                    special->nholes;
        if ((all->nibbles >> b & 1) != 0)
            bits += 16 + 4 * count_of(nibbles_of(first_of(b, all)));
        else if ((all->special >> b & 1) != 0 && cgx_uniform_has_levels(special->form))
            bits += special->count;
        for (unsigned level = 2; level <= all->deepest; level++)
            bits += count_of(all->levels[level - 1][b]);
        if (all->deepest == LEVELS)
            bits += 8 * count_of(all->levels[LEVELS][b]);
    }
    return bits <= (size_t)64 * CGX_UNIFORM_BLOCK_WORDS * blocks;
}

/* Writes the part that is whole words and returns its end. */
INLINE uint64_t *put_words(const struct cgx_uniform_group *group, const cgx_float32 *values,
                           const struct encoded *all, uint64_t *words)
{
    for (unsigned b = 0; b < group->blocks; b++, values += CGX_UNIFORM_BLOCK) {
        const unsigned kind = all->kinds[b];

        if (kind <= CGX_UNIFORM_PLAIN) {
            /* Most blocks have three planes or fewer, and how many is unpredictable. */
            for (unsigned i = 0; i < 3; i++)
                words[i] = bit_of(all->codes[b], i);
            for (unsigned i = 3; i < cgx_uniform_planes(kind); i++)
                words[i] = bit_of(all->codes[b], i);
            if (kind < CGX_UNIFORM_PLAIN)
                words[kind] = all->levels[1][b];
            words += words_of_kind[kind];
        } else if (kind == CGX_UNIFORM_SPARSE) {
            *words++ = all->specials[b].of;
        } else if (kind == CGX_UNIFORM_RAW) {
            for (unsigned i = 0; i < CGX_UNIFORM_BLOCK; i += 2)
                *words++ =
                    (uint64_t)cgx_uniform_raw(values[i + 1]) << 32 | cgx_uniform_raw(values[i]);
        }
    }
    return words;
}

/* Works in passes: a processor overlaps the blocks of a pass only if each takes few instructions.
 */
INLINE size_t encode_group(const struct cgx_uniform_group *group, const cgx_float32 *values,
                           bool poisons, bool is_sum, uint64_t *kinds, uint64_t *words)
{
    const unsigned blocks = group->blocks;
    struct encoded all;
    struct writer writer = {0};
    uint32_t zeros = 0; /* blocks with zeros */
    uint64_t left = 0, packed = 0;

    all.deepest = 7;
    all.special = all.large = all.nibbles = 0;
    memset(all.sums, 0, sizeof all.sums);
    for (unsigned b = 0; b < blocks; b++)
        all.codes[b] = hash_block(group, group->first + b);
    for (unsigned b = 0; b < blocks; b++) {
        const cgx_float32 *block = values + (size_t)CGX_UNIFORM_BLOCK * b;

        all.codes[b] = quantise_block(block, group->inverse, all.codes[b]);
        zeros |= (uint32_t)have_zeros(block, is_sum) << b;
    }
    for (unsigned b = 0; b < blocks; b++)
        all.sums[b] = sum_codes(all.codes[b]);
    for (unsigned b = 0; b < BLOCKS; b++)
        all.kinds[b] = all.parameters[b] = cgx_uniform_form(all.sums[b], CGX_UNIFORM_BLOCK);
    for (unsigned b = 0; b < blocks; b++) {
        const cgx_float32 *block = values + (size_t)CGX_UNIFORM_BLOCK * b;
        const bool large = all.sums[b] >= TOO_LARGE && at_least(all.codes[b], TOO_LARGE) != 0;

        if ((zeros >> b & 1) != 0 || large)
            all.kinds[b] = set_special_codes(group, block, b,
                                             (zeros >> b & 1) != 0 ? zeros_of(block, is_sum) : 0,
                                             large, poisons, &all);
    }
    for (unsigned b = 0; b < blocks; b++)
        find_levels(b, &all);
    choose_nibbles(blocks, &all);
    for (unsigned b = 0; b < blocks; b++) {
        packed |= (uint64_t)all.kinds[b] << 4 * b;
        left |= all.levels[7][b];
    }
    if (left != 0)
        find_more_levels(blocks, &all);
    if (all.large != 0 && !has_room(blocks, &all))
        return CGX_UNIFORM_TOO_MANY;
    *kinds = packed;
    writer.words = put_words(group, values, &all, words);
    if ((all.special | all.nibbles) != 0)
        put_specials(&writer, &all);
    put_levels(&writer, blocks, &all);
    if (left != 0)
        put_escapes(&writer, blocks, &all);
    if (all.special != 0)
        put_holes(&writer, &all);
    if (writer.bits > 0)
        *writer.words = writer.last;
    return (size_t)(writer.words - words) + (writer.bits > 0);
}

static size_t encode(const struct cgx_uniform_group *group, const cgx_float32 *values, bool poisons,
                     bool is_sum, uint64_t *kinds, uint64_t *words)
{
    return is_sum ? encode_group(group, values, poisons, true, kinds, words)
                  : encode_group(group, values, poisons, false, kinds, words);
}
