/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

/* The part that all kernel sets of uniform quantisation share. A file that includes this must
 * define the set's symbol CGX_UNIFORM_SET, INLINE, TOO_LARGE, the type `codes`, which holds the
 * codes of a block in a byte each (2k or -2k - 1 for k), and
 *   hash               the bytes that give the dithers of a block, in the set's own order
 *   quantise           the codes of 64 values; TOO_LARGE or more for a value that has no code
 *   sum_of             the sum of codes
 *   bit_of             a mask of the codes that have a given bit
 *   at_least           a mask of the codes that are LEVEL or more
 *   none               codes of 0
 *   twice              codes doubled, plus 1 where a mask has a bit
 *   signed_by          k from codes without their lowest bits, which are in a mask
 *   restore            writes the levels of such k to 64 values, or adds them
 *   extract            the bits of a value at the ones of a mask, moved next to each other
 *   deposit            the reverse of extract
 *   lowest             the COUNT lowest bits of a value; 0 to 64
 * Bit i of a mask belongs to element i of a block. */

#include <string.h>

/* ---- bits ---- */

struct writer {
    uint64_t *words;
    uint64_t last; /* the bits of the word at WORDS so far */
    unsigned bits; /* number of bits in LAST, below 64 */
};

/* Writes the COUNT lowest bits of VALUE, 0 to 64; the others must be 0. */
INLINE void put(struct writer *writer, uint64_t value, unsigned count)
{
    uint64_t word = writer->last | value << writer->bits;
    uint64_t rest = value >> 1 >> (63 - writer->bits);
    unsigned bits = writer->bits + count;

    *writer->words = word;
    writer->words += bits / 64;
    writer->last = word ^ ((word ^ rest) & -(uint64_t)(bits / 64)); /* a branch mispredicts */
    writer->bits = bits % 64;
}

/* The number of bits left before END. */
INLINE size_t room(const struct writer *writer, const uint64_t *end)
{
    return 64 * (size_t)(end - writer->words) - writer->bits;
}

struct reader {
    const uint64_t *words;
    size_t at, end; /* in bits */
};

INLINE bool has(const struct reader *reader, size_t bits)
{
    return bits <= reader->end - reader->at;
}

/* The 64 bits from AT on; some may be beyond the end of the group. */
INLINE uint64_t peek(const uint64_t *words, size_t at)
{
    return words[at / 64] >> at % 64 | words[at / 64 + 1] << 1 << (63 - at % 64);
}

/* Reads the next COUNT bits, 0 to 64, which must exist. */
INLINE uint64_t get(struct reader *reader, unsigned count)
{
    uint64_t value = lowest(peek(reader->words, reader->at), count);

    reader->at += count;
    return value;
}

INLINE unsigned count_of(uint64_t mask)
{
    return (unsigned)__builtin_popcountll(mask);
}

/* ---- blocks ---- */

/* A mask of the elements whose quotients are LEVEL or more. */
INLINE uint64_t reaching(codes block, unsigned parameter, unsigned level)
{
    return level << parameter < 256 ? at_least(block, level << parameter) : 0;
}

/* Sets BITS to the three lowest bits of the quotients of a block; quotients above seven count as
 * seven. */
INLINE void take_quotients(codes block, unsigned parameter, uint64_t bits[3])
{
    uint64_t more = reaching(block, parameter, 8);

    for (unsigned i = 0; i < 3; i++)
        bits[i] = bit_of(block, parameter + i) | more;
}

/* Writes a block in Rice codes. Most blocks have up to seven levels, which are written without a
 * branch for each, since it would be unpredictable. */
INLINE void put_rice(struct writer *writer, codes block, unsigned parameter,
                     const uint64_t quotients[3])
{
    uint64_t left = UINT64_MAX;
    unsigned level = 1;

    for (unsigned i = 0; i < parameter; i++)
        put(writer, bit_of(block, i), 64);
    if (parameter < 6) {
        const uint64_t one = quotients[0], two = quotients[1], four = quotients[2];
        const uint64_t levels[7] = {one | two | four,   two | four, (one & two) | four, four,
                                    four & (one | two), four & two, four & two & one};
        uint64_t bits = 0;
        unsigned used = 0;

        put(writer, levels[0], 64);
        put(writer, extract(levels[1], levels[0]), count_of(levels[0]));
        for (unsigned i = 2; i < 7; i++) {
            bits |= extract(levels[i], levels[i - 1]) << used % 64;
            used += count_of(levels[i - 1]);
        }
        left = levels[1];
        level = 3;
        if (used <= 64) {
            put(writer, bits, used);
            left = levels[6];
            level = 8;
        }
    }
    for (; left != 0; level++) {
        uint64_t next = reaching(block, parameter, level);

        put(writer, extract(next, left), count_of(left));
        left = next;
    }
}

/* The quotients of a block in bit planes. */
struct quotients {
    uint64_t planes[8];
    uint64_t left; /* elements that have reached LEVEL */
    unsigned level;
};

INLINE void add_level(struct quotients *quotients, uint64_t left)
{
    quotients->left = left;
    quotients->level++;
    for (unsigned i = 0; i < 8; i++)
        quotients->planes[i] ^= quotients->level % (1u << i) == 0 ? left : 0;
}

/* Reads five levels after the second without a branch for each, since it would be unpredictable;
 * most blocks have no more. A level has as many bits as the level before it has ones, whichever
 * elements these belong to. Reads nothing if the levels have more than 64 bits. */
