/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

/* Counts calls, and writes the statistics of all communicators. Totals and statistics have one
 * lock, under which MPI is never called: it may free a communicator, and come here, with a lock of
 * its own. */
#include <errno.h>
#include <locale.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <string.h>
#include <unistd.h>

#include "mpi/config.h"
#include "mpi/world.h"
#include "observe/notices.h"
#include "observe/stats.h"
#include "observe/totals.h"
#include "util/float_state.h"
#include "util/log.h"
#include "util/output.h"
#include "util/pages.h"
#include "util/trace.h"

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct cgx_stats_world world;
static size_t ended;
static _Atomic pid_t process; /* whose statistics these are; 0: not begun */
static bool written;          /* finally, when the process ended */
static bool refused;          /* the file could not be written, and an error was logged */
static bool begun;            /* the first call has written them */

/* A process that exits may have stopped the thread that has the lock, even this one; so it does not
 * WAIT long. */
static bool take_lock(bool waits)
{
    if (waits)
        return pthread_mutex_lock(&lock) == 0;
    for (int tries = 0; pthread_mutex_trylock(&lock) != 0; tries++) {
        if (tries == 1000)
            return false;
        sched_yield();
    }
    return true;
}

/* ---- calls ---- */

/* The bytes of each buffer of REQUEST, whose datatype is valid. */
static size_t bytes_of(const struct cgx_request *request)
{
    int bytes = 0;

    if (request->type != CGX_TYPE_OTHER)
        return cgx_request_bytes(request);
    /* Before MPI_Init, an MPI that serves calls may not answer this query. */
    if (cgx_world_rank() < 0 ||
        cgx_mpi()->Type_size(request->datatype, &bytes) != CGX_MPI_SUCCESS || bytes < 0)
        return 0;
    return (size_t)request->count * (size_t)bytes;
}

void cgx_observe(struct cgx_stats *stats, const struct cgx_record *record)
{
    const size_t bytes = bytes_of(record->request);
    union cgx_float_state caller;

    pthread_mutex_lock(&lock);
    cgx_totals_count(record, bytes);
    if (stats && record->plan) {
        cgx_float_enter(&caller);
        cgx_stats_count(stats, record);
        cgx_float_leave(&caller);
    }
    pthread_mutex_unlock(&lock);
    if (record->reason && cgx_log_level() >= CGX_LOG_DEBUG)
        cgx_reason_log(record->reason, record->request);
    if (record->ranks == 0)
        return;
    if (cgx_trace_is_on())
        cgx_timeline_record(record);
    cgx_notice_record(record);
}

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
    pthread_mutex_lock(&lock);
    stats->next = world.communicators;
    world.communicators = stats;
    pthread_mutex_unlock(&lock);
    return stats;
}

static void forget_stats(struct cgx_stats *stats)
{
    struct cgx_stats **link = &world.communicators;

    while (*link != stats)
        link = &(*link)->next;
    *link = stats->next;
    world.unlisted++;
    cgx_sparse_unmap(stats, sizeof *stats);
}

void cgx_stats_end(struct cgx_stats *stats)
{
    if (!stats)
        return;
    pthread_mutex_lock(&lock);
    if (!written && ended < CGX_STATS_ENDED)
        ended++;
    else
        forget_stats(stats);
    pthread_mutex_unlock(&lock);
}

void cgx_stats_step(struct cgx_stats *stats, const struct cgx_recurrence *recurrence,
                    bool begins_step)
{
    static unsigned long long all_steps; /* of all communicators */
    unsigned long long before = 0;

    pthread_mutex_lock(&lock);
    stats->evidence = recurrence->evidence;
    stats->established = recurrence->established;
    stats->step = recurrence->pattern.length;
    if (begins_step || stats->step == 0)
        before = all_steps++;
    pthread_mutex_unlock(&lock);
    if (before > 0 && before % (before < 100 ? 10 : 100) == 0)
        cgx_stats_write(CGX_STATS_RUNS);
}

/* ---- writing ---- */

/* Writes the file at PATH, which is never seen half-written. Numbers have a decimal point, whatever
 * the program's locale. */
static void write_to(const char *path, enum cgx_stats_when when)
{
    const char *then = begun ? "" : cgx_settings_consequence(cgx_config(), "");
    locale_t plain = newlocale(LC_ALL_MASK, "C", 0), before = plain ? uselocale(plain) : 0;
    union cgx_float_state caller;

    world.when = when;
    cgx_float_enter(&caller);
    if (!cgx_output_replace(path, cgx_stats_json, &world)) {
        if (!refused)
            cgx_log(CGX_LOG_ERROR, "CGX_STATS: %s was not written: %s%s%s", path, strerror(errno),
                    then[0] == '\0' ? "" : "; ", then);
        refused = true;
    }
    cgx_float_leave(&caller);
    if (plain) {
        uselocale(before);
        freelocale(plain);
    }
}

/* Whether this process writes; PATH is set to its file. */
static bool is_writer(char path[CGX_CONFIG_PATH_BYTES])
{
    return atomic_load(&process) == getpid() && cgx_config()->stats_path[0] != '\0' &&
           cgx_config_name_file(cgx_config()->stats_path, cgx_world_rank(), path);
}

void cgx_stats_write(enum cgx_stats_when when)
{
    bool runs = when == CGX_STATS_RUNS;
    char path[CGX_CONFIG_PATH_BYTES];

    if (!is_writer(path) || !take_lock(runs || when == CGX_STATS_FINALIZES))
        return;
    if (!written && !(runs && refused)) {
        write_to(path, when);
        written = !runs;
    }
    pthread_mutex_unlock(&lock);
}

void cgx_stats_begin(void)
{
    pthread_mutex_lock(&lock);
    world.begun = cgx_trace_clock();
    atomic_store(&process, getpid());
    pthread_mutex_unlock(&lock);
    /* Finds out before the program runs whether the file can be written. */
    cgx_stats_write(CGX_STATS_RUNS);
    begun = true;
    if (refused)
        cgx_config_end_strict();
}
