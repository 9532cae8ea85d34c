/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

#include "observe/timeline.h"

#include <errno.h>
#include <pthread.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "mpi/config.h"
#include "mpi/errors.h"
#include "mpi/stall.h"
#include "mpi/world.h"
#include "util/log.h"
#include "util/output.h"

/* Values of cgx_timeline_word. */
enum { NONE, TOGETHER, SEPARATE };

static pthread_once_t begun_once = PTHREAD_ONCE_INIT;
static bool refused;         /* this rank's file cannot be written */
static atomic_bool together; /* all ranks of MPI_COMM_WORLD will send their events to rank 0 */

/* ---- recording ---- */

static uint8_t bits_of(const struct cgx_plan *plan)
{
    if (plan->adaptive)
        return CGX_TIMELINE_ADAPTIVE;
    for (size_t i = 1; i < plan->nsegments; i++) {
        if (plan->segments[i].bits != plan->segments[0].bits)
            return CGX_TIMELINE_SEVERAL;
    }
    return plan->segments[0].bits;
}

enum cgx_outcome cgx_timeline_run(struct cgx_coll *coll, int64_t *elapsed)
{
    const struct cgx_plan *plan = coll->schedule->plan;
    int64_t time = cgx_trace_now(), begun = cgx_trace_clock();
    enum cgx_outcome outcome = cgx_coll_run(coll);

    *elapsed = cgx_trace_clock_since(begun) - begun;
    if (time != 0)
        cgx_trace_record((struct cgx_trace_event){.begin = time,
                                                  .count = plan->count,
                                                  .bytes = coll->sent,
                                                  .slice = coll->schedule->slices,
                                                  .kind = CGX_TRACE_CALL,
                                                  .type = (uint8_t)cgx_type_of(plan->dtype),
                                                  .bits = bits_of(plan),
                                                  .outcome = (uint8_t)outcome});
    return outcome;
}

void cgx_timeline_exact(int64_t begun, uint64_t count, enum cgx_type_class type)
{
    if (begun != 0)
        cgx_trace_record((struct cgx_trace_event){
            .begin = begun, .count = count, .kind = CGX_TRACE_EXACT, .type = (uint8_t)type});
}

/* ---- who takes part ---- */

static bool is_wanted(void)
{
    return cgx_config()->trace_path[0] != '\0';
}

static bool has_own_file(void)
{
    return strstr(cgx_config()->trace_path, "%r") != NULL;
}

uint32_t cgx_timeline_word(void)
{
    if (!is_wanted() || !cgx_world_ends())
        return NONE;
    return has_own_file() ? SEPARATE : TOGETHER;
}

/* Finds out now, and not after hours, whether the file can be written. */
static void begin(void)
{
    char path[CGX_CONFIG_PATH_BYTES];
    int file;

    if (cgx_config_name_file(cgx_config()->trace_path, cgx_world_rank(), path)) {
        file = cgx_output_open(path);
        refused = file < 0;
        if (refused)
            cgx_log(CGX_LOG_ERROR, "CGX_TRACE: %s cannot be written: %s; %s", path, strerror(errno),
                    cgx_settings_consequence(cgx_config(), "there will be no timeline"));
        else
            close(file);
        if (refused)
            cgx_config_end_strict();
    }
    if (!cgx_trace_begin())
        cgx_log(CGX_LOG_WARN, "CGX_TRACE: out of memory: the timeline has no events of this rank");
}

void cgx_timeline_meet(cgx_mpi_comm comm, bool alike)
{
    const struct cgx_mpi *mpi = cgx_mpi();
    int size, all;

    if (cgx_timeline_word() == NONE)
        return;
    pthread_once(&begun_once, begin);
    if (alike && !has_own_file() && mpi->Comm_size(comm, &size) == CGX_MPI_SUCCESS &&
        mpi->Comm_size(mpi->COMM_WORLD, &all) == CGX_MPI_SUCCESS && size == all)
        atomic_store(&together, true);
}

/* ---- the end ---- */

static struct cgx_timeline_events take_events(int rank)
{
    struct cgx_timeline_events mine = {.about = {.rank = rank, .first = INT64_MAX}};

    mine.events = cgx_trace_end(&mine.about.kept, &mine.about.dropped);
    for (size_t i = 0; i < mine.about.kept; i++)
        if (mine.events[i].begin < mine.about.first)
            mine.about.first = mine.events[i].begin;
    return mine;
}

/* Writes the events of this rank alone, by its own clock. */
static void put_alone(FILE *file, const struct cgx_timeline_events *mine)
{
    cgx_timeline_put_head(file, &mine->about, 1);
    cgx_timeline_put_rank(file, &mine->about, mine->events, true);
    cgx_timeline_put_tail(file);
}

/* Writes the file; WITH_OTHERS: with the events of all other ranks, which send nothing if this rank
 * cannot receive. If MPI fails, as it may after a host has vanished, the file still has this rank's
 * events. */
static bool write_file(const char *path, int size, const struct cgx_timeline_events *mine,
                       bool with_others)
{
    /* Kept if MPI fails, since it may still write to pending receives. */
    static struct cgx_timeline_rank *ranks;
    static struct cgx_trace_event *room;
    struct cgx_output output;
    int able, is_open, saved, code = CGX_MPI_SUCCESS;
    bool written = refused;

    ranks = calloc((size_t)size, sizeof *ranks);
    room = calloc(CGX_TRACE_EVENTS, sizeof *room);
    able = is_open = ranks && room && !refused && cgx_output_begin(&output, path);
    saved = errno;
    if (with_others)
        code = cgx_mpi_least(cgx_mpi()->COMM_WORLD, &able, 1);
    if (with_others && code == CGX_MPI_SUCCESS && able && is_open)
        code = cgx_timeline_gather(output.stream, mine, ranks, size, room);
    else if (is_open)
        put_alone(output.stream, mine);
    if (code != CGX_MPI_SUCCESS)
        cgx_mpi_log_error(cgx_mpi(), "CGX_TRACE: the ranks' events could not be gathered", code);
    if (is_open) {
        written = cgx_output_end(&output);
        saved = errno;
    }
    if (code == CGX_MPI_SUCCESS) {
        free(ranks);
        free(room);
    }
    errno = saved;
    return written;
}

static void report(const char *path, bool written, bool lacks_others)
{
    if (!written)
        cgx_log(CGX_LOG_ERROR, "CGX_TRACE: %s was not written: %s", path, strerror(errno));
    else if (lacks_others && !refused)
        cgx_log(
            CGX_LOG_WARN,
            "CGX_TRACE: %s has rank 0 alone: the program made no call on a communicator of all "
            "ranks that might be compressed, or not all ranks have the same CGX_TRACE; with %%r "
            "in the name each rank writes its own",
            path);
}

void cgx_timeline_write(int rank, int size)
{
    cgx_mpi_comm world = cgx_mpi()->COMM_WORLD;
    char path[CGX_CONFIG_PATH_BYTES];
    cgx_mpi_errhandler handler;
    struct cgx_timeline_events mine;
    bool named, gathered;

    if (!is_wanted())
        return;
    cgx_stall_sum(0, 0, world);
    named = cgx_config_name_file(cgx_config()->trace_path, rank, path);
    mine = take_events(rank);
    gathered = atomic_load(&together) && cgx_errors_return(world, &handler) == CGX_MPI_SUCCESS;
    if (named)
        report(path, write_file(path, size, &mine, gathered),
               !gathered && size > 1 && !has_own_file());
    else if (gathered)
        cgx_timeline_send(&mine);
    if (gathered)
        cgx_errors_restore(world, handler);
}
