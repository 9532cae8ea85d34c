/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

/* The statistics of all communicators of the process, and where they go in the end. */
#include <errno.h>
#include <locale.h>
#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "mpi/config.h"
#include "observe/stats.h"
#include "util/log.h"

/* All that are kept; the live ones are written to by their own threads. */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct cgx_stats_world world;
static size_t ended;
static bool written;

/* ---- communicators ---- */

struct cgx_stats *cgx_stats_create(cgx_mpi_comm comm, int rank, int size)
{
    struct cgx_stats *stats;
    int length;

    if (cgx_config()->stats_path[0] == '\0')
        return NULL;
    stats = calloc(1, sizeof *stats);
    if (!stats)
        return NULL;
    if (cgx_mpi()->Comm_get_name(comm, stats->name, &length) != CGX_MPI_SUCCESS)
        stats->name[0] = '\0';
    stats->rank = rank;
    stats->size = size;
    stats->over = stats->most_over = NAN;
    pthread_mutex_lock(&lock);
    stats->next = world.communicators;
    world.communicators = stats;
    pthread_mutex_unlock(&lock);
    return stats;
}

static void add_layer(struct cgx_stats_layer *to, const struct cgx_stats_layer *from)
{
    to->compressed += from->compressed;
    to->exact += from->exact;
    to->redone += from->redone;
    to->failed += from->failed;
    to->seconds += from->seconds;
    to->sent += from->sent;
    to->plain += from->plain;
    to->base += from->base;
    to->checked += from->checked;
    to->beyond += from->beyond;
    to->square += from->square;
    to->norm += from->norm;
}

/* Keeps STATS no longer: its calls are counted with those of all others that are not kept. */
static void merge(const struct cgx_stats *stats)
{
    struct cgx_stats **link = &world.communicators;

    while (*link != stats)
        link = &(*link)->next;
    *link = stats->next;
    for (size_t i = 0; i < stats->nlayers; i++)
        add_layer(&world.rest, &stats->layers[i]);
    add_layer(&world.rest, &stats->other);
    world.rest.exact += stats->exact[CGX_REASON_SMALL].calls +
                        stats->exact[CGX_REASON_NOT_RECURRING].calls +
                        stats->exact[CGX_REASON_STRAY].calls;
    world.merged++;
}

static void free_stats(struct cgx_stats *stats)
{
    for (size_t i = 0; i < stats->nlayers; i++) {
        const struct cgx_stats_layer *layer = &stats->layers[i];

        for (size_t j = 0; j < layer->nchanges && j < 2 * CGX_STATS_CHANGES; j++)
            free(layer->changes[j].widths);
        free(layer->changes);
    }
    free(stats);
}

void cgx_stats_end(struct cgx_stats *stats)
{
    bool keep;

    if (!stats)
        return;
    pthread_mutex_lock(&lock);
    keep = !written && ended < CGX_STATS_ENDED;
    stats->ended = true;
    ended += keep;
    if (!keep)
        merge(stats);
    pthread_mutex_unlock(&lock);
    if (!keep)
        free_stats(stats);
}

/* ---- the end ---- */

static void write_file(const char *path)
{
    FILE *file = fopen(path, "we");
    bool failed = !file;

    if (file) {
        cgx_stats_json(file, &world);
        failed = ferror(file) != 0;
        failed = fclose(file) != 0 || failed;
    }
    if (failed)
        cgx_log(CGX_LOG_ERROR, "CGX_STATS: %s was not written: %s", path, strerror(errno));
}

/* In one piece: other ranks, and the program, may write to stderr too. */
static void write_table(void)
{
    char *text = NULL;
    size_t length = 0;
    FILE *memory = open_memstream(&text, &length);

    if (memory) {
        cgx_stats_table(memory, &world);
        if (fclose(memory) == 0)
            fwrite(text, 1, length, stderr);
    }
    free(text);
}

/* Numbers are written with a point whatever the program's locale says. */
void cgx_stats_write(int rank, int size)
{
    char path[CGX_CONFIG_PATH_BYTES];
    locale_t plain, before = 0;

    if (cgx_config()->stats_path[0] == '\0' ||
        !cgx_config_name_file(cgx_config()->stats_path, rank, path))
        return;
    plain = newlocale(LC_ALL_MASK, "C", 0);
    if (plain)
        before = uselocale(plain);
    pthread_mutex_lock(&lock);
    world.rank = rank;
    world.size = size;
    if (strcmp(path, "-") == 0)
        write_table();
    else
        write_file(path);
    written = true;
    pthread_mutex_unlock(&lock);
    if (plain) {
        uselocale(before);
        freelocale(plain);
    }
}
