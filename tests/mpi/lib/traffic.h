/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

/* What the library really sends. The program defines PMPI_Isend, which the library finds first
 * since it looks the MPI up through its caller's object (link with -rdynamic). */
#ifndef TESTS_MPI_LIB_TRAFFIC_H
#define TESTS_MPI_LIB_TRAFFIC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Payload bytes handed to PMPI_Isend by this process so far; 0 growth across a call means that it
 * was exact. Thread-safe. */
uint64_t traffic_bytes(void);

/* Messages likewise. */
uint64_t traffic_messages(void);

/* Bytes of the longest message so far. */
uint64_t traffic_longest(void);

/* Is called with each message, if it is not NULL. */
extern void (*traffic_look)(const unsigned char *message, size_t bytes);

/* Whether MPI moves all messages, as CGX_INNER_COMMUNICATOR_TYPE says. */
bool traffic_has_all(void);

#endif
