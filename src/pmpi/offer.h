/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

/* How this rank would serve a call. */
#ifndef CGX_PMPI_OFFER_H
#define CGX_PMPI_OFFER_H

#include "observe/reason.h"
#include "pmpi/call.h"
#include "pmpi/comm.h"

struct cgx_offer {
    enum cgx_reason refusal; /* why it cannot be compressed here */
    enum cgx_dtype dtype;
    struct cgx_backend *encoder, *decoder;
};

/* What is to be said of the call's type and buffers. */
struct cgx_offer cgx_offer_look(const struct cgx_call *call, enum cgx_type_class type);

/* Gets the backends of the call's buffers, unless there is a refusal; it may become one. */
void cgx_offer_get_backends(struct cgx_comm *state, const struct cgx_call *call,
                            struct cgx_offer *offer);

/* The one that does all, or NULL. */
struct cgx_backend *cgx_offer_backend(const struct cgx_offer *offer);

/* Where the elements that CALL puts in are. */
const void *cgx_offer_input(const struct cgx_call *call);

#endif
