/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

/* How this rank would serve a call. */
#ifndef CGX_COMM_OFFER_H
#define CGX_COMM_OFFER_H

#include "comm/state.h"
#include "cuda/memory.h"

struct cgx_offer {
    enum cgx_reason refusal; /* why it cannot be compressed here */
    enum cgx_dtype dtype;    /* CGX_FLOAT16 as long as there is an op to ask */
    /* Where the input and the output are; the same buffer, if IN_PLACE. */
    struct cgx_pointer send, receive;
    bool in_place;
    const void *input; /* COUNT elements */
    size_t count;
    /* What tells the type of the elements, once all else is right; NULL: it is known. */
    cgx_mpi_op op;
    cgx_mpi_datatype datatype;             /* that OP is told of */
    struct cgx_backend *encoder, *decoder; /* of these, once they were got */
};

/* Gets the backends of the buffers, unless there is a refusal; it may become one. The scratch
 * memory has been reserved. */
void cgx_offer_get_backends(struct cgx_comm *state, struct cgx_offer *offer);

/* Finds out the type of elements that only the program's op knows, unless there is a refusal; it
 * may become one. The op is called with elements of the input (mpi/ops.h): last, when nothing else
 * speaks against the call. */
void cgx_offer_ask_op(struct cgx_offer *offer);

/* The one that does all, or NULL. */
struct cgx_backend *cgx_offer_backend(const struct cgx_offer *offer);

#endif
