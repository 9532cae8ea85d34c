/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

#include "mpi/op_probe.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "codec/quant.h"

/* A 16-bit floating-point type. Words without their sign have the order of their numbers. */
struct half {
    enum cgx_op_class sum;
    uint16_t normal;   /* the smallest normal number; smaller words are subnormal or 0 */
    uint16_t infinity; /* the word before is the largest number; words after are NaN */
    float (*to_float)(uint16_t word);
    uint16_t (*from_float)(float value);
};

enum { FLOAT16, BFLOAT16, HALVES };
static const struct half halves[HALVES] = {
    {CGX_OP_SUM_FLOAT16, 0x0400, 0x7C00, cgx_from_float16, cgx_to_float16},
    {CGX_OP_SUM_BFLOAT16, 0x0080, 0x7F80, cgx_from_bfloat16, cgx_to_bfloat16},
};

struct pair {
    uint16_t a, b;
};

/* ---- verdict on a result ---- */

static int magnitude(uint16_t word)
{
    return word & 0x7FFF;
}

/* The place of the word's number in ascending order; both zeros have place 0. */
static int place(uint16_t word)
{
    return (word & 0x8000) != 0 ? -magnitude(word) : magnitude(word);
}

/* Whether RESULT is the sum of PAIR to within one unit in the last place. No operand is subnormal;
 * a subnormal sum may be flushed to zero. */
static bool is_acceptable(const struct half *half, struct pair pair, uint16_t result)
{
    double sum = (double)half->to_float(pair.a) + (double)half->to_float(pair.b);
    uint16_t nearest = half->from_float((float)sum);
    bool is_finite = magnitude(pair.a) < half->infinity && magnitude(pair.b) < half->infinity;

    if (magnitude(nearest) > half->infinity)
        return magnitude(result) > half->infinity;
    if (!is_finite)
        return result == nearest;
    return magnitude(result) <= half->infinity &&
           (abs(place(result) - place(nearest)) <= 1 ||
            (magnitude(nearest) < half->normal && magnitude(result) == 0));
}

/* ---- whether the words distinguish a sum from other functions ---- */

#define PAIRS_ENOUGH 64
#define RIVAL_ENOUGH 16 /* pairs that must distinguish a rival from the sum */

/* Functions that equal a sum on some data. Functions that return one of their operands, such as a
 * maximum, are excluded by the choice of pairs. */
enum rival {
    DIFFERENCE,
    REVERSED_DIFFERENCE,
    AVERAGE,
    PRODUCT,
    SUM_OF_MAGNITUDES,
    OTHER_HALF_SUM,
    INTEGER_SUM,
    EXCLUSIVE_OR,
    UNION,
    ZERO,
    RIVALS
};

static uint16_t add(const struct half *half, struct pair pair)
{
    return half->from_float(half->to_float(pair.a) + half->to_float(pair.b));
}

static uint16_t result_of(enum rival rival, const struct half *half, struct pair pair)
{
    float a = half->to_float(pair.a), b = half->to_float(pair.b);

    switch (rival) {
    case DIFFERENCE:
        return half->from_float(a - b);
    case REVERSED_DIFFERENCE:
        return half->from_float(b - a);
    case AVERAGE:
        return half->from_float((a + b) / 2);
    case PRODUCT:
        return half->from_float(a * b);
    case SUM_OF_MAGNITUDES:
        return half->from_float(fabsf(a) + fabsf(b));
    case OTHER_HALF_SUM:
        return add(&halves[half == &halves[FLOAT16] ? BFLOAT16 : FLOAT16], pair);
    case INTEGER_SUM:
        return (uint16_t)(pair.a + pair.b);
    case EXCLUSIVE_OR:
        return pair.a ^ pair.b;
    case UNION:
        return pair.a | pair.b;
    default:
        return 0;
    }
}

static bool is_normal(const struct half *half, uint16_t word)
{
    return magnitude(word) >= half->normal && magnitude(word) < half->infinity;
}

