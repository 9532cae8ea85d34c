/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

/* A rank that is killed in a sum of device buffers: "device_deaths HOW NTH RANK NOTES". RANK is
 * killed in its NTH call of the driver from the third sum on. With HOW "told" MPI tells the other
 * ranks, by an error, once its process has gone: they are to be started so that the launcher does
 * not see that (lib/together). Otherwise the launcher ends the job. Each rank writes what it finds
 * to the file NOTES.rank: "wrong" for a wrong sum, "error" for a sum that fails, and "end". */

#define _GNU_SOURCE

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "lib/check.h"
#include "lib/device.h"

enum { COUNT = 20011, WARM = 2, CALLS = 200, BUCKET = 4096 };

static pid_t victim; /* of whose end MPI tells; 0: it does not */

int PMPI_Iprobe(int source, int tag, MPI_Comm comm, int *flag, MPI_Status *status)
{
    if (victim > 0 && kill(victim, 0) != 0)
        return MPI_ERR_OTHER;
    return MPI_Iprobe(source, tag, comm, flag, status);
}

/* Elements of a bucket are alike, so sums are exact whatever the width. False: the call fails. What
 * waits for the device ends, since no kernel runs any more. */
static bool sum(unsigned number, FILE *notes)
{
    static float values[COUNT];
    const float ranks = (float)(check_size * (check_size + 1) / 2);
    bool right = true;
    void *buffer;
    int code;

    for (size_t i = 0; i < COUNT; i++)
        values[i] = (float)(check_rank + 1) * (float)(1 + number + i / BUCKET);
    buffer = device_clone(values, sizeof values);
    code = MPI_Allreduce(MPI_IN_PLACE, buffer, COUNT, MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD);
    device_download(values, buffer, sizeof values);
    device_free(buffer);
    for (size_t i = 0; i < COUNT; i++)
        right = right && values[i] == ranks * (float)(1 + number + i / BUCKET);
    if (code == MPI_SUCCESS && !right)
        fputs("wrong\n", notes);
    return code == MPI_SUCCESS;
}

int main(int argc, char **argv)
{
    int rank = atoi(argv[3]), process = (int)getpid();
    bool goes_on = true;
    char name[4096];
    FILE *notes;

    check_begin(&argc, &argv);
    snprintf(name, sizeof name, "%s.%d", argv[4], check_rank);
    notes = fopen(name, "w");
    if (notes == NULL || !device_open(check_rank) || !device_is_soft())
        return 1;
    setvbuf(notes, NULL, _IOLBF, 0);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    MPI_Bcast(&process, 1, MPI_INT, rank, MPI_COMM_WORLD);
    for (unsigned i = 0; i < WARM + CALLS && goes_on; i++) {
        if (i == WARM && check_rank == rank)
            device_fail(SOFTCUDA_DEATH, (unsigned)atoi(argv[2]), false);
        if (i == WARM && check_rank != rank && strcmp(argv[1], "told") == 0)
            victim = process;
        goes_on = sum(i, notes);
    }
    if (!goes_on)
        fputs("error\n", notes);
    fputs("end\n", notes);
    fclose(notes);
    _exit(0); /* MPI_Finalize would wait for the rank that has gone */
}
