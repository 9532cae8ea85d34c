/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

/* How all kernel sets decode a group. A set defines the symbol CGX_UNIFORM_SET and, besides what
 * uniform_encode.h needs,
 *   none               codes of 0
 *   double_codes       codes doubled, plus 1 where a mask has a bit
 *   store_codes        codes as bytes, element i in byte i
 *   apply_signs        k from codes without their lowest bits, which are in a mask
 *   restore_levels     restores 64 values from such k; if MASKED, those not in OF are zeros
 *   deposit            the reverse of extract
 * Codes here are in the set's own order. */

/* A block that is not codes of 8 bits alone: its masks, of all its elements. */
struct opened {
    unsigned form;
    uint64_t of; /* mask of the elements that are no zeros */
    uint64_t masks[15];
};

/* A group while it is decoded; arrays are by block. */
struct decoded {
    const uint64_t *masks[BLOCKS]; /* PLANES masks, of the bits of codes below the quotients */
    unsigned planes[BLOCKS];
    /* Masks of the elements that reach each level; level 0 is not used. */
    uint64_t levels[LEVELS + 1][BLOCKS];
    bool deep;                     /* some quotients are above 7 */
    uint64_t quotients[8][BLOCKS]; /* if DEEP: masks of the quotients' bits */
    uint32_t special;              /* the blocks in OPENED */
    struct opened opened[BLOCKS];
};

/* ---- the parts of a group ---- */

/* Finds what each block has in the part that is whole words. */
INLINE bool find_blocks(unsigned blocks, uint64_t kinds, struct reader *reader, struct decoded *all)
{
    const uint64_t *words = reader->words;
    size_t count = 0;

    if (blocks < BLOCKS && kinds >> 4 * blocks != 0)
        return false;
    for (unsigned b = 0; b < blocks; b++)
        count += words_of_kind[kinds >> 4 * b & 15];
    if (!has_bits(reader, 64 * count))
        return false;
    reader->at = 64 * count;
    all->special = 0;
    for (unsigned b = 0; b < blocks; b++) {
        const unsigned kind = kinds >> 4 * b & 15;

        all->masks[b] = words;
        all->planes[b] = cgx_uniform_planes(kind);
        all->levels[1][b] = kind < CGX_UNIFORM_PLAIN ? words[kind] : 0;
        if (kind >= CGX_UNIFORM_SPARSE) {
            all->special |= 1u << b;
            all->opened[b].form = CGX_UNIFORM_NIBBLES;
            all->opened[b].of = kind == CGX_UNIFORM_SPARSE ? *words : ALL;
            all->masks[b] = all->opened[b].masks;
        }
        words += words_of_kind[kind];
    }
    return true;
}

/* Reads the forms, masks and nibbles of special blocks. */
static __attribute__((noinline)) bool get_specials(uint64_t kinds, struct reader *reader,
                                                   struct decoded *all)
{
    for (uint32_t rest = all->special; rest != 0; rest &= rest - 1) {
        const unsigned b = (unsigned)__builtin_ctz(rest), kind = kinds >> 4 * b & 15;

        if (kind == CGX_UNIFORM_NIBBLES)
            continue;
        if (!has_bits(reader, CGX_UNIFORM_FORM_BITS))
            return false;
        all->opened[b].form = (unsigned)get_bits(reader, CGX_UNIFORM_FORM_BITS);
        if (!cgx_uniform_may_have(kind, all->opened[b].form))
            return false;
        all->planes[b] = cgx_uniform_planes(all->opened[b].form);
    }
    for (uint32_t rest = all->special; rest != 0; rest &= rest - 1) {
        const unsigned b = (unsigned)__builtin_ctz(rest);
        struct opened *opened = &all->opened[b];
        const unsigned count = count_of(opened->of), form = opened->form;
        const unsigned first = form == CGX_UNIFORM_NIBBLES    ? 16
                               : cgx_uniform_has_levels(form) ? count
                                                              : 0;

        if (!has_bits(reader, (size_t)all->planes[b] * count + first))
            return false;
        /* Most blocks have three planes or fewer, and how many is unpredictable. */
        for (unsigned i = 0; i < 3 || i < all->planes[b]; i++)
            opened->masks[i] =
                deposit(get_bits(reader, i < all->planes[b] ? count : 0), opened->of);
        all->levels[1][b] = get_bits(reader, first);
    }
    for (uint32_t rest = all->special; rest != 0; rest &= rest - 1) {
        const unsigned b = (unsigned)__builtin_ctz(rest);

        if (all->opened[b].form == CGX_UNIFORM_NIBBLES) {
            const unsigned count = 4 * count_of(all->levels[1][b]);

            if (!has_bits(reader, count))
                return false;
            all->levels[1][b] =
                deposit(get_bits(reader, count), 15 * deposit(all->levels[1][b], EACH));
        }
        all->levels[1][b] = deposit(all->levels[1][b], all->opened[b].of);
    }
    return true;
}