INLINE void get_five(struct reader *reader, struct quotients *quotients)
{
    struct quotients result = *quotients;
    uint64_t bits = peek(reader->words, reader->at);
    unsigned count = count_of(result.left), used = 0;

    for (unsigned i = 0; i < 5; i++) {
        unsigned next = count_of(lowest(bits, count));

        add_level(&result, deposit(bits, result.left));
        bits >>= count % 64;
        used += count;
        count = next;
    }
    if (used <= 64) {
        reader->at += used;
        *quotients = result;
    }
}

INLINE bool get_quotients(struct reader *reader, unsigned parameter, struct quotients *quotients)
{
    *quotients = (struct quotients){0};
    add_level(quotients, get(reader, 64));
    if (!has(reader, count_of(quotients->left)))
        return false;
    add_level(quotients, deposit(get(reader, count_of(quotients->left)), quotients->left));
    if (parameter < 6)
        get_five(reader, quotients);
    while (quotients->left != 0) {
        unsigned count = count_of(quotients->left);

        if (quotients->level << parameter >= 256 || !has(reader, count))
            return false;
        add_level(quotients, deposit(get(reader, count), quotients->left));
    }
    return reader->at <= reader->end;
}

INLINE bool get_rice(struct reader *reader, unsigned parameter, codes *block)
{
    size_t planes = reader->at;
    struct quotients quotients;
    codes result = none();
    uint64_t signs;

    if (!has(reader, 64 * (size_t)parameter + 64))
        return false;
    reader->at += 64 * (size_t)parameter;
    if (!get_quotients(reader, parameter, &quotients))
        return false;
    if (quotients.level > 7)
        for (unsigned i = 7; i > 2; i--)
            result = twice(result, quotients.planes[i]);
    result = twice(twice(result, quotients.planes[2]), quotients.planes[1]);
    signs = quotients.planes[0];
    for (unsigned i = parameter; i > 0; i--) {
        result = twice(result, signs);
        signs = peek(reader->words, planes + 64 * (size_t)(i - 1));
    }
    *block = signed_by(result, signs);
    return true;
}

INLINE bool get_plain(struct reader *reader, codes *block)
{
    codes result = none();

    if (!has(reader, 512))
        return false;
    reader->at += 512;
    for (unsigned i = 7; i > 0; i--)
        result = twice(result, peek(reader->words, reader->at - 64 * (size_t)(8 - i)));
    *block = signed_by(result, peek(reader->words, reader->at - 512));
    return true;
}

/* Writes float32 values unchanged, except that all NaN become the canonical one. */
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

        value = value == value ? value : cgx_bits_float(CGX_NAN_FLOAT32);
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

/* Writes a block with a value that has no code. Returns false if there is no room. */
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

/* Works in passes, since a processor overlaps blocks only if each takes few instructions. */
static size_t encode(const struct cgx_uniform_group *group, const cgx_float32 *values, bool poisons,
                     uint64_t *kinds, uint64_t *words)
{
    struct writer writer = {words, 0, 0};
    const uint64_t *end = words + (size_t)group->blocks * CGX_UNIFORM_BLOCK_WORDS;
    codes blocks[CGX_UNIFORM_BLOCKS];
    uint32_t sums[CGX_UNIFORM_BLOCKS] = {0}, parameters[CGX_UNIFORM_BLOCKS];
    uint64_t quotients[CGX_UNIFORM_BLOCKS][3], all = 0;

    for (unsigned b = 0; b < group->blocks; b++)
        blocks[b] = hash(group, group->first + b);
    for (unsigned b = 0; b < group->blocks; b++)
        blocks[b] = quantise(values + (size_t)CGX_UNIFORM_BLOCK * b, group->inverse, blocks[b]);
    for (unsigned b = 0; b < group->blocks; b++)
        sums[b] = sum_of(blocks[b]);
    for (unsigned b = 0; b < CGX_UNIFORM_BLOCKS; b++)
        parameters[b] = cgx_uniform_parameter(sums[b]);
    for (unsigned b = 0; b < group->blocks; b++)
        take_quotients(blocks[b], parameters[b], quotients[b]);
    for (unsigned b = 0; b < group->blocks; b++, values += CGX_UNIFORM_BLOCK) {
        unsigned kind = parameters[b];

        if (sums[b] >= TOO_LARGE && at_least(blocks[b], TOO_LARGE) != 0) {
            if (!put_large(&writer, end, values, poisons, &kind))
                return CGX_UNIFORM_TOO_MANY;
        } else if (sums[b] == 0) {
            kind = are_zeros(values) ? CGX_UNIFORM_ZEROS : CGX_UNIFORM_NONE;
        } else if (room(&writer, end) < 512) { /* raw blocks have left too little room */
            return CGX_UNIFORM_TOO_MANY;
        } else if (kind == CGX_UNIFORM_PLAIN) {
            for (unsigned i = 0; i < 8; i++)
                put(&writer, bit_of(blocks[b], i), 64);
        } else {
            put_rice(&writer, blocks[b], kind, quotients[b]);
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
    codes hashes[CGX_UNIFORM_BLOCKS];

    for (unsigned b = 0; b < group->blocks; b++)
        hashes[b] = hash(group, group->first + b);
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
            restore(block, hashes[b], group->step, add, values);
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
