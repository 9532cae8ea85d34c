/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

/* The first agreement between the ranks of a communicator, which every version of the library
 * understands. All others are ballots (comm/ballot.h). */
#ifndef CGX_COMM_AGREEMENT_H
#define CGX_COMM_AGREEMENT_H

#include <stdbool.h>
#include <stdint.h>

#include "mpi/table.h"

/* What ranks compare, besides version and settings. */
struct cgx_agreement {
    uint32_t hints; /* hash of the program's hints for the communicator */
    uint32_t name;  /* hash of its name, if rules use names */
    bool ready;     /* this rank has all memory that it needs */
};

/* Compares version, message format, settings and hints in the first call on COMM that some setting
 * could compress, and in the first after a hint. *EQUAL: all ranks have the same and are ready.
 * *FINAL: they differ in more than hints, so comparing again is useless. If they differ, rank 0 of
 * COMM names the variables. After an error *EQUAL is false. A rank without this library takes part
 * with its own program's all-reduce: this is an error if MPI or the results show it; if MPI waits
 * for ever, so does this function. Returns MPI's code. */
int cgx_agree_settings(cgx_mpi_comm comm, const struct cgx_agreement *agreement, bool *equal,
                       bool *final);

#endif