/* Sets the masks of all bits of all quotients, some of which are above 7: counted from LEVELS and
 * from the 8 bits of each element beyond the last level. */
static __attribute__((noinline)) bool get_deep(struct reader *reader, unsigned blocks,
                                               unsigned levels, struct decoded *all)
{
    memset(all->quotients, 0, sizeof all->quotients);
    for (unsigned b = 0; b < blocks; b++) {
        for (unsigned level = 1; level <= levels; level++)
            for (unsigned i = 0; i < 4; i++)
                all->quotients[i][b] ^= level % (1u << i) == 0 ? all->levels[level][b] : 0;
        for (uint64_t left = levels == LEVELS ? all->levels[LEVELS][b] : 0; left != 0;
             left &= left - 1) {
            const uint64_t bit = left & -left;
            unsigned quotient;

            if (!has_bits(reader, 8))
                return false;
            quotient = LEVELS + (unsigned)get_bits(reader, 8);
            if (quotient > 255)
                return false;
            for (unsigned i = 0; i < 8; i++)
                all->quotients[i][b] =
                    (all->quotients[i][b] & ~bit) | (quotient >> i & 1 ? bit : 0);
        }
    }
    return true;
}

/* Reads a level, of as many bits as the level before has ones: COUNT. Returns the number of its
 * ones. */
INLINE size_t get_level(struct reader *reader, unsigned blocks, size_t count,
                        const uint64_t *before, uint64_t *here)
{
    size_t ones = 0;

    if (count > MOST_FEW) {
        for (unsigned b = 0; b < blocks; b++) {
            here[b] = deposit(peek_bits(reader), before[b]);
            reader->at += count_of(before[b]);
            ones += count_of(here[b]);
        }
        return ones;
    }
    for (uint64_t bits = get_few(reader, (unsigned)count), b = 0; b < blocks; b++) {
        here[b] = deposit(bits, before[b]);
        ones += count_of(here[b]);
        bits >>= count_of(before[b]);
    }
    return ones;
}

INLINE bool get_levels(struct reader *reader, unsigned blocks, struct decoded *all)
{
    size_t count = 0;
    unsigned level;

    for (unsigned b = 0; b < blocks; b++)
        count += count_of(all->levels[1][b]);
    for (level = 2; count != 0 && level <= LEVELS; level++) {
        if (!has_bits(reader, count))
            return false;
        count = get_level(reader, blocks, count, all->levels[level - 1], all->levels[level]);
    }
    all->deep = level > 8;
    if (level < 8)
        memset(all->levels[level], 0, (8 - level) * sizeof all->levels[0]);
    return !all->deep || get_deep(reader, blocks, level - 1, all);
}

/* Sets BITS to the masks of the bits of block B's quotients. */
INLINE void set_quotients(unsigned b, const struct decoded *all, uint64_t bits[8])
{
    for (unsigned i = 0; i < 8; i++)
        bits[i] = all->deep ? all->quotients[i][b] : 0;
    if (all->deep)
        return;
    bits[2] = all->levels[4][b];
    bits[1] = bits[2] ^ all->levels[2][b] ^ all->levels[6][b];
    bits[0] =
        bits[1] ^ all->levels[1][b] ^ all->levels[3][b] ^ all->levels[5][b] ^ all->levels[7][b];
}

