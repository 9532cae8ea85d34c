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

void check_parts(const struct check_part *parts, size_t n, const char *name)
{
    for (size_t i = 0; i < n; i++) {
        if (!name || strcmp(name, parts[i].name) == 0)
            parts[i].test();
    }
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
