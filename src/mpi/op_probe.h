/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

/* Finds what an op's function does by calling it. */
#ifndef CGX_MPI_OP_PROBE_H
#define CGX_MPI_OP_PROBE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "mpi/table.h"

enum cgx_op_class {
    CGX_OP_OTHER,    /* not a sum of halves, or never to be called */
    CGX_OP_UNTESTED, /* not yet tested */
    CGX_OP_SUM_FLOAT16,
    CGX_OP_SUM_BFLOAT16
};

struct cgx_op_source {
    cgx_mpi_function *function;
    bool commute;
    bool large;         /* it is a cgx_mpi_user_function_c */
    const void *caller; /* an address in the object that created the op */
};

/* Properties of elements that decide whether an op that sums ordinary ones sums all of them. By
 * sign (0: plus, 1: minus) the words of the greatest magnitude and of an infinity; and one NaN. 0:
 * none. */
struct cgx_op_extremes {
    uint16_t most[2], infinite[2], nan;
};

/* What an op has been tested with: by sign, the greatest magnitude of a sum, and infinity; and
 * NaN. */
struct cgx_op_reach {
    float most[2];
    bool infinite[2], nan;
};

/* Calls SOURCE's function on pairs of the COUNT WORDS, at most CGX_OP_WORDS, and on no others; they
 * are elements of the program. DATATYPE is passed on. Runs have 1, 7, 8 and 33 pairs, since
 * functions have vector paths. It is a sum if every result is the sum to within one unit in the
 * last place: it may round in any way, overflow to infinity or to the largest number, and flush
 * subnormal numbers to zero. A function that writes outside its result is no sum. CGX_OP_UNTESTED:
 * with these words, such as zeros or words of one sign, some other function would give the same;
 * then the function is not called, or is known not to sum the other half type. cgx_op_extend tests
 * infinities, NaN and larger numbers. */
#define CGX_OP_WORDS 4096
enum cgx_op_class cgx_op_try(const struct cgx_op_source *source, cgx_mpi_datatype datatype,
                             const uint16_t *words, size_t count);

/* Calls SOURCE's function, which is SUM, on what SEEN has beyond REACH, and extends REACH. False:
 * it is no sum there. The greatest words of each sign are added up to the multiple that RANKS ranks
 * may reach; NaN and infinities are added to each other and to these. The function gets only words
 * of the program and its own results. */
bool cgx_op_extend(const struct cgx_op_source *source, cgx_mpi_datatype datatype,
                   enum cgx_op_class sum, unsigned ranks, const struct cgx_op_extremes *seen,
                   struct cgx_op_reach *reach);

/* Whether SEEN is within REACH. */
bool cgx_op_reaches(enum cgx_op_class sum, unsigned ranks, const struct cgx_op_extremes *seen,
                    const struct cgx_op_reach *reach);

#endif
