/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

/* MPI functions that the library exports, and those whose objects it keeps, give the same result
 * with the library as without it. Prints a line for each family of functions, with a hash of what
 * all ranks got. */
#include <mpi.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/check.h"

#define WORLD MPI_COMM_WORLD
#define MOST_RANKS 8

enum { COUNT = 5000 }; /* enough for sums of float32 to be compressed */

static float floats[COUNT];
static int ints[COUNT];
static uint64_t hash; /* of the family that runs */

/* That many floats and integers of this rank, which differ with SALT. */
static const float *own_floats(unsigned salt)
{
    static float own[COUNT];

    for (int i = 0; i < COUNT; i++)
        own[i] = (float)((i * 31 + check_rank * 7 + (int)salt * 13) % 101 - 50) / 8;
    return own;
}

static const int *own_ints(unsigned salt)
{
    static int own[COUNT];

    for (int i = 0; i < COUNT; i++)
        own[i] = (i * 17 + check_rank * 5 + (int)salt * 11) % 97;
    return own;
}

static void took(const void *data, size_t bytes)
{
    const uint64_t both[] = {hash, check_digest(data, bytes)};

    hash = check_digest(both, sizeof both);
}

static void took_number(long long number)
{
    took(&number, sizeof number);
}

static void took_floats(size_t count)
{
    took(floats, count * sizeof floats[0]);
}

static void took_ints(size_t count)
{
    took(ints, count * sizeof ints[0]);
}

/* ---- reductions ---- */

static void own_sum(void *in, void *inout, int *count, MPI_Datatype *type)
{
    (void)type;
    for (int i = 0; i < *count; i++)
        ((int *)inout)[i] += 3 * ((int *)in)[i];
}

static void reductions(void)
{
    const MPI_Op ops[] = {MPI_MAX, MPI_MIN, MPI_PROD};
    const MPI_Op bits[] = {MPI_BAND, MPI_BOR, MPI_BXOR, MPI_LAND, MPI_SUM};
    MPI_Op own;

    MPI_Op_create(own_sum, 1, &own);
    for (int i = 0; i < 8; i++) {
        for (size_t k = 0; k < sizeof ops / sizeof ops[0]; k++) {
            MPI_Allreduce(own_floats(10), floats, COUNT, MPI_FLOAT, ops[k], WORLD);
            took_floats(COUNT);
        }
        for (size_t k = 0; k < sizeof bits / sizeof bits[0]; k++) {
            MPI_Allreduce(own_ints(11), ints, COUNT, MPI_INT, bits[k], WORLD);
            took_ints(COUNT);
        }
        MPI_Allreduce(own_ints(12), ints, COUNT, MPI_INT, own, WORLD);
        took_ints(COUNT);
        MPI_Allreduce(own_floats(12), floats, 100, MPI_FLOAT, MPI_SUM, WORLD);
        took_floats(100);
        MPI_Allreduce(own_floats(12), floats, COUNT / 2, MPI_DOUBLE, MPI_MAX, WORLD);
        took_floats(COUNT);
        MPI_Allreduce(own_floats(12), floats, COUNT / 2, MPI_FLOAT_INT, MPI_MAXLOC, WORLD);
        took_floats(COUNT);
    }
    MPI_Op_free(&own);
}

/* ---- communicators ---- */

static void communicators(void)
{
    MPI_Comm dup, half, odd;
    MPI_Group all, some;
    char name[MPI_MAX_OBJECT_NAME];
    MPI_Info info;
    int length, result, rank, pair[] = {check_size - 1, 0};

    MPI_Comm_dup(WORLD, &dup);
    MPI_Info_create(&info);
    MPI_Info_set(info, "colour", "blue");
    MPI_Comm_set_info(dup, info);
    MPI_Info_free(&info);
    MPI_Comm_compare(WORLD, dup, &result);
    took_number(result);
    MPI_Comm_set_name(dup, "a copy");
    MPI_Comm_get_name(dup, name, &length);
    took(name, strlen(name));
    MPI_Comm_split(dup, check_rank % 2, -check_rank, &half);
    MPI_Comm_rank(half, &rank);
    took_number(rank);
    MPI_Allreduce(own_ints(1), ints, 100, MPI_INT, MPI_SUM, half);
    took_ints(100);
    MPI_Comm_group(WORLD, &all);
    MPI_Group_incl(all, 2, pair, &some);
    MPI_Group_rank(some, &rank);
    took_number(rank);
    MPI_Comm_create(WORLD, some, &odd);
    took_number(odd == MPI_COMM_NULL);
    if (odd != MPI_COMM_NULL)
        MPI_Comm_free(&odd);
    MPI_Group_free(&some);
    MPI_Group_free(&all);
    MPI_Comm_free(&half);
    MPI_Comm_free(&dup);
}

