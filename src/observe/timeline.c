/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

#include "observe/timeline.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "mpi/config.h"
#include "mpi/errors.h"
#include "mpi/world.h"
#include "util/log.h"

/* Round trips to each rank: the shortest tells its clock. */
#define ROUNDS 8

/* In MPI_COMM_WORLD, where the program's own messages have all come when these are sent. */
#define TAG 0x6378

/* What cgx_timeline_word says. */
enum { NONE, TOGETHER, APART };

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

void cgx_timeline_compressed(int64_t begun, const struct cgx_coll *coll, enum cgx_outcome outcome)
{
    const struct cgx_plan *plan = coll->schedule->plan;

    if (begun != 0)
        cgx_trace_record((struct cgx_trace_event){.begin = begun,
                                                  .count = plan->count,
                                                  .bytes = coll->sent,
                                                  .slice = coll->schedule->slices,
                                                  .kind = CGX_TRACE_CALL,
                                                  .type = (uint8_t)plan->dtype,
                                                  .bits = bits_of(plan),
                                                  .outcome = (uint8_t)outcome});
}

void cgx_timeline_exact(int64_t begun, uint64_t count, enum cgx_type_class type)
{
    static const uint8_t types[] = {[CGX_TYPE_OTHER] = 3,
                                    [CGX_TYPE_FLOAT32] = CGX_FLOAT32,
                                    [CGX_TYPE_FLOAT16] = CGX_FLOAT16,
                                    [CGX_TYPE_BFLOAT16] = CGX_BFLOAT16,
                                    [CGX_TYPE_OPAQUE16] = 3};

    if (begun != 0)
        cgx_trace_record((struct cgx_trace_event){
            .begin = begun, .count = count, .kind = CGX_TRACE_EXACT, .type = types[type]});
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
    return has_own_file() ? APART : TOGETHER;
}

/* Better known now than after hours. */
static void try_file(int rank)
{
    char path[CGX_CONFIG_PATH_BYTES];
    int file;

    if (!cgx_config_name_file(cgx_config()->trace_path, rank, path))
        return;
    file = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0666);
    refused = file < 0;
    if (refused)
        cgx_log(CGX_LOG_ERROR, "CGX_TRACE: %s cannot be written: %s; there will be no timeline",
                path, strerror(errno));
    else
        close(file);
}

static void begin(void)
{
    int rank;

    if (cgx_mpi()->Comm_rank(cgx_mpi()->COMM_WORLD, &rank) == CGX_MPI_SUCCESS)
        try_file(rank);
    if (!cgx_trace_begin())
        cgx_log(CGX_LOG_WARN, "CGX_TRACE: out of memory: the timeline has no events of this rank");
}

void cgx_timeline_meet(const struct cgx_mpi *mpi, cgx_mpi_comm comm, bool alike)
{
    int size, all;

    if (cgx_timeline_word() == NONE)
        return;
    pthread_once(&begun_once, begin);
    if (alike && !has_own_file() && mpi->Comm_size(comm, &size) == CGX_MPI_SUCCESS &&
        mpi->Comm_size(mpi->COMM_WORLD, &all) == CGX_MPI_SUCCESS && size == all)
        atomic_store(&together, true);
}

/* ---- messages between rank 0 and another, in MPI_Finalize ---- */

enum direction { SEND, RECEIVE };

/* For so many polls the other rank is taken to be about to answer. */
#define POLLS_BEFORE_NAP 2000

static int move(const struct cgx_mpi *mpi, enum direction direction, void *data, size_t bytes,
                int peer)
{
    static const struct timespec nap = {.tv_nsec = 100000};
    _Alignas(max_align_t) unsigned char request[CGX_MPI_REQUEST_MOST], status[CGX_MPI_STATUS_MOST];
    int code, index, done = 0;

    code = direction == SEND
               ? mpi->Isend(data, (int)bytes, mpi->BYTE, peer, TAG, mpi->COMM_WORLD, request)
               : mpi->Irecv(data, (int)bytes, mpi->BYTE, peer, TAG, mpi->COMM_WORLD, request);
    for (unsigned polls = 0; code == CGX_MPI_SUCCESS && done == 0; polls++) {
        code = mpi->Testsome(1, request, &done, &index, status);
        if (done == 0 && polls < POLLS_BEFORE_NAP)
            sched_yield();
        else if (done == 0)
            nanosleep(&nap, NULL);
    }
    return code;
}

