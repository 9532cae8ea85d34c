/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

/* Collective calls that the library makes of its own. The program defines PMPI_Allreduce,
 * as it does PMPI_Isend in traffic.h. */
#ifndef TESTS_MPI_LIB_COLLECTIVES_H
#define TESTS_MPI_LIB_COLLECTIVES_H

#include <stdint.h>

/* Entered by the calling thread so far, the program's own calls by these names included. */
uint64_t collectives_entered(void);

#endif
