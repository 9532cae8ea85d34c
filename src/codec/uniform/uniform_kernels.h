/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

/* Kernels of uniform quantisation, which work on one group of 1024 elements. uniform_encode.h and
 * uniform_decode.h are compiled for each set; all sets give the same bytes. */
#ifndef CGX_CODEC_UNIFORM_UNIFORM_KERNELS_H
#define CGX_CODEC_UNIFORM_UNIFORM_KERNELS_H

#include "codec/host_kernels.h"
#include "codec/uniform/uniform.h"

typedef float cgx_uniform_values[CGX_UNIFORM_GROUP] __attribute__((aligned(64)));

struct cgx_uniform_group {
    float step, inverse; /* 1/STEP, rounded to nearest */
    uint32_t key;
    uint32_t first; /* number of the group's first block in the buffer */
    unsigned blocks;
};

/* What values are decoded for: a result, in which zeros are +0; the first source of a sum, in which
 * zeros are -0; or to be added to such a sum. */
enum cgx_uniform_use { CGX_UNIFORM_RESULT, CGX_UNIFORM_FIRST_SOURCE, CGX_UNIFORM_SOURCE };

struct cgx_uniform_kernels {
    /* Encodes VALUES, 64 per block, with zeros behind the last element. Writes KINDS and the
     * group's WORDS, and may write two words more; returns their number, or CGX_UNIFORM_TOO_MANY if
     * there would be more than CGX_UNIFORM_BLOCK_WORDS per block: WORDS then are untouched. Zeros
     * are 0 and -0 or, if IS_SUM, -0 alone. Blocks with a value that is too large for a code or not
     * finite are raw; if POISONS, those with a value that is not finite are poisoned. */
    size_t (*encode)(const struct cgx_uniform_group *group, const cgx_float32 *values, bool poisons,
                     bool is_sum, uint64_t *kinds, uint64_t *words);

    /* Decodes a group of COUNT WORDS into VALUES, for USE. May read two words more. False: the
     * group is malformed, and VALUES is undefined. */
    bool (*decode)(const struct cgx_uniform_group *group, uint64_t kinds, const uint64_t *words,
                   size_t count, enum cgx_uniform_use use, cgx_float32 *values);
};

#define CGX_UNIFORM_TOO_MANY SIZE_MAX

#endif