static size_t keep_normal(const struct half *half, const uint16_t *words, size_t count,
                          uint16_t *kept)
{
    size_t nkept = 0;

    for (size_t i = 0; i < count; i++)
        if (is_normal(half, words[i]))
            kept[nkept++] = words[i];
    return nkept;
}

/* Pairs normal numbers of the first half of WORDS with those of the second, except pairs whose sum
 * is nearly one of the two. Returns the number of pairs. */
static size_t make_pairs(const struct half *half, const uint16_t *words, size_t count,
                         struct pair pairs[CGX_OP_WORDS / 2])
{
    uint16_t a[CGX_OP_WORDS / 2], b[CGX_OP_WORDS / 2];
    size_t na = keep_normal(half, words, count / 2, a), npairs = 0;
    size_t nb = keep_normal(half, words + count / 2, count / 2, b);

    for (size_t i = 0; i < na && i < nb; i++) {
        const struct pair pair = {a[i], b[i]};

        if (!is_acceptable(half, pair, pair.a) && !is_acceptable(half, pair, pair.b))
            pairs[npairs++] = pair;
    }
    return npairs;
}

static bool distinguishes_sum(const struct half *half, const struct pair *pairs, size_t npairs)
{
    for (int rival = 0; rival < RIVALS; rival++) {
        size_t against = 0;

        for (size_t i = 0; i < npairs && against < RIVAL_ENOUGH; i++)
            against += !is_acceptable(half, pairs[i], result_of(rival, half, pairs[i]));
        if (against < RIVAL_ENOUGH)
            return false;
    }
    return npairs >= PAIRS_ENOUGH;
}

/* ---- calling the function ---- */

#define LONGEST_RUN 33
#define MARGIN 128 /* words on either side, which the function must leave unchanged */

struct guarded {
    _Alignas(64) uint16_t words[MARGIN + LONGEST_RUN + MARGIN];
};
#define GUARDED (MARGIN + LONGEST_RUN + MARGIN)

/* Whether the function sums a run of LENGTH pairs, which repeats the NPAIRS PAIRS, and writes
 * nowhere else. *RESULT, unless it is NULL, is its first result. The words around the run come from
 * PAIRS too; none is acceptable as the sum of its pair in cgx_op_try, so a sum that is written
 * there is noticed. */
static bool passes(const struct half *half, const struct cgx_op_source *source,
                   cgx_mpi_datatype datatype, const struct pair *pairs, size_t npairs,
                   size_t length, uint16_t *result)
{
    struct guarded in, inout;
    bool right = true;

    for (size_t i = 0; i < GUARDED; i++) {
        in.words[i] = pairs[i % npairs].a;
        inout.words[i] = pairs[i % npairs].b;
    }
    cgx_mpi()->call_op(source->function, source->large, in.words + MARGIN, inout.words + MARGIN,
                       (int)length, datatype);
    for (size_t i = 0; i < GUARDED; i++) {
        const struct pair pair = pairs[i % npairs];
        bool in_run = i >= MARGIN && i < MARGIN + length;

        right = right && in.words[i] == pair.a &&
                (in_run ? is_acceptable(half, pair, inout.words[i]) : inout.words[i] == pair.b);
    }
    if (result)
        *result = inout.words[MARGIN];
    return right;
}

static bool sums(const struct half *half, const struct cgx_op_source *source,
                 cgx_mpi_datatype datatype, const struct pair *pairs, size_t npairs)
{
    static const size_t lengths[] = {1, 7, 8, LONGEST_RUN};
    size_t first = 0;

    for (size_t run = 0; first < npairs; run++) {
        size_t length = lengths[run % 4];

        if (length > npairs - first)
            length = npairs - first;
        if (!passes(half, source, datatype, pairs + first, length, length, NULL))
            return false;
        first += length;
    }
    return true;
}

enum cgx_op_class cgx_op_try(const struct cgx_op_source *source, cgx_mpi_datatype datatype,
                             const uint16_t *words, size_t count)
{
    enum cgx_op_class class = CGX_OP_OTHER;
    struct pair pairs[CGX_OP_WORDS / 2];

    for (size_t i = 0; i < HALVES; i++) {
        size_t npairs = make_pairs(&halves[i], words, count, pairs);

        if (!distinguishes_sum(&halves[i], pairs, npairs))
            class = CGX_OP_UNTESTED;
        else if (sums(&halves[i], source, datatype, pairs, npairs))
            return halves[i].sum;
    }
    return class;
}

