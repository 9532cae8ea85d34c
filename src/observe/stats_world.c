/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

/* The statistics of all communicators of the process, and when they are written. */
#include <errno.h>
#include <locale.h>
#include <stdatomic.h>
#include <string.h>
#include <unistd.h>

#include "mpi/config.h"
#include "observe/stats.h"
#include "util/float_state.h"
#include "util/log.h"
#include "util/output.h"
#include "util/pages.h"
#include "util/trace.h"

/* All statistics that are kept; the threads of live communicators update theirs. */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct cgx_stats_world world;
static size_t ended;
static _Atomic pid_t process; /* whose statistics these are; 0: not begun */
static bool written;          /* finally, when the process ended */
static bool refused;          /* the file could not be written, and an error was logged */
static bool begun;            /* the first call has written them */

/* ---- communicators ---- */

struct cgx_stats *cgx_stats_create(cgx_mpi_comm comm, int size)
{
    struct cgx_stats *stats;
    int length;

    if (cgx_config()->stats_path[0] == '\0')
        return NULL;
    stats = cgx_sparse_map(sizeof *stats);
    if (!stats)
        return NULL;
    if (cgx_mpi()->Comm_get_name(comm, stats->name, &length) != CGX_MPI_SUCCESS)
        stats->name[0] = '\0';
    stats->size = size;
    pthread_mutex_init(&stats->lock, NULL);
    pthread_mutex_lock(&lock);
    stats->next = world.communicators;
    world.communicators = stats;
    pthread_mutex_unlock(&lock);
    return stats;
}

static void forget_stats(const struct cgx_stats *stats)
{
    struct cgx_stats **link = &world.communicators;

    while (*link != stats)
        link = &(*link)->next;
    *link = stats->next;
    world.unlisted++;
}

void cgx_stats_end(struct cgx_stats *stats)
{
    bool keep;

    if (!stats)
        return;
    pthread_mutex_lock(&lock);
    keep = !written && ended < CGX_STATS_ENDED;
    ended += keep;
    if (!keep)
        forget_stats(stats);
    pthread_mutex_unlock(&lock);
    if (keep)
        return;
    pthread_mutex_destroy(&stats->lock);
    cgx_sparse_unmap(stats, sizeof *stats);
}

/* ---- writing ---- */

static void unlock_before(const struct cgx_stats *end)
{
    for (struct cgx_stats *stats = world.communicators; stats != end; stats = stats->next)
        pthread_mutex_unlock(&stats->lock);
}

/* Locks all communicators. False if one is in use and WAITS is not set. */
static bool lock_all(bool waits)
{
    for (struct cgx_stats *stats = world.communicators; stats; stats = stats->next) {
        if (waits)
            pthread_mutex_lock(&stats->lock);
        else if (pthread_mutex_trylock(&stats->lock) != 0) {
            unlock_before(stats);
            return false;
        }
    }
    return true;
}

/* Writes the file at PATH, which is never seen half-written. Numbers have a decimal point, whatever
 * the program's locale. */
static bool write_stats(const char *path)
{
    locale_t plain = newlocale(LC_ALL_MASK, "C", 0), before = 0;
    bool good;
    int saved;

    if (plain)
        before = uselocale(plain);
    good = cgx_output_replace(path, cgx_stats_json, &world);
    saved = errno;
    if (plain) {
        uselocale(before);
        freelocale(plain);
    }
    errno = saved;
    return good;
}

static void write_to(const char *path, enum cgx_stats_when when)
{
    const char *then = begun ? "" : cgx_settings_consequence(cgx_config(), "");
    union cgx_float_state caller;

    world.when = when;
    cgx_float_enter(&caller);
    if (!write_stats(path)) {
        if (!refused)
            cgx_log(CGX_LOG_ERROR, "CGX_STATS: %s was not written: %s%s%s", path, strerror(errno),
                    then[0] == '\0' ? "" : "; ", then);
        refused = true;
    }
    cgx_float_leave(&caller);
}

/* Whether this process writes; PATH is set to its file. */
static bool is_writer(char path[CGX_CONFIG_PATH_BYTES])
{
    return atomic_load(&process) == getpid() && cgx_config()->stats_path[0] != '\0' &&
           cgx_config_name_file(cgx_config()->stats_path, world.rank, path);
}

/* A process that exits may have stopped a thread, even this one, anywhere. So it waits for no lock.
 */
void cgx_stats_write(enum cgx_stats_when when)
{
    bool runs = when == CGX_STATS_RUNS, waits = runs || when == CGX_STATS_FINALIZES;
    char path[CGX_CONFIG_PATH_BYTES];

    if (!is_writer(path))
        return;
    if (waits)
        pthread_mutex_lock(&lock);
    else if (pthread_mutex_trylock(&lock) != 0)
        return;
    if (!written && !(runs && refused) && lock_all(waits)) {
        write_to(path, when);
        written = !runs;
        unlock_before(NULL);
    }
    pthread_mutex_unlock(&lock);
}

void cgx_stats_begin(int rank, int size)
{
    pthread_mutex_lock(&lock);
    world.rank = rank;
    world.size = size;
    world.begun = cgx_trace_clock();
    atomic_store(&process, getpid());
    pthread_mutex_unlock(&lock);
    /* Finds out before the program runs whether the file can be written. */
    cgx_stats_write(CGX_STATS_RUNS);
    begun = true;
    if (refused)
        cgx_config_end_strict();
}
