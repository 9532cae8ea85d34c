/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

/* What the program asks for, and which calls may be compressed. What follows from counts, types and
 * ops is the same on all ranks. What follows from buffers is this rank's, and ranks must agree on
 * it. */
#ifndef CGX_PMPI_REQUEST_H
#define CGX_PMPI_REQUEST_H

#include "comm/connect.h"
#include "mpi/request.h"
#include "observe/reason.h"

/* Calls of more elements are always exact. No memory holds more, and computations with counts
 * cannot overflow. */
#define CGX_REQUEST_MOST ((cgx_mpi_count)1 << 48)

/* Completes REQUEST, which has the caller's arguments and is const from then on. Asks the driver
 * once about each distinct buffer, never if the call has no data. */
void cgx_request_complete(struct cgx_request *request);

/* CGX_REASON_NONE if some setting could compress the call: a float sum, or a user op on a two-byte
 * type that may be one, of CGX_REQUEST_LEAST to _MOST elements. */
enum cgx_reason cgx_request_refusal(const struct cgx_request *request);

/* CGX_REASON_HOST_MEMORY or _DEVICE_MEMORY if CGX_BUFFERS excludes the memory of a buffer of the
 * call, otherwise CGX_REASON_NONE. Does not query the driver. */
enum cgx_reason cgx_request_memory(const struct cgx_request *request);

/* This rank's capability for the call by its buffers and type. */
struct cgx_capability cgx_request_capability(const struct cgx_request *request);

#endif
