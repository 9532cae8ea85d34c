/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

/* Kernels of uniform quantisation, one group of 1024 elements at a time. A body of source
 * (uniform_kernels_body.h) is compiled for each set; all give the same bytes. */
#ifndef CGX_CODEC_UNIFORM_UNIFORM_KERNELS_H
#define CGX_CODEC_UNIFORM_UNIFORM_KERNELS_H

#include "codec/host_kernels.h"
#include "codec/uniform/uniform.h"

typedef float cgx_uniform_values[CGX_UNIFORM_GROUP] __attribute__((aligned(64)));

/* What the dither and levels of a group depend on. */
struct cgx_uniform_group {
    float step, inverse; /* 1/STEP, rounded to nearest */
    uint32_t key;
    uint32_t first;  /* number of its first block in the buffer */
    unsigned blocks; /* that it has */
    unsigned room;   /* words, for each of them */
};

struct cgx_uniform_kernels {
    /* Encodes VALUES, 64 for each block, zeros behind those that are there: writes KINDS and at
     * most ROOM WORDS for each block. Returns how many these are. Blocks with values that are too
     * large for a code or not finite are raw; POISONS: the latter are poisoned.
     * CGX_UNIFORM_TOO_MANY: there would be more words; WORDS holds anything. */
    size_t (*encode)(const struct cgx_uniform_group *group, const cgx_float32 *values, bool poisons,
                     uint64_t *kinds, uint64_t *words);

    /* Decodes a group of COUNT WORDS, or adds it to VALUES if ADD. It may read two words more.
     * False if they are not what an encoder writes; then VALUES holds anything. */
    bool (*decode)(const struct cgx_uniform_group *group, uint64_t kinds, const uint64_t *words,
                   size_t count, bool add, cgx_float32 *values);
};

#define CGX_UNIFORM_TOO_MANY SIZE_MAX

#endif