/* Whether all codes of block B have as few bits as its form says. */
INLINE bool codes_fit(unsigned b, const struct decoded *all)
{
    const bool is_wide = (all->special >> b & 1) && all->opened[b].form >= CGX_UNIFORM_WIDE_FORM;
    uint64_t beyond = 0, bits[8];

    set_quotients(b, all, bits);
    for (unsigned i = (is_wide ? 16 : 8) - all->planes[b]; i < 8; i++)
        beyond |= bits[i];
    return beyond == 0;
}

/* Reads which elements with code 0 of block B are zeros. */
static __attribute__((noinline)) bool get_holes(struct reader *reader, unsigned b,
                                                struct decoded *all)
{
    uint64_t none = ~all->levels[1][b];

    for (unsigned i = 0; i < all->planes[b]; i++)
        none &= ~all->opened[b].masks[i];
    if (!has_bits(reader, count_of(none)))
        return false;
    all->opened[b].of = ~none | deposit(get_bits(reader, count_of(none)), none);
    return true;
}

/* ---- blocks ---- */

/* The codes of block B as signed integers k. */
INLINE codes assemble_codes(unsigned b, const struct decoded *all)
{
    codes result = none();
    uint64_t bits[8], signs;

    set_quotients(b, all, bits);
    if (all->deep)
        for (unsigned i = 7; i > 2; i--)
            result = double_codes(result, bits[i]);
    result = double_codes(double_codes(result, bits[2]), bits[1]);
    signs = bits[0];
    for (unsigned i = all->planes[b]; i > 0; i--) {
        result = double_codes(result, signs);
        signs = all->masks[b][i - 1];
    }
    return apply_signs(result, signs);
}

/* Restores block B, whose codes have 16 bits, in loops that compilers make vectors of. */
static __attribute__((noinline)) void restore_wide(const struct cgx_uniform_group *group,
                                                   unsigned b, const struct decoded *all,
                                                   enum cgx_uniform_use use, cgx_float32 *values)
{
    uint8_t bytes[2][CGX_UNIFORM_BLOCK];
    const unsigned planes = all->planes[b];
    uint64_t bits[8];
    uint32_t hashes[16];
    float levels[CGX_UNIFORM_BLOCK];

    for (uint32_t i = 0; i < 16; i++)
        hashes[i] = cgx_uniform_hash(group->key, group->first + b, i);
    set_quotients(b, all, bits);
    for (unsigned half = 0; half < 2; half++) {
        codes result = none();

        for (unsigned i = 8 * half + 8; i-- > 8 * half;)
            result = double_codes(result, i < planes       ? all->masks[b][i]
                                          : i < planes + 8 ? bits[i - planes]
                                                           : 0);
        store_codes(result, bytes[half]);
    }
    for (uint32_t i = 0; i < CGX_UNIFORM_BLOCK; i += 16) {
        for (uint32_t lane = 0; lane < 16; lane++) {
            uint32_t byte = (hashes[lane] >> i / 2) + group->key;
            uint32_t code = (uint32_t)bytes[1][i + lane] << 8 | bytes[0][i + lane];
            float k = (float)((int32_t)(code >> 1) ^ -(int32_t)(code & 1));

            levels[i + lane] = (k - cgx_uniform_dither(byte & 255)) * group->step;
        }
    }
    for (uint32_t i = 0; all->opened[b].of != ALL && i < CGX_UNIFORM_BLOCK; i++)
        if (!(all->opened[b].of >> i & 1))
            levels[i] = use == CGX_UNIFORM_RESULT ? 0.0f : -0.0f;
    for (uint32_t i = 0; i < CGX_UNIFORM_BLOCK; i++)
        values[i] = use == CGX_UNIFORM_SOURCE ? values[i] + levels[i] : levels[i];
}

