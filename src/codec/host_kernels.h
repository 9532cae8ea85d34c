/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

/* Inside the host backend: the kernels, which work on one bucket. host_portable.c and host_avx2.c
 * compile the same source (host_kernels_body.h) with their own flags, and uniform_portable.c and
 * uniform_avx2.c the same uniform_encode.h and uniform_decode.h; all give the same bytes. The walk
 * over pieces and buckets (host_operations.c) is compiled once. */
#ifndef CGX_CODEC_HOST_KERNELS_H
#define CGX_CODEC_HOST_KERNELS_H

#include "codec/codec.h"
#include "codec/uniform/uniform.h"

/* Elements of the caller's buffer may be misaligned, and kernels access several codes at a time. */
typedef float cgx_float32 __attribute__((aligned(1), may_alias));
typedef uint16_t cgx_uint16 __attribute__((aligned(1), may_alias));
typedef uint32_t cgx_uint32 __attribute__((aligned(1), may_alias));
typedef uint64_t cgx_uint64 __attribute__((aligned(1), may_alias));

typedef float cgx_bucket_values[CGX_BUCKET_MOST] __attribute__((aligned(64)));

/* ---- uniform quantisation: kernels that work on one group ---- */

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

/* ---- all kernels of a set ---- */

/* The least and the greatest element of a bucket; POISON if one is not finite or too large. */
struct cgx_host_range {
    float min;
    float max;
    bool poison;
};

/* The kernels of one set. Counts are elements, at least 1. CODES are the codes of one bucket:
 * pointers to its part of each plane, padded to a multiple of 64 elements. Planes that the width
 * lacks are not touched. */
struct cgx_host_kernels {
    /* By enum cgx_dtype: converts elements to float32, exactly. */
    void (*widen[3])(const void *elements, size_t count, float *values);

    /* By enum cgx_dtype: converts float32 to elements, with IEEE rounding and the canonical NaN. */
    void (*narrow[3])(const float *values, size_t count, void *elements);

    void (*add)(const cgx_float32 *addends, size_t count, float *values);

    /* The sum of squares of CGX_BUCKET_MOST values, in the order of doc/format.md. */
    float (*norm)(const cgx_float32 *values);

    /* How many of COUNT values are zeros: 0 and -0, or in sums -0 alone. */
    size_t (*zeros)(const cgx_float32 *values, size_t count, bool is_sum);

    /* History scaling: these divide ELEMENTS, which may be VALUES, by their scales, or multiply
     * VALUES. */
    void (*divide)(const uint8_t *scales, const cgx_float32 *elements, size_t count, float *values);
    void (*multiply)(const uint8_t *scales, size_t count, cgx_float32 *values);

    /* Updates SCALES by the sums RESULTS. INDEX is the number of the first element in the buffer.
     */
    void (*learn)(struct cgx_history_lesson lesson, const cgx_float32 *results, uint32_t key,
                  size_t index, size_t count, uint8_t *scales);

    struct cgx_host_range (*range)(const cgx_float32 *values, size_t count);

    void (*encode)(const cgx_float32 *values, size_t count, struct cgx_grid grid, unsigned bits,
                   unsigned char *const codes[CGX_PLANES]);

    /* Writes the levels u * (code + z) to VALUES, or adds them if ADD. */
    void (*decode)(const unsigned char *const codes[CGX_PLANES], size_t count, unsigned bits,
                   float u, int32_t z, bool add, cgx_float32 *values);

    const struct cgx_uniform_kernels *uniform;
};

extern const struct cgx_uniform_kernels cgx_uniform_portable, cgx_uniform_avx2,
    cgx_uniform_avx2_shifts;

/* A set of kernels: "portable", "avx2", or "avx2-shifts" for processors whose pext and pdep are
 * slow. */
struct cgx_codec {
    const char *name;
    struct cgx_host_kernels kernels;
};

extern const struct cgx_codec cgx_host_portable, cgx_host_avx2, cgx_host_avx2_shifts;

/* The codec with the kernels of that NAME, or NULL if there are none or this processor cannot run
 * them. A NAME of NULL stands for the fastest. */
const struct cgx_codec *cgx_codec_host_named(const char *name);

#endif
