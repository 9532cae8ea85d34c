/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

/* Test data that is a pure function of (kind, seed, rank, element), so that every rank can compute
 * the exact sum of all ranks' inputs without a message. */
#ifndef TESTS_MPI_LIB_DATA_H
#define TESTS_MPI_LIB_DATA_H

#include <stddef.h>
#include <stdint.h>

#include "elements.h"

enum data_kind {
    DATA_GAUSSIAN,
    DATA_HEAVY,    /* heavy-tailed: most values far below the bucket's largest */
    DATA_SPARSE,   /* one element in 64 is not zero */
    DATA_OFFSET,   /* 100 plus a little: the range does not include zero */
    DATA_SCALES,   /* the magnitude changes from bucket to bucket and from rank to rank */
    DATA_CONSTANT, /* one value for each rank */
    DATA_ONES,
    DATA_ZEROS,
    DATA_TINY, /* around the smallest numbers of the type, subnormal ones included */
    DATA_HUGE, /* 1e30, or for float16 thousands */
    DATA_TAME_KINDS,
    DATA_NONFINITE = DATA_TAME_KINDS, /* a NaN or an infinity here and there */
    DATA_LIMIT, /* here and there all ranks come near the largest number, or their sum exceeds it */
    DATA_KINDS
};

const char *data_name(enum data_kind kind);

/* A uniform 64-bit hash of its arguments. */
uint64_t data_random(uint64_t seed, uint64_t stream, uint64_t index);

/* Representable in TYPE. */
double data_value(enum data_kind kind, enum element type, uint64_t seed, int rank, size_t index);

/* Those of elements FIRST to FIRST + COUNT - 1. */
void data_values(enum data_kind kind, enum element type, uint64_t seed, int rank, size_t first,
                 size_t count, double *values);

/* Elements 0 to COUNT - 1 of RANK's input; BUFFER may be misaligned. */
void data_fill(enum data_kind kind, enum element type, uint64_t seed, int rank, size_t count,
               void *buffer);

#endif
