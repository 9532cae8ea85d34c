/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

#include "pmpi/start.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cuda/peers.h"
#include "observe/totals.h"
#include "pmpi/stats.h"
#include "pmpi/timeline.h"
#include "util/hash.h"
#include "util/log.h"
#include "util/mpi.h"
#include "util/parse.h"

extern char **environ;

static pthread_once_t settings_once = PTHREAD_ONCE_INIT, world_once = PTHREAD_ONCE_INIT;
static struct cgx_settings settings;
static struct cgx_rules *rules;
static int world_rank = -1;
static atomic_bool ends, finalizing;

/* Errors in settings are the same on all ranks or found by the agreement: rank 0 speaks. */
static void report(void *context, int level, const char *message)
{
    (void)context;
    cgx_log_set_level((enum cgx_log_level)settings.log_level);
    if (world_rank <= 0)
        cgx_log((enum cgx_log_level)level, "%s", message);
}

/* MPI_Finalize deletes the attributes of MPI_COMM_SELF before it does anything else. */
static int on_finalize(MPI_Comm comm, int keyval, void *value, void *extra)
{
    int size = 0;

    (void)comm, (void)keyval, (void)value, (void)extra;
    atomic_store(&finalizing, true);
    cgx_totals_log(world_rank);
    cgx_mpi()->Comm_size(MPI_COMM_WORLD, &size);
    cgx_stats_write(world_rank, size);
    cgx_timeline_write(cgx_mpi(), world_rank, size);
    cgx_cuda_finalize();
    return MPI_SUCCESS;
}

static void meet_world(void)
{
    const struct cgx_mpi *mpi = cgx_mpi();
    int keyval;

    if (mpi->Comm_rank(MPI_COMM_WORLD, &world_rank) == MPI_SUCCESS)
        cgx_log_set_rank(world_rank);
    if (mpi->Comm_create_keyval(MPI_COMM_NULL_COPY_FN, on_finalize, &keyval, NULL) == MPI_SUCCESS)
        atomic_store(&ends, mpi->Comm_set_attr(MPI_COMM_SELF, keyval, NULL) == MPI_SUCCESS);
}

bool cgx_world_exists(void)
{
    int initialized = 0;

    cgx_mpi()->Initialized(&initialized);
    if (initialized)
        pthread_once(&world_once, meet_world);
    return initialized;
}

/* The content of the file at PATH and its *LENGTH, or NULL. */
static char *read_file(const char *path, size_t *length)
{
    enum { STEP = 1 << 16 };
    FILE *file = fopen(path, "re");
    char *text = NULL, *larger;
    size_t got = 0;

    *length = 0;
    while (file && (larger = realloc(text, *length + STEP)) != NULL) {
        text = larger;
        got = fread(text + *length, 1, STEP, file);
        *length += got;
        if (got < STEP)
            break;
    }
    if (file && (ferror(file) || got == STEP)) {
        free(text);
        text = NULL;
    }
    if (file)
        fclose(file);
    return text;
}

static void warn_rule(void *context, unsigned line, const char *message)
{
    char text[512];

    (void)context;
    snprintf(text, sizeof text, "CGX_RULES, line %u: %s", line, message);
    report(NULL, CGX_LOG_WARN, text);
}

static void read_rules(void)
{
    struct cgx_rules_error error = {0, 0, "the file cannot be read"};
    char message[512], path[CGX_PRINTABLE_BYTES];
    size_t length;
    char *text = read_file(settings.rules_path, &length);

    if (text) {
        settings.rules = cgx_hash(CGX_HASH_START, text, length);
        rules = cgx_rules_parse(text, length, warn_rule, NULL, &error);
    }
    free(text);
    if (rules)
        return;
    settings.valid = false;
    snprintf(message, sizeof message,
             "CGX_RULES=\"%s\" refused: line %u, column %u: %s; every call is exact",
             cgx_printable(settings.rules_path, path), error.line, error.column, error.message);
    report(NULL, CGX_LOG_ERROR, message);
}

static void read_settings(void)
{
    cgx_world_exists();
    cgx_settings_parse(environ, report, NULL, &settings);
    cgx_log_set_level((enum cgx_log_level)settings.log_level);
    if (settings.valid && settings.rules_path[0] != '\0')
        read_rules();
}

const struct cgx_rules *cgx_rules(void)
{
    return rules;
}

const struct cgx_settings *cgx_start(void)
{
    pthread_once(&settings_once, read_settings);
    return &settings;
}

void cgx_start_meet(void)
{
    static atomic_bool met;

    if (atomic_load_explicit(&met, memory_order_relaxed) || !cgx_world_exists())
        return;
    cgx_start();
    atomic_store_explicit(&met, true, memory_order_relaxed);
}

bool cgx_world_ends(void)
{
    return cgx_world_exists() && atomic_load(&ends);
}

bool cgx_start_name_file(const char *from, int rank, char path[CGX_START_PATH_BYTES])
{
    bool all = strstr(from, "%r") != NULL;
    size_t used = 0, size = CGX_START_PATH_BYTES;

    path[0] = '\0';
    while (*from != '\0' && used < size - 1) {
        bool is_rank = from[0] == '%' && from[1] == 'r';

        used += (size_t)(is_rank ? snprintf(path + used, size - used, "%d", rank)
                                 : snprintf(path + used, size - used, "%c", *from));
        from += is_rank ? 2 : 1;
    }
    return all || rank == 0;
}

bool cgx_finalizing(void)
{
    return atomic_load(&finalizing);
}
