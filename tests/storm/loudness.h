/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

/* The largest step that uniform quantisation may have for a sum, as far as the data of all sums of
 * a communicator tells: no step is larger than that for the loudest call before, or than that of
 * the loudest 1024 elements of the call itself. */
#ifndef TESTS_STORM_LOUDNESS_H
#define TESTS_STORM_LOUDNESS_H

#include "mpi/lib/oracle.h"

/* SUM, of which this rank of COMM looks at a share. Collective. LOUDEST is the mean square of the
 * loudest sum of COMM so far, and becomes that with SUM. */
double loudness_step(const struct oracle *oracle, const struct placed *sum, MPI_Comm comm,
                     double *loudest);

#endif
