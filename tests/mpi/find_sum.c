/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

/* A sum by MPI: as a program, or as a plugin of a program without MPI (find_none.c). */

#include <mpi.h>
#include <stdint.h>
#include <stdio.h>

int find_begin(uintptr_t words[3]);
int find_sum(void);
void find_end(void);

/* WORDS: the handles for a sum of floats, for a caller without mpi.h. */
int find_begin(uintptr_t words[3])
{
    words[0] = (uintptr_t)MPI_FLOAT;
    words[1] = (uintptr_t)MPI_SUM;
    words[2] = (uintptr_t)MPI_COMM_SELF;
    return MPI_Init(NULL, NULL);
}

int find_sum(void)
{
    float in = 3, out = 0;
    int code = MPI_Allreduce(&in, &out, 1, MPI_FLOAT, MPI_SUM, MPI_COMM_SELF);

    return code == MPI_SUCCESS && out == 3;
}

void find_end(void)
{
    MPI_Finalize();
}

int main(void)
{
    uintptr_t words[3];
    int good;

    find_begin(words);
    good = find_sum();
    find_end();
    puts(good ? "sum is right" : "sum is wrong");
    return !good;
}
