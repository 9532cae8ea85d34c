/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

#include "policy/look.h"

#include <math.h>
#include <string.h>

#include "util/integers.h"

#define WHOLE_MOST 16384.0f      /* bfloat16 has fractions below 128 alone */
#define PLACES_LEAST 32          /* places that are not zero, of which signs are compared */
#define ZEROS 0xAAAAAAAAAAAAAAAA /* signs of 64 zeros */

size_t cgx_sample_run(size_t count, size_t most)
{
    return cgx_smaller(count / CGX_LOOK_PLACES, most) & ~(size_t)1;
}

size_t cgx_sample_stride(size_t count)
{
    return (count - cgx_sample_run(count, CGX_LOOK_SUM_RUN)) / (CGX_LOOK_PLACES - 1) & ~(size_t)1;
}

struct cgx_strided cgx_sample_runs(const void *at, size_t count, enum cgx_dtype dtype, size_t most)
{
    const size_t size = cgx_dtype_size(dtype);

    return (struct cgx_strided){.at = at,
                                .bytes = cgx_sample_run(count, most) * size,
                                .stride = cgx_sample_stride(count) * size,
                                .count = CGX_LOOK_PLACES};
}

double cgx_sample_size(const struct cgx_sample *sample)
{
    size_t count = CGX_LOOK_PLACES * sample->run;

    return cgx_squares_sum(sample->values, NULL, count) / (double)count;
}

bool cgx_sample_is_whole(const struct cgx_sample *sample)
{
    bool counts = false;

    for (size_t i = 0; i < CGX_LOOK_PLACES * sample->run; i++) {
        const float value = sample->values[i];

        if (!(fabsf(value) <= WHOLE_MOST) || value != (float)(int)value)
            return false;
        counts = counts || fabsf(value) > 1;
    }
    return counts;
}

bool cgx_sample_is_empty(const struct cgx_sample *sample)
{
    const size_t group = CGX_LOOK_PLACES * sample->run / CGX_LOOK_GROUPS;
    unsigned empty = 0;

    for (size_t k = 0; k < CGX_LOOK_GROUPS; k++)
        empty += cgx_squares_sum(sample->values + k * group, NULL, group) == 0;
    return 2 * empty >= CGX_LOOK_GROUPS;
}

/* ---- sketches ---- */

struct cgx_sketch cgx_sketch_empty(void)
{
    struct cgx_sketch sketch = {{0}, {0}};

    memset(sketch.signs, (int)(ZEROS & 0xFF), sizeof sketch.signs);
    return sketch;
}

/* Without branches, which signs would have mispredicted. */
struct cgx_sketch cgx_sketch_of(const struct cgx_sample *sample)
{
    struct cgx_sketch sketch = cgx_sketch_empty();

    for (unsigned i = 0; i < CGX_LOOK_PLACES; i += 8) {
        unsigned nonzero = 0, positive = 0;

        for (unsigned j = 0; j < 8; j++) {
            float value = sample->values[(i + j) * sample->run];

            nonzero |= (unsigned)(value != 0) << j;
            positive |= (unsigned)(value > 0) << j;
        }
        sketch.nonzero[i / 8] = (unsigned char)nonzero;
        sketch.signs[i / 8] = (unsigned char)(positive | (sketch.signs[i / 8] & ~nonzero));
    }
    return sketch;
}

/* The bits of a sketch, as words: counting those of single bytes takes as long for each. */
#define WORDS (CGX_SKETCH_BYTES / sizeof(uint64_t))

struct words {
    uint64_t of[WORDS];
};

static struct words words_of(const unsigned char bytes[CGX_SKETCH_BYTES])
{
    struct words words;

    memcpy(&words, bytes, sizeof words);
    return words;
}

bool cgx_sketch_agrees(const struct cgx_sketch *own, const unsigned char other[CGX_SKETCH_BYTES])
{
    const struct words nonzero = words_of(own->nonzero), signs = words_of(own->signs),
                       others = words_of(other);
    int places = 0, equal = 0;

    for (size_t i = 0; i < WORDS; i++) {
        places += __builtin_popcountll(nonzero.of[i]);
        equal += __builtin_popcountll(nonzero.of[i] & ~(signs.of[i] ^ others.of[i]));
    }
    return places >= PLACES_LEAST && 40 * equal >= 39 * places;
}

bool cgx_sketch_is_alone(const struct cgx_sketch *own, const unsigned char other[CGX_SKETCH_BYTES])
{
    const struct words nonzero = words_of(own->nonzero), others = words_of(other);
    int places = 0;
    uint64_t filled = 0;

    for (size_t i = 0; i < WORDS; i++) {
        places += __builtin_popcountll(nonzero.of[i]);
        filled |= nonzero.of[i] & (ZEROS ^ others.of[i]);
    }
    return places >= PLACES_LEAST && filled == 0;
}
