/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

#include "repeat.h"

#include <string.h>

#include "check.h"
#include "comms.h"

enum { WARM = 10 };

float repeat_input[REPEAT_COUNT], repeat_result[REPEAT_COUNT], repeat_exact[REPEAT_COUNT];

MPI_Comm repeat_begin(void)
{
    MPI_Comm comm = comms_new();

    comms_hint(comm, "cgx_step", "1");
    PMPI_Allreduce(repeat_input, repeat_exact, REPEAT_COUNT, MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD);
    return comm;
}

bool repeat_step(MPI_Comm comm, float factor)
{
    for (size_t i = 0; i < REPEAT_COUNT; i++)
        repeat_result[i] = repeat_input[i] * factor;
    return MPI_Allreduce(MPI_IN_PLACE, repeat_result, REPEAT_COUNT, MPI_FLOAT, MPI_SUM, comm) ==
               MPI_SUCCESS &&
           check_same(repeat_result, sizeof repeat_result, MPI_COMM_WORLD);
}

bool repeat_warm_up(MPI_Comm comm)
{
    bool right = true;

    for (int i = 0; i < WARM; i++)
        right &= repeat_step(comm, 1);
    return right;
}

void repeat_test_again(bool (*run)(MPI_Comm comm, double *total))
{
    static double total[REPEAT_COUNT];
    uint64_t digests[2];
    bool right = true;

    for (int i = 0; i < 2; i++) {
        MPI_Comm comm = repeat_begin();

        memset(total, 0, sizeof total);
        right &= repeat_warm_up(comm) && run(comm, total);
        digests[i] = check_digest(total, sizeof total);
        MPI_Comm_free(&comm);
    }
    check(right && digests[0] == digests[1], "the same steps have the same results again");
}

void repeat_test_freed(void)
{
    bool right = true;
    long private[3] = {0};

    for (int run = 0; run < 40; run++) {
        MPI_Comm comm = repeat_begin();

        right &= repeat_warm_up(comm);
        MPI_Comm_free(&comm);
        if (run == 9 || run == 24 || run == 39)
        private[run / 15] = check_private_memory();
    }
    /* An MPI has memory for messages that come early when the first does, whenever that is. */
    check(right && (private[1] < private[0] + 512 || private[2] < private[1] + 512),
          "communicators that are freed leave nothing behind");
    check_note("%ld KiB of private memory, then %ld and %ld", private[0], private[1], private[2]);
}
