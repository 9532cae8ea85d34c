/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

/* What a function does, found by calling it. */
#ifndef CGX_MPI_OP_PROBE_H
#define CGX_MPI_OP_PROBE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "mpi/table.h"

enum cgx_op_class {
    CGX_OP_OTHER,  /* not a sum of halves, or never to be called */
    CGX_OP_UNTOLD, /* to be found out */
    CGX_OP_SUM_FLOAT16,
    CGX_OP_SUM_BFLOAT16
};

struct cgx_op_source {
    cgx_mpi_function *function;
    bool commute;
    bool large;         /* a cgx_mpi_user_function_c */
    const void *caller; /* an address within the object that created the op */
};

/* What elements have that decides whether an op that sums ordinary ones sums all of them. By sign
 * (0: none, 1: minus) the words of the greatest magnitude and of an infinity; and one NaN. 0: there
 * is none. */
struct cgx_op_extremes {
    uint16_t most[2], infinite[2], nan;
};

/* How far an op has been asked: by sign, the greatest magnitude of a sum, and infinity; and NaN. */
struct cgx_op_reach {
    float most[2];
    bool infinite[2], nan;
};

/* Calls SOURCE's function on pairs of the COUNT WORDS, at most CGX_OP_WORDS, which are elements of
 * the program's, and on no other words: DATATYPE is what it is told of their type. Runs have 1, 7,
 * 8 and 33 pairs, since functions have vector paths. It is a sum if every result is the sum to
 * within one unit in the last place: it may round as it likes, overflow to infinity or to the
 * largest number, and take subnormal numbers for zeros. A function that writes outside its result
 * is none. CGX_OP_UNTOLD: some other function would do the same with these words, as with zeros, or
 * with words of one sign; then it is not called, or is no sum of the other halves. What a sum does
 * with infinities, NaN and larger numbers than these is for cgx_op_extend. */
#define CGX_OP_WORDS 4096
enum cgx_op_class cgx_op_try(const struct cgx_op_source *source, cgx_mpi_datatype datatype,
                             const uint16_t *words, size_t count);

/* Calls SOURCE's function, which is SUM, on what SEEN has beyond REACH, and widens REACH by it.
 * False: it is no sum there. The greatest words of either sign are added up to the multiple that
 * RANKS ranks may have; NaN and infinities are added to each other and to these. The function meets
 * words of the program and its own results alone. */
bool cgx_op_extend(const struct cgx_op_source *source, cgx_mpi_datatype datatype,
                   enum cgx_op_class sum, unsigned ranks, const struct cgx_op_extremes *seen,
                   struct cgx_op_reach *reach);

/* Whether SEEN has nothing beyond REACH. */
bool cgx_op_reaches(enum cgx_op_class sum, unsigned ranks, const struct cgx_op_extremes *seen,
                    const struct cgx_op_reach *reach);

#endif
