/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

/* What encoding and decoding share, and the blocks of a group that are not codes of 8 bits alone
 * while it is encoded. uniform_encode.h says what a kernel set defines. */

#define ALL UINT64_MAX
#define BLOCKS CGX_UNIFORM_BLOCKS
#define LEVELS CGX_UNIFORM_LEVELS

/* ---- strings of bits in 64-bit words ---- */

struct writer {
    uint64_t *words;
    uint64_t last; /* the word at WORDS as far as it is filled */
    unsigned bits; /* number of bits in LAST, below 64 */
};

/* Writes the COUNT lowest bits of VALUE, 0 to 64; the others must be 0. */
INLINE void put_bits(struct writer *writer, uint64_t value, unsigned count)
{
    uint64_t word = writer->last | value << writer->bits;
    uint64_t rest = value >> 1 >> (63 - writer->bits);
    unsigned bits = writer->bits + count;

    *writer->words = word;
    writer->words += bits / 64;
    /* Without a branch, which would be mispredicted. */
    writer->last = word ^ ((word ^ rest) & -(uint64_t)(bits / 64));
    writer->bits = bits % 64;
}

struct reader {
    const uint64_t *words;
    size_t at, end; /* positions in bits */
};

INLINE bool has_bits(const struct reader *reader, size_t bits)
{
    return bits <= reader->end - reader->at;
}

/* The 64 bits from AT on, some of which may be beyond the end of the group. */
INLINE uint64_t peek_bits(const struct reader *reader)
{
    const uint64_t *words = reader->words + reader->at / 64;
    const unsigned shift = reader->at % 64;

    return words[0] >> shift | words[1] << 1 << (63 - shift);
}

/* Reads the next COUNT bits, 0 to 64, which must exist. */
INLINE uint64_t get_bits(struct reader *reader, unsigned count)
{
    uint64_t value = lowest(peek_bits(reader), count);

    reader->at += count;
    return value;
}

/* Like get_bits, for at most MOST_FEW bits: as many as are sure to lie in the 64 bits from a byte
 * on. */
#define MOST_FEW 57
INLINE uint64_t get_few(struct reader *reader, unsigned count)
{
    uint64_t value;

    memcpy(&value, (const unsigned char *)reader->words + reader->at / 8, sizeof value);
    value = lowest(value >> reader->at % 8, count);
    reader->at += count;
    return value;
}

INLINE unsigned count_of(uint64_t mask)
{
    return (unsigned)__builtin_popcountll(mask);
}

/* The lowest bit of each of the 16 nibbles of a mask. */
#define EACH UINT64_C(0x1111111111111111)

/* The nibbles of MASK that are not 0, as bits of EACH. */
INLINE uint64_t nibbles_of(uint64_t mask)
{
    mask |= mask >> 2;
    return (mask | mask >> 1) & EACH;
}

/* ---- a group ---- */

/* How many words a block of each kind has in the first part of a group. */
static const uint8_t words_of_kind[16] = {
    1, 2, 3, 4, 5, 6, 7, 8, [CGX_UNIFORM_RAW] = 32, [CGX_UNIFORM_SPARSE] = 1};

/* What a block of the kinds CGX_UNIFORM_SPARSE to CGX_UNIFORM_WIDE has behind the first part of its
 * group. */
struct special {
    unsigned form, count;
    uint64_t of;        /* mask of the COUNT elements that have codes */
    uint64_t masks[15]; /* masks of the bits of 16-bit codes below the quotients */
    uint64_t holes;
    unsigned nholes;
};

/* A group while it is encoded; arrays are by block. */
struct encoded {
    codes codes[BLOCKS]; /* codes of 8 bits, or the quotients of codes of 16 bits */
    uint32_t sums[BLOCKS], kinds[BLOCKS];
    /* Rice parameters of CODES; a block with CGX_UNIFORM_PLAIN or more has no levels. */
    uint32_t parameters[BLOCKS];
    /* Masks of the elements that reach each level; level 0 is not used. */
    uint64_t levels[LEVELS + 1][BLOCKS];
    unsigned deepest; /* the last level that is set */
    /* Masks of blocks: */
    uint32_t special; /* blocks with a struct special */
    uint32_t large;   /* blocks that may need more bits than a block has room for on average */
    uint32_t nibbles; /* blocks whose first mask has two levels */
    struct special specials[BLOCKS];
};

/* ---- blocks that are not codes of 8 bits alone ---- */

INLINE bool are_finite(const cgx_float32 *values)
{
    const cgx_uint32 *bits = (const cgx_uint32 *)values;
    uint32_t most = 0;

    for (unsigned i = 0; i < CGX_UNIFORM_BLOCK; i++)
        most = bits[i] << 1 > most ? bits[i] << 1 : most;
    return most < 0xFF000000u;
}

/* The bits of CGX_UNIFORM_MOST_WIDE_CODE as a float. NaN has greater bits. */
#define MOST_WIDE 0x46FFFE00u

