/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

/* Elements of the caller's buffers, wherever they lie, on the host. */
#ifndef CGX_COMM_INPUT_H
#define CGX_COMM_INPUT_H

#include "codec/format.h"
#include "cuda/memory.h"
#include "policy/widths/families.h"

/* Copies the elements SAMPLE of BUFFER, SIZE bytes each, of which the driver says WHERE. Device
 * memory is read after all earlier work of the legacy default stream and of the streams that it
 * synchronises with. False: they cannot be had. */
bool cgx_input_copy(const struct cgx_pointer *where, const void *buffer, size_t size,
                    const struct cgx_input_sample *sample, void *elements);

/* Sets VALUES to the elements SAMPLE of BUFFER, of DTYPE, in the same way. */
bool cgx_input_gather(const struct cgx_pointer *where, const void *buffer, enum cgx_dtype dtype,
                      const struct cgx_input_sample *sample, float *values);

#endif
