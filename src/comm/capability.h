/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

/* How this rank can serve a call. */
#ifndef CGX_COMM_CAPABILITY_H
#define CGX_COMM_CAPABILITY_H

#include "codec/format.h"
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

/* ---- elements of the caller's buffers, copied to the host ---- */

/* COUNT elements: the first, and every STRIDE-th from there. */
struct cgx_input_sample {
    size_t stride, count;
};

/* A sample of at most MOST of the ELEMENTS of a buffer, spread over it at an odd distance so that
 * columns of a matrix do not alias. */
struct cgx_input_sample cgx_input_spread(size_t elements, size_t most);

/* Copies the elements SAMPLE of BUFFER, which is at WHERE, converted from DTYPE to float32. Device
 * memory is read after all earlier work of the legacy default stream and of streams that
 * synchronise with it. False: they cannot be read. */
bool cgx_input_gather(const struct cgx_pointer *where, const void *buffer, enum cgx_dtype dtype,
                      const struct cgx_input_sample *sample, float *values);

#endif
