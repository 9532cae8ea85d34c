/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

#include "families.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include "check.h"

int family_rank, family_size;
const char *family_folder = ".";

static uint64_t hash;

const float *family_floats(unsigned salt)
{
    static float floats[FAMILY_COUNT];

    for (int i = 0; i < FAMILY_COUNT; i++)
        floats[i] = (float)((i * 31 + family_rank * 7 + (int)salt * 13) % 101 - 50) / 8;
    return floats;
}

const int *family_ints(unsigned salt)
{
    static int ints[FAMILY_COUNT];

    for (int i = 0; i < FAMILY_COUNT; i++)
        ints[i] = (i * 17 + family_rank * 5 + (int)salt * 11) % 97;
    return ints;
}

void family_took(const void *data, size_t bytes)
{
    const uint64_t both[] = {hash, check_digest(data, bytes)};

    hash = check_digest(both, sizeof both);
}

void family_number(long long number)
{
    family_took(&number, sizeof number);
}

static void sum_large(void)
{
    static float sums[FAMILY_COUNT];

    for (unsigned i = 0; i < 4; i++)
        MPI_Allreduce(family_floats(i), sums, FAMILY_COUNT, MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD);
}

int families_run(int argc, char **argv, const struct family *families, size_t count)
{
    uint64_t *all;

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &family_rank);
    MPI_Comm_size(MPI_COMM_WORLD, &family_size);
    if (argc > 1)
        family_folder = argv[1];
    all = check_memory((size_t)family_size * sizeof *all);
    for (size_t i = 0; i < count; i++) {
        sum_large();
        hash = 0;
        families[i].run();
        MPI_Gather(&hash, 1, MPI_UINT64_T, all, 1, MPI_UINT64_T, 0, MPI_COMM_WORLD);
        if (family_rank == 0)
            printf("%s %016llx\n", families[i].name,
                   (unsigned long long)check_digest(all, (size_t)family_size * sizeof *all));
    }
    free(all);
    MPI_Finalize();
    return 0;
}
