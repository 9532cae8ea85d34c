/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

/* Strings of bits in 64-bit words, for kernel sets: INLINE and `lowest` are the set's. */
#ifndef CGX_CODEC_UNIFORM_UNIFORM_BITS_H
#define CGX_CODEC_UNIFORM_UNIFORM_BITS_H

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

/* EACH has a bit in each of the 16 nibbles of a mask, the lowest. */
#define EACH UINT64_C(0x1111111111111111)

/* The nibbles of MASK that are not 0, as bits of EACH. */
INLINE uint64_t nibbles_of(uint64_t mask)
{
    mask |= mask >> 2;
    return (mask | mask >> 1) & EACH;
}

#endif
