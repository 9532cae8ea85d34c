/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

#include "pmpi/call.h"

#include <stdlib.h>
#include <string.h>

#include "codec/quant.h"
#include "mpi/config.h"
#include "pmpi/request.h"
#include "util/trace.h"

/* Whether REQUEST is large enough to be compressed; sums of doubles count as well. */
static bool is_large(const struct cgx_request *request)
{
    bool floats = request->type != CGX_TYPE_OTHER ||
                  (request->datatype == cgx_mpi()->DOUBLE && request->op == cgx_mpi()->SUM);

    return floats && request->count >= CGX_REQUEST_LEAST &&
           (uint64_t)request->count >= cgx_config()->minimal_size;
}

int cgx_exact_reduce(const struct cgx_request *request)
{
    const struct cgx_mpi *mpi = cgx_mpi();

    if (request->large)
        return mpi->Allreduce_c(request->sendbuf, request->recvbuf, request->count,
                                request->datatype, request->op, request->comm);
    return mpi->Allreduce(request->sendbuf, request->recvbuf, (int)request->count,
                          request->datatype, request->op, request->comm);
}

/* ---- half-precision sums ---- */

/* Exact half-precision sums for an MPI library whose own sums abort: MPICH 4.0 passes
 * MPIX_C_FLOAT16 to a datatype engine without arithmetic for it ("actual_pack_bytes ==
 * data_sz"). 3.4 has other code; 4.1 asks that engine only if it was built for GPUs. */

/* Depends on version, type and op, so it is the same on all ranks. */
static bool needs_half_sum(const struct cgx_request *request)
{
    return request->type == CGX_TYPE_FLOAT16 && request->op == cgx_mpi()->SUM &&
           cgx_mpi()->version[0] == 4 && cgx_mpi()->version[1] == 0;
}

/* The caller's elements may be misaligned. */
static void widen_elements(const char *from, float *to, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        uint16_t word;

        memcpy(&word, from + i * sizeof word, sizeof word);
        to[i] = cgx_from_float16(word);
    }
}

static void narrow_elements(const float *from, char *to, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        uint16_t word = cgx_to_float16(from[i]);

        memcpy(to + i * sizeof word, &word, sizeof word);
    }
}

/* Whether the elements may be read. The MPI library checks the same before it touches a buffer. */
static bool has_elements(const struct cgx_request *request)
{
    return request->count > 0 && request->sendbuf && request->recvbuf &&
           request->sendbuf != request->recvbuf && request->recvbuf != cgx_mpi()->IN_PLACE &&
           request->comm != cgx_mpi()->COMM_NULL;
}

/* Serves REQUEST, a sum of float16 in host memory, as a sum of float32 copies; each result is
 * rounded to nearest once. Returns what PMPI_Allreduce returns; after an error nothing is written.
 * Arguments that the MPI library refuses, and calls for which memory is short, are passed to it
 * unchanged. */
static int half_sum(const struct cgx_request *request)
{
    size_t count = (size_t)request->count;
    bool in_place = request->in_place;
    float *sum = NULL, *input = NULL;
    struct cgx_request wide = *request;
    int error;

    if (has_elements(request)) {
        sum = calloc(count, sizeof *sum);
        /* An intercommunicator has no MPI_IN_PLACE, so the copy has as many buffers as the call. */
        input = in_place ? sum : calloc(count, sizeof *input);
    }
    if (sum && input) {
        widen_elements(cgx_request_input(request), input, count);
        wide.sendbuf = in_place ? request->sendbuf : input;
        wide.recvbuf = sum;
        wide.datatype = cgx_mpi()->FLOAT;
    }
    error = cgx_exact_reduce(&wide);
    if (sum && input && error == CGX_MPI_SUCCESS)
        narrow_elements(sum, request->recvbuf, count);
    if (input != sum)
        free(input);
    free(sum);
    return error;
}

/* ---- the call ---- */

static int sum_exactly(const struct cgx_request *request)
{
    bool halves = needs_half_sum(request);

    if (cgx_bounce_needed(request, halves))
        return cgx_bounce(request, halves ? half_sum : cgx_exact_reduce);
    return halves ? half_sum(request) : cgx_exact_reduce(request);
}

int cgx_exact(struct cgx_record *record, enum cgx_reason reason)
{
    int code;

    record->reason = reason;
    record->large = is_large(record->request);
    record->exact.begun = record->large ? cgx_trace_clock() : cgx_trace_now();
    code = sum_exactly(record->request);
    if (record->exact.begun != 0)
        record->exact.ended = cgx_trace_clock_since(record->exact.begun);
    return code;
}