/* ---- words outside what the function was tested on ---- */

/* A function that is tested as a sum. */
struct trial {
    const struct half *half;
    const struct cgx_op_source *source;
    cgx_mpi_datatype datatype;
    bool right; /* so far */
};

/* The function's result for A and B, in a run that has a vectorised part and a rest. */
static uint16_t sum_of(struct trial *trial, uint16_t a, uint16_t b)
{
    const struct pair pair = {a, b};
    uint16_t result = 0;

    trial->right = trial->right && passes(trial->half, trial->source, trial->datatype, &pair, 1,
                                          LONGEST_RUN, &result);
    return result;
}

/* Adds WORD to itself up to TIMES times, by doubling. */
static void add_up(struct trial *trial, uint16_t word, unsigned times)
{
    uint16_t sum = word;
    unsigned bit = 1;

    while (bit <= times / 2)
        bit *= 2;
    for (bit /= 2; bit > 0 && trial->right && magnitude(sum) < trial->half->infinity; bit /= 2) {
        sum = sum_of(trial, sum, sum);
        if ((times & bit) != 0)
            sum = sum_of(trial, word, sum);
    }
}

/* Adds WORD, which is not finite, to each kind of word in SEEN. */
static void add_to_all(struct trial *trial, uint16_t word, const struct cgx_op_extremes *seen)
{
    const uint16_t others[] = {word, seen->most[0], seen->most[1], seen->infinite[0],
                               seen->infinite[1]};

    for (size_t i = 0; i < sizeof others / sizeof others[0]; i++) {
        if (magnitude(others[i]) < trial->half->normal)
            continue;
        sum_of(trial, word, others[i]);
        sum_of(trial, others[i], word);
    }
}

static const struct half *half_of(enum cgx_op_class sum)
{
    return &halves[sum == CGX_OP_SUM_FLOAT16 ? FLOAT16 : BFLOAT16];
}

/* Whether RANKS times the greatest word of SIGN is beyond REACH. */
static bool is_beyond(const struct half *half, int sign, unsigned ranks,
                      const struct cgx_op_extremes *seen, const struct cgx_op_reach *reach)
{
    return magnitude(seen->most[sign]) >= half->normal &&
           fabsf(half->to_float(seen->most[sign])) * (float)ranks > reach->most[sign];
}

bool cgx_op_reaches(enum cgx_op_class sum, unsigned ranks, const struct cgx_op_extremes *seen,
                    const struct cgx_op_reach *reach)
{
    const struct half *half = half_of(sum);
    bool beyond = seen->nan != 0 && !reach->nan;

    for (int sign = 0; sign < 2; sign++)
        beyond = beyond || is_beyond(half, sign, ranks, seen, reach) ||
                 (seen->infinite[sign] != 0 && !reach->infinite[sign]);
    return !beyond;
}

bool cgx_op_extend(const struct cgx_op_source *source, cgx_mpi_datatype datatype,
                   enum cgx_op_class sum, unsigned ranks, const struct cgx_op_extremes *seen,
                   struct cgx_op_reach *reach)
{
    struct trial trial = {half_of(sum), source, datatype, true};

    for (int sign = 0; sign < 2; sign++) {
        if (is_beyond(trial.half, sign, ranks, seen, reach)) {
            add_up(&trial, seen->most[sign], ranks);
            reach->most[sign] = fabsf(trial.half->to_float(seen->most[sign])) * (float)ranks;
        }
        if (seen->infinite[sign] != 0 && !reach->infinite[sign]) {
            add_to_all(&trial, seen->infinite[sign], seen);
            reach->infinite[sign] = true;
        }
    }
    if (seen->nan != 0 && !reach->nan) {
        add_to_all(&trial, seen->nan, seen);
        reach->nan = true;
    }
    return trial.right;
}
