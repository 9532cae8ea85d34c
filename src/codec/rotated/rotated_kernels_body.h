/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

/* The part that all sets of vector kernels for rotated encodings share. Values are in code order
 * (rotated.h): vector 32 g + e holds number e of VECTOR lanes, from lane VECTOR * g on. Elements
 * from `rotate` lack the stages of bits 4, 5 and 6, which are bits of e, and those that
 * load_incomplete does. A file that includes this after rotated_vectors.h must define the set's
 * symbol CGX_ROTATED_SET and
 *   fma_of, magnitude       FMA and absolute value
 *   clamp                   limits a value to between a limit and its negative
 *   struct table, table_of, look_up
 *                           levels times a step by codes; only the WIDTH lowest bits of each word
 *                           count
 *   arrange, look_up_arranged
 *                           the same for a word of whole codes that arrange has prepared
 *   over_lanes              the sum over 32 lanes
 *   load_incomplete         elements 8 q to 8 q + 7 of group g from `rotate`, after all missing
 *                           stages but those of bits 4, 5 and 6
 *   rotate_by, rotate_back  as `rotate`, and as the rest of `restore`, given the words of signs */

#include <string.h>

/* ---- codes ---- */

/* Sets V to the levels of codes 8 Q to 8 Q + 7 of group G. */
INLINE void levels_of(const unsigned char *codes, unsigned width, size_t g, unsigned q,
                      const struct table *table, vector v[8])
{
    unsigned per_word = cgx_rotated_per_word(width), first = 8 * q / per_word;
    bool plain = per_word * width == 32; /* no code spans words, and these eight are in one word */
    words w[CGX_ROTATED_WIDTHS];

    UNROLLED
    for (unsigned word = 0; word < width; word++)
        if (!plain || word == first) {
            w[word] = *(const loose_words *)(codes + 4 * (32 * word + VECTOR * g));
            if (plain)
                w[word] = arrange(w[word], width);
        }
    UNROLLED
    for (unsigned i = 0; i < 8; i++) {
        words code = get(width, 8 * q + i, w);

        v[i] = plain ? look_up_arranged(table, width, code) : look_up(table, width, code);
    }
}

/* ---- kernels of one width ---- */

INLINE void load_eight(const float *values, size_t g, unsigned q, bool complete, vector v[8])
{
    if (complete) {
        UNROLLED
        for (unsigned i = 0; i < 8; i++)
            v[i] = *(const vector *)(values + VECTOR * (32 * g + 8 * q + i));
    } else {
        load_incomplete(values, g, q, v);
        butterflies(v, 8);
    }
}

INLINE float quantise_at(unsigned width, const float *values, bool complete, float inv,
                         unsigned char *codes)
{
    const struct cgx_rotated_book book = cgx_rotated_book(width);
    const struct table table = table_of(width, 1);
    const vector alpha = (vector){0} + book.alpha, beta = (vector){0} - book.beta;
    const vector middle = (vector){0} + (float)(3072 + (1 << width >> 1));
    vector a[GROUPS];

    for (size_t g = 0; g < GROUPS; g++) {
        words w[CGX_ROTATED_WIDTHS] = {{0}};

        a[g] = (vector){0};
        _Pragma("GCC unroll 4") for (unsigned q = 0; q < 4; q++)
        {
            vector v[8];

            load_eight(values, g, q, complete, v);
            UNROLLED
            for (unsigned i = 0; i < 8; i++) {
                vector t = v[i] * inv, u = clamp(t, book.limit);
                vector factor = book.beta == 0 ? alpha : fma_of(magnitude(u), beta, alpha);
                words r = (words)fma_of(u, factor, middle);

                put(width, 8 * q + i, r, w);
                a[g] = fma_of(t, look_up(&table, width, r >> 12), a[g]);
                UNROLLED
                for (unsigned word = 0; word < width; word++)
                    if (completes(width, 8 * q + i, word))
                        *(loose_words *)(codes + 4 * (32 * word + VECTOR * g)) = w[word];
            }
        }
    }
    return over_lanes(a);
}

