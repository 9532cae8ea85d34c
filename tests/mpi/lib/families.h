/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

/* What a program gets from the functions of MPI, as lines that can be compared: one for each family
 * of functions, with a hash of what all ranks got. */
#ifndef TESTS_MPI_LIB_FAMILIES_H
#define TESTS_MPI_LIB_FAMILIES_H

#include <stddef.h>

/* Elements of the buffers of families: enough for sums of float32 to be compressed. */
#define FAMILY_COUNT 5000

/* That many of float32, and of int, of this rank; they differ with SALT. */
const float *family_floats(unsigned salt);
const int *family_ints(unsigned salt);

/* Takes what this rank got into the family's hash. */
void family_took(const void *data, size_t bytes);
void family_number(long long number);

/* Large float sums by MPI_Allreduce, which may be compressed, run before each family. */
struct family {
    const char *name;
    void (*run)(void);
};

/* From MPI_Init to MPI_Finalize. Returns what main returns. */
int families_run(int argc, char **argv, const struct family *families, size_t count);

extern int family_rank, family_size;
extern const char *family_folder; /* the program's argument: for files */

#endif
