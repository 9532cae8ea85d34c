/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

/* How this rank can serve a call. */
#ifndef CGX_COMM_CAPABILITY_H
#define CGX_COMM_CAPABILITY_H

#include "comm/state.h"
#include "mpi/request.h"

struct cgx_capability {
    const struct cgx_request *request;
    enum cgx_reason refusal;     /* why it cannot compress the call */
    struct cgx_backend *backend; /* of the receive buffer; NULL until obtained */
    bool shared;                 /* it is the send buffer's too */
};

/* Obtains the backend, unless there is a refusal; sets one on failure. The scratch memory must be
 * reserved. */
void cgx_capability_get_backend(struct cgx_comm *state, struct cgx_capability *capability);

/* The input elements where the backend finds them: unless both buffers are in its memory, they are
 * copied to OUTPUT, which stands for the receive buffer. Sets a refusal on failure. */
const void *cgx_capability_input(struct cgx_capability *capability, void *output);

/* Whether it can compress the call, from and to host memory. */
bool cgx_capability_is_on_host(const struct cgx_capability *capability);

#endif
