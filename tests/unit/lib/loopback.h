/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

/* Ranks that are threads of this process, and as much of MPI between them as src/coll needs: Isend,
 * Irecv, Testsome (which waits), Get_count and an Iprobe that finds nothing, of bytes. */
#ifndef CGX_TESTS_LOOPBACK_H
#define CGX_TESTS_LOOPBACK_H

#include "coll/exchange.h"

/* The table of these functions. Communicators and tags are ignored: messages between two ranks are
 * taken in the order in which they were sent. */
extern const struct cgx_mpi loopback_mpi;

/* Calls BODY as each of RANKS ranks and returns when all have returned. Aborts if memory or threads
 * are short, or if messages are left over. */
void loopback_run(unsigned ranks, void (*body)(void *context, unsigned rank), void *context);

/* Begins an exchange and polls until it is complete. */
enum cgx_status loopback_exchange(struct cgx_exchange *exchange,
                                  const struct cgx_transports *transports,
                                  struct cgx_transfer *transfers, size_t ntransfers);

#endif
