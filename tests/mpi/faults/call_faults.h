/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

/* MPI calls of the library's that fail on demand, and messages that are spoilt on their way. The
 * program defines PMPI_Allgather, PMPI_Allreduce, PMPI_Comm_split, PMPI_Irecv, PMPI_Isend and
 * PMPI_Testsome, as it does PMPI_Isend in traffic.h. */
#ifndef TESTS_MPI_FAULTS_CALL_FAULTS_H
#define TESTS_MPI_FAULTS_CALL_FAULTS_H

#include <stdbool.h>
#include <stddef.h>

/* The NTH call of CALL from here on ("allgather", "ballot", "irecv", "isend", "split" or
 * "testsome", which must outlive it) fails in this process: it does nothing and returns
 * MPI_ERR_OTHER; other ranks' split succeeds without this one, and a ballot takes place. 0: none
 * does. */
void call_faults_set(const char *call, int nth);

/* Whether the call that is to fail is still to come. */
bool call_faults_expected(void);

/* Changes a copy of BYTES bytes, which is sent in the place of the message. */
typedef void call_faults_change(unsigned char *message, size_t bytes);

/* The NTH message from here on is changed on its way, unless it has more than 64 KiB. 0: none is.
 */
void call_faults_spoil(int nth, call_faults_change *change);

#endif