/* What a rank says of itself before it sends its events. */
struct greeting {
    uint64_t kept, dropped;
    int64_t first; /* where the first event begins */
};

static struct greeting greeting_of(const struct cgx_trace_event *events, size_t kept,
                                   uint64_t dropped)
{
    struct greeting greeting = {kept, dropped, INT64_MAX};

    for (size_t i = 0; i < kept; i++)
        greeting.first = events[i].begin < greeting.first ? events[i].begin : greeting.first;
    return greeting;
}

static int send_to_root(const struct cgx_mpi *mpi, struct greeting greeting,
                        const struct cgx_trace_event *events)
{
    int code = CGX_MPI_SUCCESS;
    int64_t now;

    for (int i = 0; code == CGX_MPI_SUCCESS && i < ROUNDS; i++) {
        code = move(mpi, RECEIVE, &now, sizeof now, 0);
        now = cgx_trace_clock();
        if (code == CGX_MPI_SUCCESS)
            code = move(mpi, SEND, &now, sizeof now, 0);
    }
    if (code == CGX_MPI_SUCCESS)
        code = move(mpi, SEND, &greeting, sizeof greeting, 0);
    if (code == CGX_MPI_SUCCESS && greeting.kept > 0)
        code = move(mpi, SEND, (void *)events, greeting.kept * sizeof *events, 0);
    return code;
}

/* Sets RANK's shift to this rank's clock. Where the clocks may be the same they are taken for the
 * same, as those of two ranks of one host are. */
static int compare_clocks(const struct cgx_mpi *mpi, struct cgx_timeline_rank *rank)
{
    int64_t shortest = INT64_MAX;
    int code = CGX_MPI_SUCCESS;

    for (int i = 0; code == CGX_MPI_SUCCESS && i < ROUNDS; i++) {
        int64_t sent = cgx_trace_clock(), there = 0, back;

        code = move(mpi, SEND, &sent, sizeof sent, rank->rank);
        if (code == CGX_MPI_SUCCESS)
            code = move(mpi, RECEIVE, &there, sizeof there, rank->rank);
        back = cgx_trace_clock();
        if (back - sent >= shortest)
            continue;
        shortest = back - sent;
        rank->error = shortest / 2;
        rank->shift = sent + rank->error - there;
        if (there >= sent && there <= back)
            rank->shift = rank->error = 0;
    }
    return code;
}

/* ---- rank 0 ---- */

/* Learns of RANKS, of which the first is this one, what they have and when it was: times in the
 * file begin with the first event of all. */
static int meet_ranks(const struct cgx_mpi *mpi, struct greeting own,
                      struct cgx_timeline_rank *ranks, int size)
{
    int64_t start = own.first;
    int code = CGX_MPI_SUCCESS;

    ranks[0] = (struct cgx_timeline_rank){.kept = own.kept, .dropped = own.dropped};
    for (int i = 1; code == CGX_MPI_SUCCESS && i < size; i++) {
        struct greeting greeting = {.first = INT64_MAX};

        ranks[i].rank = i;
        code = compare_clocks(mpi, &ranks[i]);
        if (code == CGX_MPI_SUCCESS)
            code = move(mpi, RECEIVE, &greeting, sizeof greeting, i);
        ranks[i].kept = greeting.kept;
        ranks[i].dropped = greeting.dropped;
        if (greeting.kept > 0 && greeting.first + ranks[i].shift < start)
            start = greeting.first + ranks[i].shift;
    }
    for (int i = 0; i < size; i++)
        ranks[i].shift -= start == INT64_MAX ? 0 : start;
    return code;
}

/* Each rank's events are there one after the other, in ROOM. */
static int gather(const struct cgx_mpi *mpi, FILE *file, const struct cgx_trace_event *own,
                  struct greeting greeting, struct cgx_timeline_rank *ranks, int size,
                  struct cgx_trace_event *room)
{
    int code = meet_ranks(mpi, greeting, ranks, size);

