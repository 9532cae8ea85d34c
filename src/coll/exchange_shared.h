/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

/* The transfers of an exchange that go through shared memory (shm.h). */
#ifndef CGX_COLL_EXCHANGE_SHARED_H
#define CGX_COLL_EXCHANGE_SHARED_H

#include "coll/transfer.h"

/* Marks the transfers that go through shared memory as pending and offers messages to be sent. */
void cgx_exchange_begin_shared(const struct cgx_transports *transports,
                               struct cgx_transfer *transfers, size_t ntransfers);

/* Advances the transfers that can advance and returns their number; *LEFT: those still pending. */
size_t cgx_exchange_advance_shared(const struct cgx_transports *transports,
                                   struct cgx_transfer *transfers, size_t ntransfers, size_t *left);

#endif
