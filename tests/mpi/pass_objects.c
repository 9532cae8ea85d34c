/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

/* Functions that make and query MPI objects, memory windows and files give the same result with the
 * library as without it. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/check.h"
#include "lib/families.h"

#define WORLD MPI_COMM_WORLD

static int ints[8 * FAMILY_COUNT];

static void took_ints(size_t count)
{
    family_took(ints, count * sizeof ints[0]);
}

static void took_text(const char *text)
{
    family_took(text, strlen(text));
}

/* ---- communicators ---- */

static void communicators(void)
{
    MPI_Comm dup, half, odd;
    MPI_Group all, some;
    char name[MPI_MAX_OBJECT_NAME];
    int length, result, rank, pair[] = {family_size - 1, 0};

    MPI_Comm_dup(WORLD, &dup);
    MPI_Comm_compare(WORLD, dup, &result);
    family_number(result);
    MPI_Comm_set_name(dup, "a copy");
    MPI_Comm_get_name(dup, name, &length);
    took_text(name);
    MPI_Comm_split(dup, family_rank % 2, -family_rank, &half);
    MPI_Comm_rank(half, &rank);
    family_number(rank);
    MPI_Allreduce(family_ints(1), ints, 100, MPI_INT, MPI_SUM, half);
    took_ints(100);
    MPI_Comm_group(WORLD, &all);
    MPI_Group_incl(all, 2, pair, &some);
    MPI_Group_rank(some, &rank);
    family_number(rank);
    MPI_Comm_create(WORLD, some, &odd);
    family_number(odd == MPI_COMM_NULL);
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
    family_number(found ? *got : -1);
    for (unsigned i = 0; i < 4; i++) {
        static float sums[FAMILY_COUNT];

        MPI_Allreduce(family_floats(i), sums, FAMILY_COUNT, MPI_FLOAT, MPI_SUM, dup);
    }
    MPI_Comm_free(&dup);
    MPI_Comm_delete_attr(WORLD, key);
    MPI_Comm_free_keyval(&key);
    family_number(copied * 10 + deleted);
    MPI_Comm_get_attr(WORLD, MPI_TAG_UB, &got, &found);
    family_number(found);
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
    MPI_Send(ints, 1, MPI_INT, family_size + 5, 0, WORLD);
    family_number(handled);
    MPI_Comm_get_errhandler(WORLD, &now);
    family_number(now == own);
    MPI_Errhandler_free(&now);
    MPI_Comm_set_errhandler(WORLD, MPI_ERRORS_RETURN);
    code = MPI_Allreduce(ints, ints, -1, MPI_FLOAT, MPI_SUM, WORLD);
    MPI_Error_class(code, &error);
    family_number(error);
    MPI_Error_string(error, text, &length);
    took_text(text);
    MPI_Comm_set_errhandler(WORLD, before);
    MPI_Errhandler_free(&own);
    MPI_Errhandler_free(&before);
}

static void infos(void)
{
    char value[MPI_MAX_INFO_VAL + 1] = "";
    int keys, found;
    MPI_Info info, copy_of;

    MPI_Info_create(&info);
    MPI_Info_set(info, "colour", "blue");
    MPI_Info_set(info, "size", "12");
    MPI_Info_dup(info, &copy_of);
    MPI_Info_delete(info, "size");
    MPI_Info_get_nkeys(info, &keys);
    family_number(keys);
    MPI_Info_get(copy_of, "size", MPI_MAX_INFO_VAL, value, &found);
    took_text(value);
    MPI_Comm_set_info(WORLD, info);
    MPI_Info_free(&info);
    MPI_Info_free(&copy_of);
}

static void intercommunicators(void)
{
    MPI_Comm half, inter, merged;
    int remote, rank, lower = family_rank < family_size / 2;

    MPI_Comm_split(WORLD, lower, family_rank, &half);
    MPI_Intercomm_create(half, 0, WORLD, lower ? family_size / 2 : 0, 9, &inter);
    MPI_Comm_remote_size(inter, &remote);
    family_number(remote);
    for (int i = 0; i < 4; i++) {
        static float sums[FAMILY_COUNT];

        MPI_Allreduce(family_floats(2), sums, FAMILY_COUNT, MPI_FLOAT, MPI_SUM, inter);
        family_took(sums, sizeof sums);
    }
    MPI_Intercomm_merge(inter, lower, &merged);
    MPI_Comm_rank(merged, &rank);
    family_number(rank);
    MPI_Comm_free(&merged);
    MPI_Comm_free(&inter);
    MPI_Comm_free(&half);
}

/* ---- datatypes ---- */

