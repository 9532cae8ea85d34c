/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

/* How this rank would serve a call. */
#ifndef CGX_COMM_OFFER_H
#define CGX_COMM_OFFER_H

#include "comm/state.h"
#include "cuda/memory.h"

struct cgx_offer {
    enum cgx_reason refusal; /* why it cannot be compressed here */
    enum cgx_dtype dtype;
    /* Where the input and the output are; the same buffer, if IN_PLACE. */
    struct cgx_pointer send, receive;
    bool in_place;
    struct cgx_backend *encoder, *decoder; /* of these, once they were got */
};

/* Gets the backends of the buffers, unless there is a refusal; it may become one. The scratch
 * memory has been reserved. */
void cgx_offer_get_backends(struct cgx_comm *state, struct cgx_offer *offer);

/* The one that does all, or NULL. */
struct cgx_backend *cgx_offer_backend(const struct cgx_offer *offer);

#endif
