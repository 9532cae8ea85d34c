/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

/* A program that links this is an MPI library itself: it exports entry points that do nothing, and
 * says what it is told of itself. */
#ifndef CGX_TESTS_FAKE_MPI_H
#define CGX_TESTS_FAKE_MPI_H

#define FAKE_MPICH "MPICH Version:\t4.0.2\nMPICH Release date:\tThu Apr  7 12:34:45 CDT 2022\n"

/* What MPI_Get_library_version gives, FAKE_MPICH at first; and the major version of the standard's
 * ABI, -1 at first: it is not that. */
extern const char *fake_mpi_text;
extern int fake_mpi_standard;

#endif
