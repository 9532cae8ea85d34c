/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

#include "pmpi/exact.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "codec/quant.h"
#include "mpi/config.h"
#include "mpi/world.h"
#include "observe/totals.h"
#include "pmpi/bounce.h"
#include "pmpi/eligible.h"
#include "util/log.h"
#include "util/trace.h"

static size_t element_bytes(const struct cgx_call *call)
{
    int bytes = 0;

    if (call->type != CGX_TYPE_OTHER)
        return call->type == CGX_TYPE_FLOAT32 ? 4 : 2;
    /* Before MPI_Init, an MPI that serves calls may not answer this query. */
    if (cgx_world_rank() < 0 || cgx_mpi()->Type_size(call->datatype, &bytes) != CGX_MPI_SUCCESS)
        return 0;
    return bytes > 0 ? (size_t)bytes : 0;
}

/* Whether CALL is large enough to be compressed; sums of doubles count as well. */
static bool is_large(const struct cgx_call *call)
{
    bool floats = call->type != CGX_TYPE_OTHER ||
                  (call->datatype == cgx_mpi()->DOUBLE && call->op == cgx_mpi()->SUM);

    return floats && call->count >= CGX_ELIGIBLE_LEAST &&
           (uint64_t)call->count >= cgx_config()->minimal_size;
}

/* Counts a call that MPI has served, so that its arguments are valid. */
static void note(const struct cgx_call *call, enum cgx_reason reason, bool large, int64_t begun)
{
    const struct cgx_exact_sum sum = {.elements = (uint64_t)call->count,
                                      .type = call->type,
                                      .reason = reason,
                                      .position = call->position,
                                      .calls = 1,
                                      .nanoseconds =
                                          large ? cgx_trace_clock_since(begun) - begun : 0};
    int ranks = 0;

    cgx_totals_exact(&sum, (size_t)call->count * element_bytes(call), large);
    if (cgx_log_level() < CGX_LOG_DEBUG)
        return;
    cgx_mpi()->Comm_size(call->comm, &ranks);
    cgx_reason_log(reason, (uint64_t)call->count, (uintptr_t)call->datatype, (uintptr_t)call->op,
                   ranks);
}

/* ---- half-precision sums ---- */

/* Exact half-precision sums for an MPI library whose own sums abort: MPICH 4.0 passes
 * MPIX_C_FLOAT16 to a datatype engine without arithmetic for it ("actual_pack_bytes ==
 * data_sz"). 3.4 has other code; 4.1 asks that engine only if it was built for GPUs. */

/* Depends on version, type and op, so it is the same on all ranks. */
static bool needs_half_sum(const struct cgx_call *call)
{
    return call->type == CGX_TYPE_FLOAT16 && call->op == cgx_mpi()->SUM &&
           cgx_mpi()->version[0] == 4 && cgx_mpi()->version[1] == 0;
}

/* The caller's elements may be misaligned. */
static void widen(const char *from, float *to, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        uint16_t word;

        memcpy(&word, from + i * sizeof word, sizeof word);
        to[i] = cgx_from_float16(word);
    }
}

static void narrow(const float *from, char *to, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        uint16_t word = cgx_to_float16(from[i]);

        memcpy(to + i * sizeof word, &word, sizeof word);
    }
}

/* Whether the elements may be read. The MPI library checks the same before it touches a buffer. */
static bool has_elements(const struct cgx_call *call)
{
    return call->count > 0 && call->sendbuf && call->recvbuf && call->sendbuf != call->recvbuf &&
           call->recvbuf != cgx_mpi()->IN_PLACE && call->comm != cgx_mpi()->COMM_NULL;
}

/* Serves CALL, a sum of float16 in host memory, as a sum of float32 copies; each result is rounded
 * to nearest once. Returns what PMPI_Allreduce returns; after an error nothing is written.
 * Arguments that the MPI library refuses, and calls for which memory is short, are passed to it
 * unchanged. */
static int half_sum(const struct cgx_call *call)
{
    size_t count = (size_t)call->count;
    bool in_place = call->sendbuf == cgx_mpi()->IN_PLACE;
    float *sum = NULL, *input = NULL;
    struct cgx_call wide = *call;
    int error;

    if (has_elements(call)) {
        sum = calloc(count, sizeof *sum);
        /* An intercommunicator has no MPI_IN_PLACE, so the copy has as many buffers as the call. */
        input = in_place ? sum : calloc(count, sizeof *input);
    }
    if (!sum || !input) {
        error = cgx_call_reduce(call);
        goto free_copies;
    }
    widen(cgx_call_input(call), input, count);
    wide.sendbuf = in_place ? call->sendbuf : input;
    wide.recvbuf = sum;
    wide.datatype = cgx_mpi()->FLOAT;
    error = cgx_call_reduce(&wide);
    if (error == CGX_MPI_SUCCESS)
        narrow(sum, call->recvbuf, count);
free_copies:
    if (input != sum)
        free(input);
    free(sum);
    return error;
}

/* ---- the call ---- */

/* Serves CALL, through copies on the host if the MPI needs them. */
static int serve(const struct cgx_call *call)
{
    bool halves = needs_half_sum(call);

    if (cgx_bounce_needed(call, halves))
        return cgx_bounce(call, halves ? half_sum : cgx_call_reduce);
    return halves ? half_sum(call) : cgx_call_reduce(call);
}

int cgx_exact(const struct cgx_call *call, enum cgx_reason reason)
{
    bool large = is_large(call);
    int64_t begun = large ? cgx_trace_clock() : 0;
    int code = serve(call);

    if (code == CGX_MPI_SUCCESS)
        note(call, reason, large, begun);
    return code;
}