INLINE void restore_raw(const uint64_t *words, enum cgx_uniform_use use, cgx_float32 *values)
{
    for (unsigned i = 0; i < CGX_UNIFORM_BLOCK; i++) {
        float value = cgx_bits_float((uint32_t)(words[i / 2] >> 32 * (i % 2)));

        value = value == value ? value : cgx_bits_float(CGX_NAN_FLOAT32);
        value = value != 0 ? value : use == CGX_UNIFORM_RESULT ? 0.0f : -0.0f;
        values[i] = use == CGX_UNIFORM_SOURCE ? values[i] + value : value;
    }
}

INLINE void fill_block(float value, bool add, cgx_float32 *values)
{
    for (unsigned i = 0; i < CGX_UNIFORM_BLOCK; i++)
        values[i] = add ? values[i] + value : value;
}

/* Restores block B. False: its codes do not fit. */
INLINE bool restore_block(const struct cgx_uniform_group *group, unsigned b, unsigned kind,
                          codes hash, const struct decoded *all, enum cgx_uniform_use use,
                          cgx_float32 *values)
{
    const bool add = use == CGX_UNIFORM_SOURCE;

    if ((all->deep || all->planes[b] > 4) && !codes_fit(b, all))
        return false;
    if (kind <= CGX_UNIFORM_NONE)
        restore_levels(assemble_codes(b, all), hash, group->step, ALL, false, use, values);
    else if (kind >= CGX_UNIFORM_SPARSE && all->opened[b].form >= CGX_UNIFORM_WIDE_FORM)
        restore_wide(group, b, all, use, values);
    else if (kind >= CGX_UNIFORM_SPARSE)
        restore_levels(assemble_codes(b, all), hash, group->step, all->opened[b].of, true, use,
                       values);
    else if (kind == CGX_UNIFORM_RAW)
        restore_raw(all->masks[b], use, values);
    else if (kind == CGX_UNIFORM_POISON)
        fill_block(NAN, add, values);
    else if (!add)
        fill_block(use == CGX_UNIFORM_RESULT ? 0.0f : -0.0f, false, values);
    return true;
}

INLINE bool decode_group(const struct cgx_uniform_group *group, uint64_t kinds,
                         struct reader *reader, enum cgx_uniform_use use, cgx_float32 *values)
{
    const unsigned blocks = group->blocks;
    struct decoded all;
    codes hashes[BLOCKS];
    bool good = true;

    for (unsigned b = 0; b < blocks; b++)
        hashes[b] = hash_block(group, group->first + b);
    if (!find_blocks(blocks, kinds, reader, &all) ||
        (all.special != 0 && !get_specials(kinds, reader, &all)) ||
        !get_levels(reader, blocks, &all))
        return false;
    for (uint32_t rest = all.special; rest != 0; rest &= rest - 1) {
        const unsigned b = (unsigned)__builtin_ctz(rest);

        if ((kinds >> 4 * b & 15) == CGX_UNIFORM_HOLES && !get_holes(reader, b, &all))
            return false;
    }
    if (reader->end - reader->at >= 64)
        return false;
    for (unsigned b = 0; b < blocks && good; b++)
        good = restore_block(group, b, kinds >> 4 * b & 15, hashes[b], &all, use,
                             values + (size_t)CGX_UNIFORM_BLOCK * b);
    return good;
}

static bool decode(const struct cgx_uniform_group *group, uint64_t kinds, const uint64_t *words,
                   size_t count, enum cgx_uniform_use use, cgx_float32 *values)
{
    struct reader reader = {words, 0, 64 * count};

    return use == CGX_UNIFORM_SOURCE
               ? decode_group(group, kinds, &reader, CGX_UNIFORM_SOURCE, values)
               : decode_group(group, kinds, &reader, use, values);
}

const struct cgx_uniform_kernels CGX_UNIFORM_SET = {.encode = encode, .decode = decode};
