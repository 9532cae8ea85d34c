/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

/* An MPI call of the library fails on one rank: "transport_faults CALL NTH RANK RETURN NOTES".
 * CALL: isend, irecv or testsome, whose NTH call from the second compressed sum on fails on RANK,
 * or allgather, ballot or split, whose NTH call fails. With RETURN 1 the communicator returns
 * errors, otherwise they are fatal. Each rank writes what it finds to the file NOTES.rank, since a
 * launcher that kills a job drops output: "wrong" if a call that reported success gave a wrong sum,
 * "error" if a call reported an error, and "end". */

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <mpi.h>

#include "lib/sums.h"

/* Whether the call comes before a compressed sum, when the duplicate does not know of it. */
static int is_before(const char *what)
{
    return strcmp(what, "allgather") == 0 || strcmp(what, "ballot") == 0;
}

/* The sum from which on calls are counted; -1 is that of the duplicate. */
static int first_counted(const char *what)
{
    if (strcmp(what, "split") == 0)
        return -1;
    return is_before(what) ? 0 : 1;
}

/* A sum of ones, which is exact whatever the width. */
static int sum_is_wrong(MPI_Comm comm, float *buffer, int count, int size, int *code)
{
    for (int i = 0; i < count; i++)
        buffer[i] = 1;
    *code = MPI_Allreduce(MPI_IN_PLACE, buffer, count, MPI_FLOAT, MPI_SUM, comm);
    if (*code != MPI_SUCCESS)
        return 0;
    for (int i = 0; i < count; i++) {
        if (buffer[i] != (float)size)
            return 1;
    }
    return 0;
}

int main(int argc, char **argv)
{
    int nth = atoi(argv[2]), faulty = atoi(argv[3]), count = 100003;
    int rank, size, code = MPI_SUCCESS, other = MPI_SUCCESS;
    MPI_Comm twin; /* of the same processes */
    float *buffer = malloc((size_t)count * sizeof(float));
    char name[4096];
    const char *what = argv[1];
    FILE *notes;

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    snprintf(name, sizeof name, "%s.%d", argv[5], rank);
    notes = fopen(name, "w");
    setvbuf(notes, NULL, _IOLBF, 0);
    if (strcmp(argv[4], "1") == 0)
        MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    MPI_Comm_dup(MPI_COMM_WORLD, &twin);
    for (int i = -1; i < 3 && code == MPI_SUCCESS; i++) {
        if (i == first_counted(what) && rank == faulty)
            call_faults_set(what, nth);
        if (sum_is_wrong(i < 0 ? twin : MPI_COMM_WORLD, buffer, count, size, &code))
            fputs("wrong\n", notes);
    }
    if (call_faults_expected())
        fputs("no fault\n", notes);
    if (code != MPI_SUCCESS) {
        fputs("error\n", notes);
        if (!is_before(what))
            sum_is_wrong(twin, buffer, count, size, &other);
        fputs(other == MPI_SUCCESS ? "apart\n" : "together\n", notes);
        fclose(notes);
        MPI_Abort(MPI_COMM_WORLD, 3);
    }
    MPI_Comm_free(&twin);
    MPI_Finalize();
    fputs("end\n", notes);
    fclose(notes);
    free(buffer);
    return 0;
}