static void datatypes(void)
{
    const int lengths[] = {3, 2}, starts[] = {1, 10}, sizes[] = {10, 10}, parts[] = {4, 3},
              corner[] = {2, 5};
    unsigned char packed[4096];
    MPI_Datatype types[4];
    MPI_Aint low, extent;
    int at = 0, size;

    MPI_Type_vector(5, 2, 7, MPI_INT, &types[0]);
    MPI_Type_indexed(2, lengths, starts, MPI_INT, &types[1]);
    MPI_Type_create_subarray(2, sizes, parts, corner, MPI_ORDER_C, MPI_INT, &types[2]);
    MPI_Type_create_resized(types[1], 0, 80, &types[3]);
    for (int i = 0; i < 4; i++) {
        MPI_Type_commit(&types[i]);
        MPI_Type_size(types[i], &size);
        MPI_Type_get_extent(types[i], &low, &extent);
        family_number(size * 1000 + (long long)(low + extent));
        memset(ints, 0, sizeof ints);
        MPI_Sendrecv(family_ints(3), 2, types[i], (family_rank + 1) % family_size, 1, ints, 2,
                     types[i], (family_rank + family_size - 1) % family_size, 1, WORLD,
                     MPI_STATUS_IGNORE);
        took_ints(300);
        MPI_Pack(family_ints(4), 1, types[i], packed, sizeof packed, &at, WORLD);
    }
    family_took(packed, (size_t)at);
    for (int i = 0; i < 4; i++)
        MPI_Type_free(&types[i]);
}

/* ---- windows and files ---- */

static void windows(void)
{
    MPI_Win window;
    int *memory, after = (family_rank + 1) % family_size;

    MPI_Win_allocate(1000 * sizeof *memory, sizeof *memory, MPI_INFO_NULL, WORLD, &memory, &window);
    memset(memory, 0, 1000 * sizeof *memory);
    MPI_Win_fence(0, window);
    MPI_Put(family_ints(5), 300, MPI_INT, after, 0, 300, MPI_INT, window);
    MPI_Accumulate(family_ints(5), 300, MPI_INT, after, 500, 300, MPI_INT, MPI_SUM, window);
    MPI_Win_fence(0, window);
    MPI_Get(ints, 1000, MPI_INT, after, 0, 1000, MPI_INT, window);
    MPI_Win_fence(0, window);
    took_ints(1000);
    MPI_Win_lock(MPI_LOCK_SHARED, 0, 0, window);
    MPI_Get(ints, 10, MPI_INT, 0, 0, 10, MPI_INT, window);
    MPI_Win_unlock(0, window);
    took_ints(10);
    MPI_Barrier(WORLD);
    MPI_Win_free(&window);
}

static void files(void)
{
    char path[4096];
    MPI_Offset size;
    MPI_File file;

    snprintf(path, sizeof path, "%s/family", family_folder);
    MPI_File_open(WORLD, path, MPI_MODE_CREATE | MPI_MODE_RDWR | MPI_MODE_DELETE_ON_CLOSE,
                  MPI_INFO_NULL, &file);
    MPI_File_write_at_all(file, (MPI_Offset)family_rank * 4000, family_ints(6), 1000, MPI_INT,
                          MPI_STATUS_IGNORE);
    MPI_File_sync(file);
    MPI_Barrier(WORLD);
    MPI_File_sync(file);
    MPI_File_get_size(file, &size);
    family_number(size);
    MPI_File_read_at(file, (MPI_Offset)((family_rank + 1) % family_size) * 4000, ints, 1000,
                     MPI_INT, MPI_STATUS_IGNORE);
    took_ints(1000);
    MPI_File_close(&file);
}

/* ---- the rest ---- */

static void environment(void)
{
    char version[MPI_MAX_LIBRARY_VERSION_STRING];
    int length, major, minor, level, number;

    MPI_Get_version(&major, &minor);
    family_number(major * 100 + minor);
    MPI_Get_library_version(version, &length);
    took_text(version);
    MPI_Query_thread(&level);
    family_number(level);
    family_number(MPI_Pcontrol(1));
    family_number(MPI_Wtime() > 0);
    MPI_T_init_thread(MPI_THREAD_SINGLE, &level);
    MPI_T_cvar_get_num(&number);
    family_number(number);
    MPI_T_finalize();
}

int main(int argc, char **argv)
{
    static const struct family families[] = {{"communicators", communicators},
                                             {"attributes", attributes},
                                             {"errors", errors},
                                             {"infos", infos},
                                             {"intercommunicators", intercommunicators},
                                             {"datatypes", datatypes},
                                             {"windows", windows},
                                             {"files", files},
                                             {"environment", environment}};

    return families_run(argc, argv, families, sizeof families / sizeof families[0]);
}
