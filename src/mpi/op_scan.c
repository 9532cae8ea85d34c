/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

#include <string.h>

#include "mpi/ops.h"

#define BLOCK 4096 /* elements; read one by one if one is not finite */
#define GROUP 8    /* words in a vector of 16 bytes */
#define GROUPS 8
#define ROW (GROUP * GROUPS)

static int16_t larger(int16_t a, int16_t b)
{
    return (int16_t)(a > b ? a : b);
}

/* Raises MOST, the greatest magnitudes of positive and of negative words, by a row of ELEMENTS. As
 * a signed integer, a word without its sign bit is its magnitude, and a word with it is negative. A
 * row is short, so that everything stays in vector registers. */
static void widen(int16_t most[2][GROUP], const unsigned char *elements)
{
    int16_t words[ROW], plain[GROUP] = {0}, flipped[GROUP] = {0};

    memcpy(words, elements, sizeof words);
#pragma GCC unroll 8
    for (int group = 0; group < GROUPS; group++) {
        for (int i = 0; i < GROUP; i++) {
            int16_t word = words[group * GROUP + i], other = (int16_t)(word ^ INT16_MIN);

            plain[i] = larger(plain[i], word);
            flipped[i] = larger(flipped[i], other);
        }
    }
    for (int i = 0; i < GROUP; i++) {
        most[0][i] = larger(most[0][i], plain[i]);
        most[1][i] = larger(most[1][i], flipped[i]);
    }
}

/* Finds the words of the greatest magnitude of either sign. */
static void find_most(const unsigned char *elements, size_t count, uint16_t words[2])
{
    int16_t most[2][GROUP] = {{0}}, rest[ROW] = {0};
    size_t rows = count / ROW;

    for (size_t row = 0; row < rows; row++)
        widen(most, elements + row * sizeof rest);
    memcpy(rest, elements + rows * sizeof rest, (count - rows * ROW) * sizeof rest[0]);
    widen(most, (const unsigned char *)rest);
    for (int sign = 0; sign < 2; sign++) {
        int16_t greatest = 0;

        for (int i = 0; i < GROUP; i++)
            greatest = larger(greatest, most[sign][i]);
        words[sign] = (uint16_t)(greatest | sign << 15);
    }
}

/* Adds WORD to SEEN. INFINITY_WORD is that of the type; words after it are NaN. */
static void note(struct cgx_op_extremes *seen, uint16_t infinity_word, uint16_t word)
{
    uint16_t magnitude = word & 0x7FFF;
    int sign = word >> 15;

    if (magnitude > infinity_word)
        seen->nan = word;
    else if (magnitude == infinity_word)
        seen->infinite[sign] = word;
    else if (magnitude > (seen->most[sign] & 0x7FFF))
        seen->most[sign] = word;
}

static void scan_block(uint16_t infinity_word, const unsigned char *elements, size_t count,
                       struct cgx_op_extremes *seen)
{
    uint16_t most[2], word;

    find_most(elements, count, most);
    note(seen, infinity_word, most[0]);
    note(seen, infinity_word, most[1]);
    if (most[0] < infinity_word && (most[1] & 0x7FFF) < infinity_word)
        return;
    /* Words that are not finite have hidden the finite ones. */
    for (size_t i = 0; i < count; i++) {
        memcpy(&word, elements + i * sizeof word, sizeof word);
        note(seen, infinity_word, word);
    }
}

void cgx_op_scan(enum cgx_op_class sum, const void *elements, size_t count,
                 struct cgx_op_extremes *seen)
{
    uint16_t infinity_word = sum == CGX_OP_SUM_FLOAT16 ? 0x7C00 : 0x7F80;

    for (size_t first = 0; first < count; first += BLOCK)
        scan_block(infinity_word, (const unsigned char *)elements + first * sizeof(uint16_t),
                   count - first < BLOCK ? count - first : BLOCK, seen);
}