INLINE float sum_at(unsigned width, const struct cgx_rotated_source *sources, size_t nsources,
                    bool add, float *sums)
{
    vector squares[GROUPS];

    for (size_t g = 0; g < GROUPS; g++) {
        squares[g] = (vector){0};
        _Pragma("GCC unroll 4") for (unsigned q = 0; q < 4; q++)
        {
            vector *at = (vector *)(sums + VECTOR * (32 * g + 8 * q)), v[8], sum[8] = {{0}};

            if (add)
                memcpy(sum, at, sizeof sum);
            for (size_t p = 0; p < nsources; p++) {
                vector factor = (vector){0} + 1.0f;

                if (sources[p].codes) {
                    const struct table table = table_of(width, sources[p].step);

                    levels_of(sources[p].codes, width, g, q, &table, v);
                } else {
                    load_eight(sources[p].elements, g, q, false, v);
                    factor *= sources[p].step;
                }
                UNROLLED
                for (unsigned i = 0; i < 8; i++)
                    sum[i] = fma_of(v[i], factor, sum[i]);
            }
            UNROLLED
            for (unsigned i = 0; i < 8; i++) {
                squares[g] = fma_of(sum[i], sum[i], squares[g]);
                at[i] = sum[i];
            }
        }
    }
    return over_lanes(squares);
}

INLINE void restore_at(unsigned width, const unsigned char *codes, float step, uint32_t key,
                       uint32_t bucket, cgx_float32 *values)
{
    const struct table table = table_of(width, step);
    uint32_t signs[32] __attribute__((aligned(64)));
    cgx_rotated_values rotated;

    sign_words(key, bucket, signs);
    for (size_t g = 0; g < GROUPS; g++)
        _Pragma("GCC unroll 4") for (unsigned q = 0; q < 4; q++)
        {
            vector *at = (vector *)(rotated + VECTOR * (32 * g + 8 * q)), v[8];

            levels_of(codes, width, g, q, &table, v);
            butterflies(v, 8);
            UNROLLED
            for (unsigned i = 0; i < 8; i++)
                at[i] = v[i];
        }
    rotate_back(rotated, signs, values);
}

/* ---- the set ---- */

static float rotate(const cgx_float32 *values, float factor, uint32_t key, uint32_t bucket,
                    float *rotated)
{
    uint32_t signs[32] __attribute__((aligned(64)));

    sign_words(key, bucket, signs);
    if (factor == 1)
        return rotate_by(values, false, 1, signs, rotated);
    return rotate_by(values, true, factor, signs, rotated);
}

static float quantise(const float *values, bool complete, float inv, unsigned width,
                      unsigned char *codes)
{
    switch (width) {
    case 1:
        return quantise_at(1, values, complete, inv, codes);
    case 2:
        return quantise_at(2, values, complete, inv, codes);
    case 3:
        return quantise_at(3, values, complete, inv, codes);
    case 4:
        return quantise_at(4, values, complete, inv, codes);
    default:
        return quantise_at(5, values, complete, inv, codes);
    }
}

static float sum(const struct cgx_rotated_source *sources, size_t nsources, unsigned width,
                 bool add, float *sums)
{
    switch (width) {
    case 1:
        return sum_at(1, sources, nsources, add, sums);
    case 2:
        return sum_at(2, sources, nsources, add, sums);
    case 3:
        return sum_at(3, sources, nsources, add, sums);
    case 4:
        return sum_at(4, sources, nsources, add, sums);
    default:
        return sum_at(5, sources, nsources, add, sums);
    }
}

static void restore(const unsigned char *codes, unsigned width, float step, uint32_t key,
                    uint32_t bucket, cgx_float32 *values)
{
    switch (width) {
    case 1:
        restore_at(1, codes, step, key, bucket, values);
        break;
    case 2:
        restore_at(2, codes, step, key, bucket, values);
        break;
    case 3:
        restore_at(3, codes, step, key, bucket, values);
        break;
    case 4:
        restore_at(4, codes, step, key, bucket, values);
        break;
    default:
        restore_at(5, codes, step, key, bucket, values);
    }
}

const struct cgx_rotated_kernels CGX_ROTATED_SET = {
    .rotate = rotate, .quantise = quantise, .sum = sum, .restore = restore};
