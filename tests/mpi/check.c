/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

/* Sums of two ranks, where the codes of one message are changed on the way: "check MESSAGE", its
 * number among messages from rank 1 to rank 0, from 1. Prints nothing itself. */

#include <mpi.h>
#include <stdlib.h>

#include "faults/call_faults.h"
#include "lib/check.h"
#include "lib/sum.h"

/* Behind the headers: two codes of 4 bits change by 8 steps. */
static void change_codes(unsigned char *message, size_t bytes)
{
    message[bytes / 2] ^= 0x88;
}

int main(int argc, char **argv)
{
    const struct sum sum = {DATA_GAUSSIAN, ELEMENT_FLOAT32, 1, 8192, SUM_SEPARATE};
    float *result;

    check_begin(&argc, &argv);
    if (argc > 1 && check_rank == 1)
        call_faults_spoil(atoi(argv[1]), change_codes);
    result = check_memory(sum.count * sizeof *result);
    check(sum_reduce(&sum, MPI_COMM_WORLD, result), "the call succeeds");
    free(result);
    return check_end();
}
