/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

#include "coll/exchange.h"

#include "coll/shm.h"

bool cgx_exchange_shares(const struct cgx_transports *transports, int peer)
{
    return transports->shm && cgx_shm_reaches(transports->shm, (unsigned)peer);
}

void cgx_exchange_post_shared(const struct cgx_transports *transports,
                              struct cgx_transfer *transfers, size_t ntransfers)
{
    for (size_t t = 0; t < ntransfers; t++) {
        struct cgx_transfer *transfer = &transfers[t];

        transfer->pulled = false;
        transfer->pending = cgx_exchange_shares(transports, transfer->peer);
        if (transfer->pending && transfer->direction == CGX_TRANSFER_SEND)
            cgx_shm_send(transports->shm, (unsigned)transfer->peer, transfer->data,
                         transfer->filled);
    }
}

/* Takes the message, or begins to, if it is ready; returns whether it was ready. Bytes beyond the
 * expected size are dropped. */
static bool receive_shared(const struct cgx_transports *transports, struct cgx_transfer *transfer)
{
    const struct cgx_taker *taker = &transports->taker;
    struct cgx_shm_message message;

    if (transfer->pulled || !cgx_shm_peek(transports->shm, (unsigned)transfer->peer, &message))
        return false;
    transfer->filled = message.bytes < transfer->bytes ? message.bytes : transfer->bytes;
    transfer->pulled = !taker->take(taker->state, transfer, &message);
    transfer->pending = transfer->pulled;
    if (!transfer->pulled)
        cgx_shm_take(transports->shm, (unsigned)transfer->peer);
    return true;
}

/* Whether the peer has taken what TRANSFER sends, or has released this rank's messages if TRANSFER
 * is a release. */
static bool is_acknowledged(const struct cgx_shm *shm, const struct cgx_transfer *transfer)
{
    return transfer->direction == CGX_TRANSFER_SEND
               ? cgx_shm_was_taken(shm, (unsigned)transfer->peer)
               : cgx_shm_was_released(shm, (unsigned)transfer->peer);
}

/* Waits until all pulls are complete and tells the senders. */
static void settle_pulled(const struct cgx_transports *transports, struct cgx_transfer *transfers,
                          size_t ntransfers)
{
    transports->taker.settle(transports->taker.state);
    for (size_t t = 0; t < ntransfers; t++) {
        if (!transfers[t].pulled)
            continue;
        cgx_shm_take(transports->shm, (unsigned)transfers[t].peer);
        transfers[t].pulled = transfers[t].pending = false;
    }
}

size_t cgx_exchange_poll_shared(const struct cgx_transports *transports,
                                struct cgx_transfer *transfers, size_t ntransfers, size_t *left)
{
    size_t done = 0, coming = 0, pulled = 0;

    *left = 0;
    for (size_t t = 0; transports->shm && t < ntransfers; t++) {
        struct cgx_transfer *transfer = &transfers[t];
        bool receives = transfer->direction == CGX_TRANSFER_RECEIVE;

        if (!transfer->pending)
            continue;
        if (receives)
            done += receive_shared(transports, transfer);
        else if (is_acknowledged(transports->shm, transfer))
            transfer->pending = false, done++;
        pulled += transfer->pulled;
        coming += receives && transfer->pending && !transfer->pulled;
        *left += transfer->pending;
    }
    if (pulled > 0 && coming == 0) {
        settle_pulled(transports, transfers, ntransfers);
        *left -= pulled;
        done += pulled;
    }
    return done;
}
