/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

/* Elements for tests of rotated encodings. */
#ifndef CGX_TESTS_ROTATED_DATA_H
#define CGX_TESTS_ROTATED_DATA_H

#include "codec/encoding.h"
#include "codec/rotated/rotated.h"
#include "unit/lib/codec_data.h"
#include "unit/lib/codec_reference.h"

#define ROTATED_KINDS (DATA_KINDS + 9)

/* One bucket, or the first COUNT elements of it: those kinds that max-min quantisation is tried
 * with, and what decides for rotated quantisation: range, spikes, what is not finite. */
static inline void rotated_fill(unsigned kind, uint64_t seed, float *values, size_t count)
{
    static const float spikes[] = {1, 0x1p-140f, 0x1p-49f, 0x1p48f, 0x1.fffffep127f};
    enum data_kind plain = kind < DATA_KINDS ? (enum data_kind)kind : DATA_GAUSSIAN;
    size_t at = (size_t)(seed % count);
    unsigned special = kind - DATA_KINDS;

    data_fill(plain, seed, values, count);
    if (kind < DATA_KINDS)
        return;
    for (size_t i = 0; i < count; i++)
        values[i] *= special < 5    ? 0.0f
                     : special == 5 ? 0x1p-48f /* at the ends of what is in range */
                     : special == 6 ? 0x1p43f
                                    : 0x1p120f;
    if (special < 5)
        values[at] = -spikes[special];
    else if (special == 7)
        values[at] = -NAN;
    else if (special == 8)
        values[at] = -INFINITY;
}

/* COUNT elements, one kind to a bucket of 1024, or fewer where BUCKET is less; KIND: of the first.
 * ELEMENTS may be misaligned. */
static inline void rotated_elements(enum cgx_dtype dtype, unsigned kind, uint64_t seed,
                                    size_t bucket, size_t count, void *elements)
{
    float values[CGX_ROTATED_BUCKET];

    for (size_t first = 0; first < count; first += bucket) {
        size_t n = count - first < bucket ? count - first : bucket;

        rotated_fill((unsigned)(kind + first / bucket) % ROTATED_KINDS, seed + first, values, n);
        for (size_t i = 0; i < n; i++) {
            if (dtype == CGX_FLOAT16) /* of its range, or most were zero or infinite */
                values[i] = fmodf(values[i], 50000);
            reference_narrow(dtype, values[i], elements, first + i);
        }
    }
}

#endif
