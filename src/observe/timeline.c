/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

#include "observe/timeline.h"

#include <errno.h>
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
#include "util/output.h"

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
                                                  .type = (uint8_t)cgx_type_of(plan->dtype),
                                                  .bits = bits_of(plan),
                                                  .outcome = (uint8_t)outcome});
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
    return has_own_file() ? APART : TOGETHER;
}

/* That the file cannot be written is better known now than after hours. */
static void begin(void)
{
    char path[CGX_CONFIG_PATH_BYTES];
    int file;

    if (cgx_config_name_file(cgx_config()->trace_path, cgx_world_rank(), path)) {
        file = cgx_output_open(path);
        refused = file < 0;
        if (refused)
            cgx_log(CGX_LOG_ERROR, "CGX_TRACE: %s cannot be written: %s; there will be no timeline",
                    path, strerror(errno));
        else
            close(file);
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

/* ---- messages between rank 0 and another, in MPI_Finalize ---- */

enum direction { SEND, RECEIVE };

/* For so many polls the other rank is taken to be about to answer. */
#define POLLS_BEFORE_NAP 2000

struct message {
    _Alignas(max_align_t) unsigned char request[CGX_MPI_REQUEST_MOST];
    enum direction direction;
    size_t bytes;
};

static int begin_message(struct message *message, enum direction direction, void *data,
                         size_t bytes, int peer)
{
    const struct cgx_mpi *mpi = cgx_mpi();

    message->direction = direction;
    message->bytes = bytes;
    if (direction == SEND)
        return mpi->Isend(data, (int)bytes, mpi->BYTE, peer, TAG, mpi->COMM_WORLD,
                          message->request);
    return mpi->Irecv(data, (int)bytes, mpi->BYTE, peer, TAG, mpi->COMM_WORLD, message->request);
}

/* A message that is shorter than it should be is its sender's last: see give_up. */
static int end_message(struct message *message)
{
    const struct cgx_mpi *mpi = cgx_mpi();
    static const struct timespec nap = {.tv_nsec = 100000};
    _Alignas(max_align_t) unsigned char status[CGX_MPI_STATUS_MOST];
    int code = CGX_MPI_SUCCESS, index, done = 0, count = 0;

    for (unsigned polls = 0; code == CGX_MPI_SUCCESS && done == 0; polls++) {
        code = mpi->Testsome(1, message->request, &done, &index, status);
        if (done == 0 && polls < POLLS_BEFORE_NAP)
            sched_yield();
        else if (done == 0)
            nanosleep(&nap, NULL);
    }
    if (code != CGX_MPI_SUCCESS || message->direction == SEND)
        return code;
    code = mpi->Get_count(status, mpi->BYTE, &count);
    return code == CGX_MPI_SUCCESS && (size_t)count < message->bytes ? mpi->ERR_OTHER : code;
}

static int move(enum direction direction, void *data, size_t bytes, int peer)
{
    struct message message;
    int code = begin_message(&message, direction, data, bytes, peer);

    return code == CGX_MPI_SUCCESS ? end_message(&message) : code;
}

/* Where MPI has failed: PEER, which may be waiting for a message, is not to wait for ever. */
static void give_up(int peer)
{
    static char nothing;

    move(SEND, &nothing, 0, peer);
}

/* What a rank brings to the timeline. */
struct own {
    struct cgx_timeline_rank about;
    const struct cgx_trace_event *events;
};

static struct own own_events(int rank)
{
    struct own own = {.about = {.rank = rank, .first = INT64_MAX}};

    own.events = cgx_trace_end(&own.about.kept, &own.about.dropped);
    for (size_t i = 0; i < own.about.kept; i++)
        if (own.events[i].begin < own.about.first)
            own.about.first = own.events[i].begin;
    return own;
}

/* To rank 0, if no rank lacks what it takes. When the reduction is over every rank is in
 * MPI_Finalize, and no receive of the program's can take what is sent then. */
static void send_to_root(struct own own)
{
    static int64_t now; /* a receive that fails may be written to later */
    int able = 1;
    int code = cgx_mpi_least(cgx_mpi()->COMM_WORLD, &able, 1);

    if (code != CGX_MPI_SUCCESS || !able)
        return;
    code = move(SEND, &own.about, sizeof own.about, 0);
    for (int i = 0; code == CGX_MPI_SUCCESS && i < ROUNDS; i++) {
        code = move(RECEIVE, &now, sizeof now, 0);
        now = cgx_trace_clock();
        if (code == CGX_MPI_SUCCESS)
            code = move(SEND, &now, sizeof now, 0);
    }
    /* Large messages wait for who receives them. */
    if (code == CGX_MPI_SUCCESS)
        code = move(RECEIVE, &now, sizeof now, 0);
    if (code == CGX_MPI_SUCCESS && own.about.kept > 0)
        code = move(SEND, (void *)own.events, own.about.kept * sizeof *own.events, 0);
    if (code != CGX_MPI_SUCCESS)
        give_up(0);
}

/* Sets RANK's shift to this rank's clock. Where the clocks may be the same they are taken for the
 * same, as those of two ranks of one host are. */
static int compare_clocks(struct cgx_timeline_rank *rank)
{
    static int64_t there; /* a receive that fails may be written to later */
    int64_t shortest = INT64_MAX;
    int code = CGX_MPI_SUCCESS;

    for (int i = 0; code == CGX_MPI_SUCCESS && i < ROUNDS; i++) {
        int64_t sent = cgx_trace_clock(), back;

        code = move(SEND, &sent, sizeof sent, rank->rank);
        if (code == CGX_MPI_SUCCESS)
            code = move(RECEIVE, &there, sizeof there, rank->rank);
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
static int meet_ranks(struct cgx_timeline_rank *ranks, int size)
{
    int64_t start = ranks[0].first;
    int code = CGX_MPI_SUCCESS;

    for (int i = 1; i < size; i++) {
        ranks[i] = (struct cgx_timeline_rank){.rank = i};
        if (code == CGX_MPI_SUCCESS)
            code = move(RECEIVE, &ranks[i], sizeof ranks[i], i);
        ranks[i].rank = i;
        if (ranks[i].kept > CGX_TRACE_EVENTS)
            ranks[i].kept = CGX_TRACE_EVENTS;
        if (code == CGX_MPI_SUCCESS)
            code = compare_clocks(&ranks[i]);
        if (ranks[i].kept > 0 && ranks[i].first + ranks[i].shift < start)
            start = ranks[i].first + ranks[i].shift;
    }
    for (int i = 0; i < size; i++)
        ranks[i].shift -= start == INT64_MAX ? 0 : start;
    return code;
}

/* What of the COUNT EVENTS that came is no event becomes an empty one. */
static void check_events(struct cgx_trace_event *events, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (events[i].kind >= CGX_TRACE_KINDS || events[i].type > CGX_TYPE_OPAQUE16 ||
            events[i].outcome > CGX_OUTCOME_BROKEN)
            events[i] = (struct cgx_trace_event){.kind = CGX_TRACE_DRAIN};
}

/* Those of RANK, which sends when it is told that they are awaited. */
static int receive_events(const struct cgx_timeline_rank *rank, struct cgx_trace_event *room)
{
    static int64_t awaited;
    struct message events;
    int code = CGX_MPI_SUCCESS;

    if (rank->kept > 0)
        code = begin_message(&events, RECEIVE, room, rank->kept * sizeof *room, rank->rank);
    if (code == CGX_MPI_SUCCESS)
        code = move(SEND, &awaited, sizeof awaited, rank->rank);
    if (code == CGX_MPI_SUCCESS && rank->kept > 0)
        code = end_message(&events);
    check_events(room, rank->kept);
    return code;
}

/* Each rank's events are in ROOM, one after the other; what MPI fails to bring is left out. */
static int gather(FILE *file, const struct own *own, struct cgx_timeline_rank *ranks, int size,
                  struct cgx_trace_event *room)
{
    int code;

    ranks[0] = own->about;
    code = meet_ranks(ranks, size);
    cgx_timeline_put_head(file, ranks, (size_t)size);
    cgx_timeline_put_rank(file, &ranks[0], own->events, true);
    for (int i = 1; code == CGX_MPI_SUCCESS && i < size; i++) {
        code = receive_events(&ranks[i], room);
        if (code == CGX_MPI_SUCCESS)
            cgx_timeline_put_rank(file, &ranks[i], room, false);
    }
    cgx_timeline_put_tail(file);
    for (int i = 1; code != CGX_MPI_SUCCESS && i < size; i++)
        give_up(i);
    return code;
}

/* ---- the end ---- */

/* This rank alone, in its own time. */
static void put_alone(FILE *file, const struct own *own)
{
    cgx_timeline_put_head(file, &own->about, 1);
    cgx_timeline_put_rank(file, &own->about, own->events, true);
    cgx_timeline_put_tail(file);
}

/* If WITH_OTHERS, with what all other ranks send; no rank sends if this one cannot take. Where MPI
 * fails, as it may after a host has vanished, what this rank did is there all the same. */
static bool write_file(const char *path, int size, const struct own *own, bool with_others)
{
    struct cgx_timeline_rank *ranks = calloc((size_t)size, sizeof *ranks);
    struct cgx_trace_event *room = calloc(CGX_TRACE_EVENTS, sizeof *room);
    struct cgx_output output;
    int able = ranks && room && !refused && cgx_output_begin(&output, path);
    int is_open = able, saved = errno, code = CGX_MPI_SUCCESS;
    bool written = refused;

    if (with_others)
        code = cgx_mpi_least(cgx_mpi()->COMM_WORLD, &able, 1);
    if (with_others && code == CGX_MPI_SUCCESS && able && is_open)
        code = gather(output.stream, own, ranks, size, room);
    else if (is_open)
        put_alone(output.stream, own);
    if (code != CGX_MPI_SUCCESS)
        cgx_mpi_log_error(cgx_mpi(), "CGX_TRACE: the ranks' events could not be gathered", code);
    if (is_open) {
        written = cgx_output_end(&output);
        saved = errno;
    }
    /* MPI may write to what it failed to receive. */
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
    struct own own;
    bool mine, gathered;

    if (!is_wanted())
        return;
    mine = cgx_config_name_file(cgx_config()->trace_path, rank, path);
    own = own_events(rank);
    gathered = atomic_load(&together) && cgx_errors_return(world, &handler) == CGX_MPI_SUCCESS;
    if (mine)
        report(path, write_file(path, size, &own, gathered),
               !gathered && size > 1 && !has_own_file());
    else if (gathered)
        send_to_root(own);
    if (gathered)
        cgx_errors_restore(world, handler);
}
