/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

/* What the kernel sets of uniform quantisation have in common. A file that includes this has
 * defined the name of its set CGX_UNIFORM_SET, INLINE, the type `codes` of 64 bytes, those of the
 * codes k of a block as 2k or -2k - 1, and
 *   quantise           codes of 64 values; those that are too large become TOO_LARGE or more
 *   sum_of             the sum of codes
 *   bit_of             a mask of the codes that have bit I
 *   shifted            codes without their P lowest bits
 *   at_least           a mask of the codes that are LEVEL or more
 *   none               codes of 0
 *   with               codes plus VALUE where a mask has a bit
 *   restore            writes the levels of codes to 64 values, or adds them
 *   extract, deposit   the bits of a value that a mask has, next to each other, and back
 * Bit i of a mask is of element i of a block. */

#include <string.h>

/* ---- bits ---- */

struct writer {
    uint64_t *words;
    uint64_t last; /* what is at WORDS so far */
    unsigned bits; /* in it, below 64 */
};

/* Writes the COUNT lowest bits of VALUE, which has no others; 1 to 64. */
INLINE void put(struct writer *writer, uint64_t value, unsigned count)
{
    uint64_t word = writer->last | value << writer->bits;
    uint64_t rest = value >> 1 >> (63 - writer->bits);
    unsigned bits = writer->bits + count;

    *writer->words = word;
    writer->words += bits / 64;
    writer->last = bits >= 64 ? rest : word;
    writer->bits = bits % 64;
}

/* Bits from there to END. */
INLINE size_t room(const struct writer *writer, const uint64_t *end)
{
    return 64 * (size_t)(end - writer->words) - writer->bits;
}

struct reader {
    const uint64_t *words;
    size_t at, end; /* bits */
};

INLINE bool has(const struct reader *reader, size_t bits)
{
    return bits <= reader->end - reader->at;
}

/* The next COUNT bits, which are there; 1 to 64. */
INLINE uint64_t get(struct reader *reader, unsigned count)
{
    const uint64_t *words = reader->words + reader->at / 64;
    unsigned shift = reader->at % 64;
    uint64_t value = words[0] >> shift | words[1] << 1 << (63 - shift);

    reader->at += count;
    return value & UINT64_MAX >> (64 - count);
}

/* ---- blocks ---- */

/* Writes the next LEVEL of those elements that have reached the one before, which LEFT says, and
 * makes LEFT those that have reached it. Where there are none nothing is written. */
INLINE void put_level(struct writer *writer, uint64_t level, uint64_t *left)
{
    put(writer, extract(level, *left), (unsigned)__builtin_popcountll(*left));
    *left = level;
}

/* The elements whose quotients are LEVEL or more. */
INLINE uint64_t reaching(codes block, unsigned parameter, unsigned level)
{
    return level << parameter < 256 ? at_least(block, level << parameter) : 0;
}

/* Most blocks have up to four levels: a branch for each would be taken at random. */
INLINE void put_rice(struct writer *writer, codes block, unsigned parameter)
{
    uint64_t one = bit_of(block, parameter), two = bit_of(block, parameter + 1);
    uint64_t more = reaching(block, parameter, 4), left = UINT64_MAX;

    for (unsigned i = 0; i < parameter; i++)
        put(writer, bit_of(block, i), 64);
    put_level(writer, one | two | more, &left);
    put_level(writer, two | more, &left);
    put_level(writer, (one & two) | more, &left);
    put_level(writer, more, &left);
    for (unsigned level = 5; left != 0; level++)
        put_level(writer, reaching(block, parameter, level), &left);
}

/* The quotients are counted in planes: bit i of all changes with each 2^i th level. */
INLINE bool get_rice(struct reader *reader, unsigned parameter, codes *block)
{
    uint64_t left = UINT64_MAX, ones = 0, twos = 0, fours = 0;
    codes result = none();
    unsigned level = 0;

    if (!has(reader, 64 * (size_t)parameter))
        return false;
    for (unsigned i = 0; i < parameter; i++)
        result = with(result, get(reader, 64), 1u << i);
    for (; left != 0; level++) {
        unsigned count = (unsigned)__builtin_popcountll(left);

        if (level << parameter >= 256 || !has(reader, count))
            return false;
        left = deposit(get(reader, count), left);
        ones ^= left;
        twos ^= level % 2 == 1 ? left : 0;
        fours ^= level % 4 == 3 ? left : 0;
        if (level % 8 == 7)
            result = with(result, left, 8u << parameter);
    }
    result = with(result, ones, 1u << parameter);
    result = with(result, twos, 2u << parameter);
    *block = level > 4 ? with(result, fours, 4u << parameter) : result;
    return true;
}

INLINE bool get_plain(struct reader *reader, codes *block)
{
    *block = none();
    if (!has(reader, 512))
        return false;
    for (unsigned i = 0; i < 8; i++)
        *block = with(*block, get(reader, 64), 1u << i);
    return true;
}

/* Float32 as they are, but one NaN for all. */
INLINE void put_raw(struct writer *writer, const cgx_float32 *values)
{
    for (unsigned i = 0; i < CGX_UNIFORM_BLOCK; i++) {
        uint32_t bits = values[i] == values[i] ? cgx_float_bits(values[i]) : CGX_NAN_FLOAT32;

        put(writer, bits, 32);
    }
}

