/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

/* The library's work at the program's end: MPI_Finalize logs and writes what was done; if the
 * process exits without it, this rank's statistics are written. */
#ifndef CGX_PMPI_FINALIZE_H
#define CGX_PMPI_FINALIZE_H

/* Called in every intercepted all-reduce: the first one after MPI_Init reads the settings, logs
 * their mistakes, and registers with MPI_Finalize. */
void cgx_finalize_prepare(void);

/* Called before MPI_Abort: writes this rank's statistics. */
void cgx_finalize_abort(void);

#endif