    cgx_timeline_put_head(file, ranks, (size_t)size);
    cgx_timeline_put_rank(file, &ranks[0], own, true);
    for (int i = 1; code == CGX_MPI_SUCCESS && i < size; i++) {
        if (ranks[i].kept > 0)
            code = move(mpi, RECEIVE, room, ranks[i].kept * sizeof *room, i);
        if (code == CGX_MPI_SUCCESS)
            cgx_timeline_put_rank(file, &ranks[i], room, false);
    }
    cgx_timeline_put_tail(file);
    return code;
}

/* ---- the end ---- */

static bool close_file(FILE *file)
{
    bool failed = ferror(file) != 0;

    return fclose(file) == 0 && !failed;
}

/* This rank alone, in its own time. */
static void put_alone(FILE *file, int rank, const struct cgx_trace_event *events,
                      struct greeting greeting)
{
    struct cgx_timeline_rank about = {
        .rank = rank, .kept = greeting.kept, .dropped = greeting.dropped};

    cgx_timeline_put_head(file, &about, 1);
    cgx_timeline_put_rank(file, &about, events, true);
    cgx_timeline_put_tail(file);
}

static bool write_alone(const char *path, int rank, const struct cgx_trace_event *events,
                        struct greeting greeting)
{
    FILE *file = fopen(path, "we");

    if (!file)
        return false;
    put_alone(file, rank, events, greeting);
    return close_file(file);
}

/* Of rank 0, with all others; no rank sends if it cannot take. Where MPI fails, as it may after a
 * host has vanished, what rank 0 did is there all the same. */
static bool write_together(const struct cgx_mpi *mpi, const char *path, int size,
                           const struct cgx_trace_event *events, struct greeting greeting)
{
    struct cgx_timeline_rank *ranks = calloc((size_t)size, sizeof *ranks);
    struct cgx_trace_event *room = calloc(CGX_TRACE_EVENTS, sizeof *room);
    FILE *file = ranks && room && !refused ? fopen(path, "we") : NULL;
    int able = file != NULL, saved = errno, code;
    bool written = refused;

    code = mpi->Allreduce(mpi->IN_PLACE, &able, 1, mpi->INT, mpi->MIN, mpi->COMM_WORLD);
    if (code == CGX_MPI_SUCCESS && able && file)
        code = gather(mpi, file, events, greeting, ranks, size, room);
    else if (file)
        put_alone(file, 0, events, greeting);
    if (code != CGX_MPI_SUCCESS)
        cgx_mpi_log_error(mpi, "CGX_TRACE: the ranks' events could not be gathered", code);
    if (file) {
        written = close_file(file);
        saved = errno;
    }
    free(ranks);
    free(room);
    errno = saved;
    return written;
}

/* When the reduction is over every rank is in MPI_Finalize, and no receive of the program's can
 * take what is sent then. */
static void send_together(const struct cgx_mpi *mpi, const struct cgx_trace_event *events,
                          struct greeting greeting)
{
    int able = 1;

    if (mpi->Allreduce(mpi->IN_PLACE, &able, 1, mpi->INT, mpi->MIN, mpi->COMM_WORLD) ==
            CGX_MPI_SUCCESS &&
        able)
        send_to_root(mpi, greeting, events);
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

void cgx_timeline_write(const struct cgx_mpi *mpi, int rank, int size)
{
    char path[CGX_CONFIG_PATH_BYTES];
    const struct cgx_trace_event *events;
    struct greeting greeting;
    cgx_mpi_errhandler handler;
    uint64_t dropped;
    size_t kept;
    bool mine, gathered;

    if (!is_wanted())
        return;
    mine = cgx_config_name_file(cgx_config()->trace_path, rank, path);
    events = cgx_trace_end(&kept, &dropped);
    greeting = greeting_of(events, kept, dropped);
    gathered = atomic_load(&together) &&
               cgx_errors_return(mpi, mpi->COMM_WORLD, &handler) == CGX_MPI_SUCCESS;
    if (mine)
        report(path,
               gathered  ? write_together(mpi, path, size, events, greeting)
               : refused ? true
                         : write_alone(path, rank, events, greeting),
               !gathered && size > 1 && !has_own_file());
    else if (gathered)
        send_together(mpi, events, greeting);
    if (gathered)
        cgx_errors_restore(mpi, mpi->COMM_WORLD, handler);
}
