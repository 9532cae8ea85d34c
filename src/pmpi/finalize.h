/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

/* What the library does where the program ends: in MPI_Finalize it says and writes what was done;
 * where the process exits without, it writes the statistics of this rank. */
#ifndef CGX_PMPI_FINALIZE_H
#define CGX_PMPI_FINALIZE_H

/* In every intercepted all-reduce: the first one after MPI_Init reads the settings, whose mistakes
 * are logged, and has MPI_Finalize do its part. */
void cgx_finalize_prepare(void);

/* In MPI_Abort, before that of MPI: writes the statistics of this rank. */
void cgx_finalize_abort(void);

#endif
