/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

/* Moves messages between ranks, all at once. On the wire a message is cut into fragments, a few of
 * them under way at a time, and waiting yields and, where ranks share processors, then sleeps. With
 * fragments below the MPI library's eager limit this comes within 1.1 times the wire's limit on
 * slow links, where whole messages and MPI_Waitall take twice as long. Ranks of a node may share
 * memory instead (shm.h). Every wait polls MPI, so that the caller's own requests move on, and from
 * time to time looks whether the program has revoked its communicator. */
#ifndef CGX_COLL_EXCHANGE_H
#define CGX_COLL_EXCHANGE_H

#include "coll/transfer.h"
#include "util/status.h"

/* Request slots for exchanges of up to a number of transfers, one exchange at a time; opaque. */
struct cgx_exchange;
struct cgx_exchange *cgx_exchange_create(size_t transfers); /* NULL if memory is short */
void cgx_exchange_free(struct cgx_exchange *exchange);

/* Begins to complete the TRANSFERS, which must stay until they are. Two messages from one rank to
 * another must be in different exchanges. CGX_ERR_MPI, here and below: requests may still be under
 * way, so neither EXCHANGE nor the messages may ever be freed or used again. */
enum cgx_status cgx_exchange_begin(struct cgx_exchange *exchange,
                                   const struct cgx_transports *transports,
                                   struct cgx_transfer *transfers, size_t ntransfers);

/* Moves on what can be moved; *COMPLETE: all transfers are. */
enum cgx_status cgx_exchange_poll(struct cgx_exchange *exchange, bool *complete);

/* MPI's code where either has returned CGX_ERR_MPI. */
int cgx_exchange_code(const struct cgx_exchange *exchange);

/* Between polls of a caller that has nothing else to do: gives the processor away, or sleeps, when
 * nothing has come for a while. */
void cgx_exchange_rest(const struct cgx_exchange *exchange);

#endif
