/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

/* A few elements of a sum or an input, which looks judge it by (look.h). */
#ifndef CGX_POLICY_SAMPLE_H
#define CGX_POLICY_SAMPLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "codec/backend.h"

#define CGX_LOOK_PLACES 256
#define CGX_LOOK_SUM_RUN 16  /* the most neighbours read at a place of a sum */
#define CGX_LOOK_INPUT_RUN 4 /* the most neighbours read at a place of an input */

/* RUN elements from each place on; places follow each other. */
struct cgx_sample {
    size_t run;
    float values[CGX_LOOK_PLACES * CGX_LOOK_SUM_RUN]; /* RUN values of each place */
};

/* The number of elements read at each place of COUNT elements, at least 1024: even, and at most
 * MOST. */
size_t cgx_sample_run(size_t count, size_t most);

/* The elements from the begin of one place to the next: even, at least any run, and no power of two
 * if COUNT is one, so that rows of such matrices do not alias. */
size_t cgx_sample_stride(size_t count);

/* The elements that a sample of COUNT elements of DTYPE from AT on reads, at most MOST at each
 * place. */
struct cgx_strided cgx_sample_runs(const void *at, size_t count, enum cgx_dtype dtype, size_t most);

/* The mean square of the sample; 0, infinite or NaN if the sample is not worth keeping. */
double cgx_sample_size(const struct cgx_sample *sample);

/* ---- sketches ---- */

#define CGX_SKETCH_BYTES (CGX_LOOK_PLACES / 8)

/* Two bits for each place: whether the first element there is positive, and whether it is not zero.
 * A zero has the lowest bit of the place's number for a sign, which agrees with other ranks' by
 * chance alone. */
struct cgx_sketch {
    unsigned char signs[CGX_SKETCH_BYTES], nonzero[CGX_SKETCH_BYTES];
};

struct cgx_sketch cgx_sketch_of(const struct cgx_sample *sample);

/* The sketch of zeros, or of data that was not looked at. */
struct cgx_sketch cgx_sketch_empty(void);

/* Whether OTHER has the signs of OWN in 97.5 % of the places that are not zero in OWN, and these
 * are at least 32. */
bool cgx_sketch_agrees(const struct cgx_sketch *own, const unsigned char other[CGX_SKETCH_BYTES]);

/* Whether OTHER has zeros, as far as signs show, in all those places, if they are at least 32. */
bool cgx_sketch_is_alone(const struct cgx_sketch *own, const unsigned char other[CGX_SKETCH_BYTES]);

#endif
