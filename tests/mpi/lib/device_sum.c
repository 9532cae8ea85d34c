/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

#include "sums.h"

#include <stdlib.h>
#include <string.h>

#include "check.h"
#include "device.h"

static size_t bytes_of(const struct device_sum *sum)
{
    return sum->count * sizeof *sum->input;
}

void device_sum_renew(struct device_sum *sum)
{
    sum->send = device_alloc(bytes_of(sum));
    sum->receive = device_alloc(bytes_of(sum));
    /* An exact call pins memory that it keeps. */
    MPI_Allreduce(sum->send, sum->receive, (int)sum->count, MPI_FLOAT, MPI_MAX, MPI_COMM_SELF);
}

void device_sum_begin(struct device_sum *sum, size_t count)
{
    sum->count = count;
    sum->input = check_memory(bytes_of(sum));
    sum->exact = check_memory(bytes_of(sum));
    sum->result = check_memory(bytes_of(sum));
    srand((unsigned)check_rank + 1);
    for (size_t i = 0; i < count; i++)
        sum->input[i] = (float)rand() / (float)RAND_MAX * 2 - 1;
    PMPI_Allreduce(sum->input, sum->exact, (int)count, MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD);
    device_sum_renew(sum);
}

void device_sum_end(struct device_sum *sum)
{
    device_free(sum->send);
    device_free(sum->receive);
    free(sum->input);
    free(sum->exact);
    free(sum->result);
}

void device_sum_upload(const struct device_sum *sum)
{
    device_upload(sum->send, sum->input, bytes_of(sum));
    device_upload(sum->receive, sum->input, bytes_of(sum));
}

int device_sum_call(const struct device_sum *sum, bool in_place, MPI_Comm comm)
{
    return MPI_Allreduce(in_place ? MPI_IN_PLACE : sum->send, sum->receive, (int)sum->count,
                         MPI_FLOAT, MPI_SUM, comm);
}

enum device_end device_sum_look(const struct device_sum *sum, bool in_place, int code)
{
    float worst = 0;

    if (code != MPI_SUCCESS)
        return DEVICE_ERROR;
    if (!in_place) {
        device_download(sum->result, sum->send, bytes_of(sum));
        if (memcmp(sum->result, sum->input, bytes_of(sum)) != 0)
            return DEVICE_WRONG;
    }
    device_download(sum->result, sum->receive, bytes_of(sum));
    if (memcmp(sum->result, sum->exact, bytes_of(sum)) == 0)
        return DEVICE_EXACT;
    for (size_t i = 0; i < sum->count; i++) {
        float error = sum->result[i] - sum->exact[i];

        error = error < 0 ? -error : error;
        worst = error > worst ? error : worst;
    }
    /* A quantisation is off by 1/15 for an input, and P/15 for a sum, at the most. */
    return worst < 0.15f * (float)check_size ? DEVICE_COMPRESSED : DEVICE_WRONG;
}

enum device_end device_sum_once(const struct device_sum *sum, bool in_place, MPI_Comm comm)
{
    device_sum_upload(sum);
    return device_sum_look(sum, in_place, device_sum_call(sum, in_place, comm));
}

bool device_sum_alike(const struct device_sum *sum, enum device_end end)
{
    bool right = end != DEVICE_WRONG && check_same(&end, sizeof end, MPI_COMM_WORLD);

    if (!check_everywhere(right, MPI_COMM_WORLD))
        return false;
    return end == DEVICE_ERROR || check_same(sum->result, bytes_of(sum), MPI_COMM_WORLD);
}

bool device_sum_right(const struct device_sum *sum, int calls, MPI_Comm comm, bool *compressed)
{
    bool right = true;

    for (int i = 0; i < calls; i++) {
        enum device_end end = device_sum_once(sum, i % 2 == 0, comm);

        right &= device_sum_alike(sum, end) && end != DEVICE_ERROR;
        *compressed = end == DEVICE_COMPRESSED;
    }
    return right;
}