INLINE bool get_raw(struct reader *reader, bool add, cgx_float32 *values)
{
    if (!has(reader, 32 * CGX_UNIFORM_BLOCK))
        return false;
    for (unsigned i = 0; i < CGX_UNIFORM_BLOCK; i++) {
        float value = cgx_bits_float((uint32_t)get(reader, 32));

        values[i] = add ? values[i] + value : value;
    }
    return true;
}

INLINE bool are_zeros(const cgx_float32 *values)
{
    const cgx_uint32 *bits = (const cgx_uint32 *)values;
    uint32_t any = 0;

    for (unsigned i = 0; i < CGX_UNIFORM_BLOCK; i++)
        any |= bits[i];
    return any << 1 == 0;
}

INLINE void fill(float value, bool add, cgx_float32 *values)
{
    for (unsigned i = 0; i < CGX_UNIFORM_BLOCK; i++)
        values[i] = add ? values[i] + value : value;
}

/* ---- groups ---- */

INLINE bool are_finite(const cgx_float32 *values)
{
    const cgx_uint32 *bits = (const cgx_uint32 *)values;
    uint32_t most = 0;

    for (unsigned i = 0; i < CGX_UNIFORM_BLOCK; i++)
        most = bits[i] << 1 > most ? bits[i] << 1 : most;
    return most < 0xFF000000u;
}

/* Writes a block whose codes are too large. False: there is no room. */
INLINE bool put_large(struct writer *writer, const uint64_t *end, const cgx_float32 *values,
                      bool poisons, unsigned *kind)
{
    if (poisons && !are_finite(values)) {
        *kind = CGX_UNIFORM_POISON;
        return true;
    }
    if (room(writer, end) < 32 * CGX_UNIFORM_BLOCK)
        return false;
    *kind = CGX_UNIFORM_RAW;
    put_raw(writer, values);
    return true;
}

static size_t encode(const struct cgx_uniform_group *group, const cgx_float32 *values, bool poisons,
                     uint64_t *kinds, uint64_t *words)
{
    struct writer writer = {words, 0, 0};
    const uint64_t *end = words + (size_t)group->blocks * group->room;
    uint64_t all = 0;

    for (unsigned b = 0; b < group->blocks; b++, values += CGX_UNIFORM_BLOCK) {
        codes block = quantise(group, group->first + b, values);
        uint32_t sum = sum_of(block);
        unsigned kind = cgx_uniform_parameter(sum);

        if (at_least(block, TOO_LARGE) != 0) {
            if (!put_large(&writer, end, values, poisons, &kind))
                return CGX_UNIFORM_TOO_MANY;
        } else if (sum == 0) {
            kind = are_zeros(values) ? CGX_UNIFORM_ZEROS : CGX_UNIFORM_NONE;
        } else if (room(&writer, end) < 512) { /* raw blocks before it have left too little */
            return CGX_UNIFORM_TOO_MANY;
        } else if (kind == CGX_UNIFORM_PLAIN) {
            for (unsigned i = 0; i < 8; i++)
                put(&writer, bit_of(block, i), 64);
        } else {
            put_rice(&writer, block, kind);
        }
        all |= (uint64_t)kind << 4 * b;
    }
    *kinds = all;
    if (writer.bits > 0)
        *writer.words = writer.last;
    return (size_t)(writer.words - words) + (writer.bits > 0);
}

INLINE bool decode_blocks(const struct cgx_uniform_group *group, uint64_t kinds,
                          struct reader *reader, bool add, cgx_float32 *values)
{
    for (unsigned b = 0; b < group->blocks; b++, kinds >>= 4, values += CGX_UNIFORM_BLOCK) {
        unsigned kind = kinds & 15;
        codes block = none();
        bool read = true;

        if (kind < CGX_UNIFORM_PLAIN) {
            read = get_rice(reader, kind, &block);
        } else if (kind == CGX_UNIFORM_PLAIN) {
            read = get_plain(reader, &block);
        } else if (kind == CGX_UNIFORM_RAW) {
            read = get_raw(reader, add, values);
        } else if (kind == CGX_UNIFORM_ZEROS || kind == CGX_UNIFORM_POISON) {
            fill(kind == CGX_UNIFORM_ZEROS ? 0.0f : NAN, add, values);
        } else if (kind != CGX_UNIFORM_NONE) {
            return false;
        }
        if (!read)
            return false;
        if (kind <= CGX_UNIFORM_NONE)
            restore(group, group->first + b, block, add, values);
    }
    return kinds == 0;
}

static bool decode(const struct cgx_uniform_group *group, uint64_t kinds, const uint64_t *words,
                   size_t count, bool add, cgx_float32 *values)
{
    struct reader reader = {words, 0, 64 * count};
    bool decoded = add ? decode_blocks(group, kinds, &reader, true, values)
                       : decode_blocks(group, kinds, &reader, false, values);

    return decoded && reader.end - reader.at < 64;
}

const struct cgx_uniform_kernels CGX_UNIFORM_SET = {.encode = encode, .decode = decode};
