/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

/* Moves all messages of an exchange at once. MPI messages are cut into fragments, a few of which
 * are under way at a time. Waiting yields the processor, and also sleeps if ranks share processors.
 * With fragments below the MPI library's eager limit this reaches 1.1 times the wire limit on slow
 * links; whole messages with MPI_Waitall take twice as long. Ranks of a node may share memory
 * instead (shm.h). Every wait polls MPI, so that the caller's own requests progress, and checks now
 * and then whether the program has revoked its communicator. */
#ifndef CGX_COLL_EXCHANGE_H
#define CGX_COLL_EXCHANGE_H

#include "coll/transfer.h"
#include "util/status.h"

/* Request slots for one exchange at a time, of a limited number of transfers; opaque. */
struct cgx_exchange;
struct cgx_exchange *cgx_exchange_create(size_t transfers); /* NULL if memory is short */
void cgx_exchange_free(struct cgx_exchange *exchange);

/* Begins TRANSFERS, which must stay in place until complete. Two messages from one rank to another
 * must be in different exchanges. CGX_ERR_MPI, here and below: requests may still be active, so
 * EXCHANGE and the messages must never be freed or reused. */
enum cgx_status cgx_exchange_begin(struct cgx_exchange *exchange,
                                   const struct cgx_transports *transports,
                                   struct cgx_transfer *transfers, size_t ntransfers);

/* Progresses the exchange; *COMPLETE: all transfers are complete. */
enum cgx_status cgx_exchange_poll(struct cgx_exchange *exchange, bool *complete);

/* MPI's error code after CGX_ERR_MPI. */
int cgx_exchange_code(const struct cgx_exchange *exchange);

/* To be called between polls by a caller with nothing else to do: yields the processor, or sleeps,
 * if nothing has arrived for a while, and warns of a stall (mpi/stall.h). */
void cgx_exchange_rest(struct cgx_exchange *exchange);

#endif