static int copied, deleted;

static int copy(MPI_Comm comm, int key, void *state, void *in, void *out, int *flag)
{
    (void)comm, (void)key, (void)state;
    copied++;
    *(void **)out = in;
    *flag = 1;
    return MPI_SUCCESS;
}

static int drop(MPI_Comm comm, int key, void *value, void *state)
{
    (void)comm, (void)key, (void)value, (void)state;
    deleted++;
    return MPI_SUCCESS;
}

/* The callbacks are the program's, and are called for what the program does alone. */
static void attributes(void)
{
    static int value = 7;
    int key, found, *got;
    MPI_Comm dup;

    MPI_Comm_create_keyval(copy, drop, &key, NULL);
    MPI_Comm_set_attr(WORLD, key, &value);
    MPI_Comm_dup(WORLD, &dup);
    MPI_Comm_get_attr(dup, key, &got, &found);
    took_number(found ? *got : -1);
    for (unsigned i = 0; i < 4; i++) {
        static float sums[COUNT];

        MPI_Allreduce(own_floats(i), sums, COUNT, MPI_FLOAT, MPI_SUM, dup);
    }
    MPI_Comm_free(&dup);
    MPI_Comm_delete_attr(WORLD, key);
    MPI_Comm_free_keyval(&key);
    took_number(copied * 10 + deleted);
    MPI_Comm_get_attr(WORLD, MPI_TAG_UB, &got, &found);
    took_number(found);
}

static int handled;

static void on_error(MPI_Comm *comm, int *code, ...)
{
    int error;

    (void)comm;
    MPI_Error_class(*code, &error);
    handled = error;
}

static void errors(void)
{
    MPI_Errhandler own, before, now;
    char text[MPI_MAX_ERROR_STRING];
    int length, error, code;

    MPI_Comm_get_errhandler(WORLD, &before);
    MPI_Comm_create_errhandler(on_error, &own);
    MPI_Comm_set_errhandler(WORLD, own);
    MPI_Send(ints, 1, MPI_INT, check_size + 5, 0, WORLD);
    took_number(handled);
    MPI_Comm_get_errhandler(WORLD, &now);
    took_number(now == own);
    MPI_Errhandler_free(&now);
    MPI_Comm_set_errhandler(WORLD, MPI_ERRORS_RETURN);
    code = MPI_Allreduce(ints, ints, -1, MPI_FLOAT, MPI_SUM, WORLD);
    MPI_Error_class(code, &error);
    took_number(error);
    MPI_Error_string(error, text, &length);
    took(text, strlen(text));
    MPI_Comm_set_errhandler(WORLD, before);
    MPI_Errhandler_free(&own);
    MPI_Errhandler_free(&before);
}

static void intercommunicators(void)
{
    MPI_Comm half, inter, merged;
    int remote, rank, lower = check_rank < check_size / 2;

    MPI_Comm_split(WORLD, lower, check_rank, &half);
    MPI_Intercomm_create(half, 0, WORLD, lower ? check_size / 2 : 0, 9, &inter);
    MPI_Comm_remote_size(inter, &remote);
    took_number(remote);
    for (int i = 0; i < 4; i++) {
        static float sums[COUNT];

        MPI_Allreduce(own_floats(2), sums, COUNT, MPI_FLOAT, MPI_SUM, inter);
        took(sums, sizeof sums);
    }
    MPI_Intercomm_merge(inter, lower, &merged);
    MPI_Comm_rank(merged, &rank);
    took_number(rank);
    MPI_Comm_free(&merged);
    MPI_Comm_free(&inter);
    MPI_Comm_free(&half);
}

int main(int argc, char **argv)
{
    static const struct check_part families[] = {{"reductions", reductions},
                                                 {"communicators", communicators},
                                                 {"attributes", attributes},
                                                 {"errors", errors},
                                                 {"intercommunicators", intercommunicators}};
    uint64_t all[MOST_RANKS];

    check_begin(&argc, &argv);
    for (size_t i = 0; i < sizeof families / sizeof families[0]; i++) {
        for (unsigned sum = 0; sum < 4; sum++)
            MPI_Allreduce(own_floats(sum), floats, COUNT, MPI_FLOAT, MPI_SUM, WORLD);
        hash = 0;
        families[i].test();
        MPI_Gather(&hash, 1, MPI_UINT64_T, all, 1, MPI_UINT64_T, 0, WORLD);
        if (check_rank == 0)
            printf("%s %016llx\n", families[i].name,
                   (unsigned long long)check_digest(all, (size_t)check_size * sizeof *all));
    }
    MPI_Finalize();
    return 0;
}