/* Sets WIDE to the codes of 16 bits of a block. False: a value has none. */
INLINE bool quantise_wide(const struct cgx_uniform_group *group, uint32_t block,
                          const cgx_float32 *values, uint32_t wide[CGX_UNIFORM_BLOCK])
{
    uint32_t hashes[16], outside = 0;

    for (uint32_t i = 0; i < 16; i++)
        hashes[i] = cgx_uniform_hash(group->key, block, i);
    for (uint32_t i = 0; i < CGX_UNIFORM_BLOCK; i += 16) {
        for (uint32_t lane = 0; lane < 16; lane++) {
            uint32_t byte = (hashes[lane] >> i / 2) + group->key;
            float scaled = values[i + lane] * group->inverse;
            float x = scaled + cgx_uniform_dither(byte & 255);
            int32_t k = (int32_t)(cgx_float_bits(x + 0x1.8p23f) - 0x4B400000u);
            uint32_t magnitude = cgx_float_bits(x) & 0x7FFFFFFFu;

            outside |= magnitude > MOST_WIDE;
            wide[i + lane] = (uint32_t)k << 1 ^ (uint32_t)(k >> 31);
        }
    }
    return outside == 0;
}

/* The lowest bytes of 64 words as codes. */
INLINE codes narrow_words(const uint32_t words[CGX_UNIFORM_BLOCK], unsigned shift)
{
    uint8_t bytes[CGX_UNIFORM_BLOCK];
    codes result;

    for (unsigned i = 0; i < CGX_UNIFORM_BLOCK; i++)
        bytes[i] = (uint8_t)(words[i] >> shift);
    memcpy(&result, bytes, sizeof result);
    return result;
}

/* Sets the codes of 16 bits of block B, without those of ZEROS. False: a value has none. */
static bool set_wide_codes(const struct cgx_uniform_group *group, const cgx_float32 *values,
                           unsigned b, uint64_t zeros, struct encoded *all)
{
    struct special *special = &all->specials[b];
    uint32_t wide[CGX_UNIFORM_BLOCK], sum = 0, most = 0, parameter;
    codes low, high;

    if (!quantise_wide(group, group->first + b, values, wide))
        return false;
    for (unsigned i = 0; i < CGX_UNIFORM_BLOCK; i++) {
        sum += wide[i];
        most = wide[i] > most ? wide[i] : most;
    }
    special->of = ~zeros;
    special->count = count_of(~zeros);
    parameter = cgx_uniform_parameter(sum, special->count, 14);
    while (most >> parameter > 255)
        parameter++;
    low = narrow_words(wide, 0);
    high = narrow_words(wide, 8);
    for (unsigned p = 0; p < parameter; p++)
        special->masks[p] = extract(p < 8 ? bit_of(low, p) : bit_of(high, p - 8), special->of);
    special->form = CGX_UNIFORM_WIDE_FORM + parameter;
    all->codes[b] = narrow_words(wide, parameter);
    all->parameters[b] = 0;
    all->large |= 1u << b;
    return true;
}

/* Sets the codes of 8 bits of block B, which has ZEROS and other elements; returns its kind. */
INLINE unsigned set_codes_with_zeros(unsigned b, uint64_t zeros, struct encoded *all)
{
    struct special *special = &all->specials[b];
    const uint64_t none = ~at_least(all->codes[b], 1);
    const uint32_t form = all->kinds[b], masks = form == CGX_UNIFORM_NONE ? 1 : form + 1;
    const bool has_holes = masks * count_of(zeros) + count_of(none) < CGX_UNIFORM_BLOCK;

    special->of = has_holes ? ALL : ~zeros;
    special->count = count_of(special->of);
    special->form = cgx_uniform_form(all->sums[b], special->count);
    special->holes = has_holes ? extract(~zeros, none) : 0;
    special->nholes = has_holes ? count_of(none) : 0;
    all->parameters[b] = special->form;
    return has_holes ? CGX_UNIFORM_HOLES : CGX_UNIFORM_SPARSE;
}

/* Sets the codes of block B, which has ZEROS or, if LARGE, values without codes of 8 bits; returns
 * its kind. */
static __attribute__((noinline)) unsigned set_special_codes(const struct cgx_uniform_group *group,
                                                            const cgx_float32 *values, unsigned b,
                                                            uint64_t zeros, bool large,
                                                            bool poisons, struct encoded *all)
{
    all->special |= 1u << b;
    all->specials[b].holes = all->specials[b].nholes = 0;
    if (!large && zeros != ALL)
        return set_codes_with_zeros(b, zeros, all);
    if (large && set_wide_codes(group, values, b, zeros, all))
        return zeros != 0 ? CGX_UNIFORM_SPARSE : CGX_UNIFORM_WIDE;
    all->special ^= 1u << b;
    all->parameters[b] = CGX_UNIFORM_NONE;
    if (!large)
        return CGX_UNIFORM_ZEROS;
    if (poisons && !are_finite(values))
        return CGX_UNIFORM_POISON;
    all->large |= 1u << b;
    return CGX_UNIFORM_RAW;
}
