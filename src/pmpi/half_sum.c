/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

#include "pmpi/half_sum.h"

#include <limits.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "codec/quant.h"

bool cgx_half_sum_needed(const struct cgx_mpi *mpi, const struct cgx_call *call)
{
    return call->type == CGX_TYPE_FLOAT16 && call->op == mpi->SUM && mpi->version[0] == 4 &&
           mpi->version[1] == 0;
}

/* The caller's 16-bit elements may be misaligned. */
static void widen(enum cgx_type_class type, const char *from, float *to, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        uint16_t word;

        memcpy(&word, from + i * sizeof word, sizeof word);
        to[i] = type == CGX_TYPE_BFLOAT16 ? cgx_from_bfloat16(word) : cgx_from_float16(word);
    }
}

static void narrow(enum cgx_type_class type, const float *from, char *to, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        uint16_t word =
            type == CGX_TYPE_BFLOAT16 ? cgx_to_bfloat16(from[i]) : cgx_to_float16(from[i]);

        memcpy(to + i * sizeof word, &word, sizeof word);
    }
}

/* CALL with other buffers, type and op. */
static int reduce(const struct cgx_call *call, const void *sendbuf, void *recvbuf,
                  cgx_mpi_datatype datatype, cgx_mpi_op op)
{
    const struct cgx_mpi *mpi = cgx_mpi();

    if (mpi->Allreduce_c != NULL && (call->large || call->count > INT_MAX))
        return mpi->Allreduce_c(sendbuf, recvbuf, call->count, datatype, op, call->comm);
    return mpi->Allreduce(sendbuf, recvbuf, (int)call->count, datatype, op, call->comm);
}

/* Whether the elements may be read: the MPI library looks at these before it touches a buffer. */
static bool has_elements(const struct cgx_call *call)
{
    return call->count > 0 && call->sendbuf != NULL && call->recvbuf != NULL &&
           call->sendbuf != call->recvbuf && call->recvbuf != cgx_mpi()->IN_PLACE &&
           call->comm != cgx_mpi()->COMM_NULL;
}

int cgx_half_sum(const struct cgx_call *call)
{
    size_t count = (size_t)call->count;
    bool in_place = call->sendbuf == cgx_mpi()->IN_PLACE;
    float *sum = NULL, *input = NULL;
    int error;

    if (has_elements(call)) {
        sum = calloc(count, sizeof *sum);
        /* An intercommunicator has no MPI_IN_PLACE: as many buffers as the caller has. */
        input = in_place ? sum : calloc(count, sizeof *input);
    }
    if (sum == NULL || input == NULL) {
        error = reduce(call, call->sendbuf, call->recvbuf, call->datatype, call->op);
        goto free_copies;
    }
    widen(call->type, in_place ? call->recvbuf : call->sendbuf, input, count);
    error =
        reduce(call, in_place ? cgx_mpi()->IN_PLACE : input, sum, cgx_mpi()->FLOAT, cgx_mpi()->SUM);
    if (error == CGX_MPI_SUCCESS)
        narrow(call->type, sum, call->recvbuf, count);
free_copies:
    if (input != sum)
        free(input);
    free(sum);
    return error;
}
