/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

#include "pmpi/half_sum.h"

#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "codec/quant.h"

bool cgx_half_sum_needed(const struct cgx_call *call)
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

/* Whether the elements may be read: the MPI library looks at these before it touches a buffer. */
static bool has_elements(const struct cgx_call *call)
{
    return call->count > 0 && call->sendbuf && call->recvbuf && call->sendbuf != call->recvbuf &&
           call->recvbuf != cgx_mpi()->IN_PLACE && call->comm != cgx_mpi()->COMM_NULL;
}

int cgx_half_sum(const struct cgx_call *call)
{
    size_t count = (size_t)call->count;
    bool in_place = call->sendbuf == cgx_mpi()->IN_PLACE;
    float *sum = NULL, *input = NULL;
    struct cgx_call wide = *call;
    int error;

    if (has_elements(call)) {
        sum = calloc(count, sizeof *sum);
        /* An intercommunicator has no MPI_IN_PLACE: as many buffers as the caller has. */
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
