/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

#include "check.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../lib/tap.h"

int check_rank, check_size;

void check_begin(int *argc, char ***argv)
{
    const char *ranks = getenv("RUN_MPI_RANKS"); /* of run-mpi */
    int initialised;

    PMPI_Initialized(&initialised);
    if (!initialised)
        MPI_Init(argc, argv);
    PMPI_Comm_rank(MPI_COMM_WORLD, &check_rank);
    PMPI_Comm_size(MPI_COMM_WORLD, &check_size);
    if (ranks && atoi(ranks) != check_size)
        bail_out("a job of %s ranks has %d: MPIEXEC is of another MPI than the program", ranks,
                 check_size);
    setvbuf(stdout, NULL, _IOLBF, 0);
}

int check_end(void)
{
    MPI_Finalize();
    return check_rank == 0 ? done_testing() : 0;
}

bool check_everywhere(bool here, MPI_Comm comm)
{
    int mine = here, all;

    PMPI_Allreduce(&mine, &all, 1, MPI_INT, MPI_LAND, comm);
    return all;
}

bool check_has(bool here, const char *name, const char *why)
{
    bool all = check_everywhere(here, MPI_COMM_WORLD);

    if (!all && check_rank == 0)
        skip(name, why);
    return all;
}

bool check_set(const char *name, const char *value)
{
    const char *text = getenv(name);

    return text && strcmp(text, value) == 0;
}

bool check(bool here, const char *format, ...)
{
    bool verdict = check_everywhere(here, MPI_COMM_WORLD);
    char name[256];
    va_list arguments;

    va_start(arguments, format);
    vsnprintf(name, sizeof name, format, arguments);
    va_end(arguments);
    if (!here)
        fprintf(stderr, "rank %d: not so: %s\n", check_rank, name);
    if (check_rank == 0)
        ok(verdict, "%s", name);
    return verdict;
}

void check_note(const char *format, ...)
{
    va_list arguments;

    if (check_rank != 0)
        return;
    printf("# ");
    va_start(arguments, format);
    vprintf(format, arguments);
    va_end(arguments);
    printf("\n");
}

uint64_t check_digest(const void *data, size_t bytes)
{
    const unsigned char *at = data;
    uint64_t hash = 0xCBF29CE484222325u;
    uint64_t word = 0;

    for (; bytes >= 8; at += 8, bytes -= 8) {
        memcpy(&word, at, 8);
        hash = (hash ^ word) * 0x9E3779B97F4A7C15u;
        hash ^= hash >> 29;
    }
    for (; bytes > 0; at++, bytes--)
        hash = (hash ^ *at) * 0x100000001B3u;
    return hash ^ hash >> 32;
}

bool check_same(const void *data, size_t bytes, MPI_Comm comm)
{
    uint64_t mine = check_digest(data, bytes);
    uint64_t both[2] = {mine, ~mine};

    PMPI_Allreduce(MPI_IN_PLACE, both, 2, MPI_UINT64_T, MPI_MIN, comm);
    return both[0] == ~both[1];
}

void *check_memory(size_t bytes)
{
    void *memory = malloc(bytes);

    if (!memory)
        bail_out("out of memory");
    return memory;
}

long check_private_memory(void)
{
    FILE *status = fopen("/proc/self/status", "r");
    char line[128];
    long resident = 0, swapped = 0;

    while (status && fgets(line, sizeof line, status)) {
        sscanf(line, "RssAnon: %ld", &resident);
        sscanf(line, "VmSwap: %ld", &swapped);
    }
    if (status)
        fclose(status);
    return resident + swapped;
}

/* ---- scenes ---- */

static char **arguments; /* behind the scene's name, with a NULL */

const char *scene_argument(int number)
{
    for (int i = 1; i < number; i++)
        if (!arguments[i - 1])
            return NULL;
    return arguments[number - 1];
}

int scenes_main(int argc, char **argv, const struct scene *scenes, size_t n)
{
    const struct scene *scene = scenes;
    int level = MPI_THREAD_MULTIPLE;

    for (size_t i = 0; i < n && argc > 1; i++)
        if (strcmp(argv[1], scenes[i].name) == 0) {
            scene = &scenes[i];
            argc--;
            argv++;
            break;
        }
    if (scene->threaded)
        MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &level);
    check_begin(&argc, &argv);
    arguments = argv + 1;
    if (check_has(level == MPI_THREAD_MULTIPLE, scene->name, "no MPI_THREAD_MULTIPLE") &&
        (!scene->begin || scene->begin(scene->name)))
        scene->play();
    return check_end();
}

/* ---- communicators ---- */

MPI_Comm comms_new(void)
{
    MPI_Comm comm;

    PMPI_Comm_split(MPI_COMM_WORLD, 0, check_rank, &comm);
    PMPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
    return comm;
}

int comms_hint(MPI_Comm comm, const char *key, const char *value)
{
    MPI_Info info;
    int code;

    MPI_Info_create(&info);
    MPI_Info_set(info, key, value);
    code = MPI_Comm_set_info(comm, info);
    MPI_Info_free(&info);
    return code;
}

void comms_make(MPI_Comm *comms, int n)
{
    for (int i = 0; i < n; i++)
        MPI_Comm_dup(MPI_COMM_WORLD, &comms[i]);
}

void comms_free(MPI_Comm *comms, int n)
{
    for (int i = 0; i < n; i++)
        MPI_Comm_free(&comms[i]);
}

MPI_Comm comms_across(void)
{
    MPI_Comm half, across;

    PMPI_Comm_split(MPI_COMM_WORLD, check_rank % 2, 0, &half);
    PMPI_Intercomm_create(half, 0, MPI_COMM_WORLD, 1 - check_rank % 2, 7, &across);
    PMPI_Comm_free(&half);
    return across;
}
