/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

/* A program that names predefined objects, which the linker may then copy into it, while a shared
 * library makes all its MPI calls: one of the tests' programs, with its main as program_main. */
#include <mpi.h>

int program_main(int argc, char **argv);

int main(int argc, char **argv)
{
    volatile MPI_Comm comms[] = {MPI_COMM_WORLD, MPI_COMM_SELF, MPI_COMM_NULL};
    volatile MPI_Datatype types[] = {MPI_FLOAT, MPI_INT, MPI_BYTE};
    volatile MPI_Op ops[] = {MPI_SUM, MPI_MIN, MPI_BOR};

    (void)comms;
    (void)types;
    (void)ops;
    return program_main(argc, argv);
}
