/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

/* How this rank would serve a call. */
#ifndef CGX_COMM_CAPABILITY_H
#define CGX_COMM_CAPABILITY_H

#include "codec/format.h"
#include "comm/state.h"
#include "cuda/memory.h"
#include "policy/widths/families.h"

struct cgx_capability {
    enum cgx_reason refusal; /* why it cannot be compressed here */
    enum cgx_dtype dtype;    /* CGX_FLOAT16 as long as only an op can tell */
    /* Where the input and the output are; the same buffer, if IN_PLACE. */
    struct cgx_pointer send, receive;
    bool in_place;
    const void *input; /* COUNT elements */
    size_t count;
    /* The program's own op, to be asked once all else is right; NULL: there is none, or it was. */
    cgx_mpi_op op;
    cgx_mpi_datatype datatype;             /* that OP is told of */
    struct cgx_backend *encoder, *decoder; /* of these, once they were got */
};

/* Gets the backends of the buffers, unless there is a refusal; it may become one. The scratch
 * memory has been reserved. */
void cgx_capability_get_backends(struct cgx_comm *state, const struct cgx_plan *plan,
                                 struct cgx_capability *capability);

/* Finds out whether the program's own op sums the call's elements of RANKS ranks, and their type,
 * unless there is a refusal; it may become one. All of the input is read. The op is called with
 * elements of it (mpi/ops.h): last, when nothing else speaks against the call. */
void cgx_capability_ask_op(struct cgx_capability *capability, unsigned ranks);

/* The one that does all, or NULL. */
struct cgx_backend *cgx_capability_backend(const struct cgx_capability *capability);

/* ---- elements of the caller's buffers, wherever they lie, on the host ---- */

/* Copies the elements SAMPLE of BUFFER, SIZE bytes each, of which the driver says WHERE. Device
 * memory is read after all earlier work of the legacy default stream and of the streams that it
 * synchronises with. False: they cannot be had. */
bool cgx_input_copy(const struct cgx_pointer *where, const void *buffer, size_t size,
                    const struct cgx_input_sample *sample, void *elements);

/* Sets VALUES to the elements SAMPLE of BUFFER, of DTYPE, in the same way. */
bool cgx_input_gather(const struct cgx_pointer *where, const void *buffer, enum cgx_dtype dtype,
                      const struct cgx_input_sample *sample, float *values);

#endif
