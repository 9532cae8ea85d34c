/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

#include "observe/record.h"

#include <errno.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "codec/backend.h"
#include "mpi/config.h"
#include "mpi/world.h"
#include "observe/json.h"
#include "util/log.h"
#include "util/output.h"
#include "util/trace.h"

/* Of an event's bits, besides widths. */
#define SEVERAL 255

static pthread_once_t begun_once = PTHREAD_ONCE_INIT;
static bool refused; /* this rank's file cannot be written */

/* ---- recording ---- */

static uint8_t bits_of(const struct cgx_plan *plan)
{
    const struct cgx_segment first = cgx_plan_first(plan);

    return plan->nsegments > 1 ? SEVERAL : (uint8_t)cgx_encoding_width(first.encoding);
}

/* Records the sum that took SPAN, with what EVENT says of it; nothing if it is not known when. */
static void add_sum(const struct cgx_record *record, const struct cgx_span *span,
                    struct cgx_trace_event event)
{
    if (span->begun == 0)
        return;
    event.begin = span->begun;
    event.end = span->ended;
    event.count = (uint64_t)record->request->count;
    cgx_trace_record(event);
}

void cgx_timeline_record(const struct cgx_record *record)
{
    if (record->plan)
        add_sum(record, &record->run,
                (struct cgx_trace_event){.bytes = record->sent,
                                         .slice = record->slices,
                                         .kind = CGX_TRACE_CALL,
                                         .type = (uint8_t)cgx_type_of(record->plan->dtype),
                                         .bits = bits_of(record->plan),
                                         .outcome = (uint8_t)record->outcome});
    add_sum(
        record, &record->exact,
        (struct cgx_trace_event){.kind = CGX_TRACE_EXACT, .type = (uint8_t)record->request->type});
}

static bool is_wanted(void)
{
    return cgx_config()->trace_path[0] != '\0';
}

static void name_file(char path[CGX_CONFIG_PATH_BYTES])
{
    const char *set = cgx_config()->trace_path;
    char each[CGX_CONFIG_PATH_BYTES];

    snprintf(each, sizeof each, "%s%s", set, strstr(set, "%r") ? "" : ".%r");
    cgx_config_name_file(each, cgx_world_rank(), path);
}

/* Finds out now, and not after hours, whether the file can be written. */
static void begin_timeline(void)
{
    char path[CGX_CONFIG_PATH_BYTES];
    int file;

    name_file(path);
    file = cgx_output_open(path);
    refused = file < 0;
    if (refused) {
        cgx_log(CGX_LOG_ERROR, "CGX_TRACE: %s cannot be written: %s; %s", path, strerror(errno),
                cgx_settings_consequence(cgx_config(), "there will be no timeline"));
        cgx_config_end_strict();
    } else {
        close(file);
    }
    if (!cgx_trace_begin())
        cgx_log(CGX_LOG_WARN, "CGX_TRACE: out of memory: the timeline has no events of this rank");
}

void cgx_timeline_begin(void)
{
    if (is_wanted() && cgx_world_ends())
        pthread_once(&begun_once, begin_timeline);
}

/* ---- writing ---- */

/* Chrome's trace-event format, in its form as a JSON object. Only integers are printed, so that the
 * program's locale does not matter. */

/* Rows of a thread: one for calls and one for each slot. */
#define ROWS (1 + CGX_SLOTS)

static const char *const names[CGX_TRACE_KINDS] = {
    [CGX_TRACE_CALL] = "compressed call",
    [CGX_TRACE_EXACT] = "exact call",
    [CGX_TRACE_DRAIN] = "wait for the last work",
    [CGX_TRACE_SLICE] = "slice",
    [CGX_TRACE_ENCODE] = "encode",
    [CGX_TRACE_WAIT_ENCODER] = "wait for the encoder",
    [CGX_TRACE_REDUCE_SCATTER_INTRA] = "reduce-scatter inside the node",
    [CGX_TRACE_REDUCE_SCATTER_INTER] = "reduce-scatter between nodes",
    [CGX_TRACE_SUM] = "sum",
    [CGX_TRACE_ALLGATHER_INTER] = "allgather between nodes",
    [CGX_TRACE_ALLGATHER_INTRA] = "allgather inside the node",
    [CGX_TRACE_DECODE] = "decode",
};

static void put_microseconds(FILE *out, const char *name, int64_t nanoseconds)
{
    fprintf(out, "\"%s\": %" PRId64 ".%03u", name, nanoseconds / 1000,
            (unsigned)(nanoseconds % 1000));
}

/* Ranks on one host have one clock. */
static void put_head(FILE *out, int rank, size_t count, uint64_t dropped)
{
    struct cgx_json json = {.out = out};
    char host[256] = "";

    gethostname(host, sizeof host - 1);
    fputs(
        "{\"displayTimeUnit\": \"ns\",\n\"otherData\": {\"library\": \"libcgxpmpi " PACKAGE_VERSION
        "\", \"ranks\": [\n",
        out);
    cgx_json_open(&json, NULL, '{');
    cgx_json_count(&json, "rank", (uint64_t)rank);
    cgx_json_string(&json, "host", host);
    cgx_json_count(&json, "events", count);
    cgx_json_count(&json, "dropped", dropped);
    cgx_json_close(&json, '}');
    fputs("]},\n\"traceEvents\": [", out);
}

/* ---- processes and threads in viewers ---- */

static void put_metadata(FILE *out, int rank, unsigned tid, const char *what)
{
    fprintf(out, "\n{\"ph\": \"M\", \"pid\": %d, \"tid\": %u, \"name\": \"%s\", \"args\": ", rank,
            tid, what);
}

static unsigned tid_of(const struct cgx_trace_event *event)
{
    return event->thread * ROWS + event->row;
}

static void put_row(FILE *out, int rank, const struct cgx_trace_event *event)
{
    unsigned tid = tid_of(event);

    fputc(',', out);
    put_metadata(out, rank, tid, "thread_name");
    if (event->row == 0)
        fputs("{\"name\": \"calls", out);
    else
        fprintf(out, "{\"name\": \"slot %u", event->row - 1u);
    if (event->thread > 0)
        fprintf(out, " of thread %u", event->thread);
    fputs("\"}},", out);
    put_metadata(out, rank, tid, "thread_sort_index");
    fprintf(out, "{\"sort_index\": %u}}", tid);
}

static void put_process(FILE *out, int rank)
{
    put_metadata(out, rank, 0, "process_name");
    fprintf(out, "{\"name\": \"rank %d\"}},", rank);
    put_metadata(out, rank, 0, "process_sort_index");
    fprintf(out, "{\"sort_index\": %d}}", rank);
}

/* ---- events ---- */

static void put_call(FILE *out, const struct cgx_trace_event *event)
{
    static const char *const outcomes[] = {[CGX_OUTCOME_DONE] = "done",
                                           [CGX_OUTCOME_DECLINED] = "done exactly instead",
                                           [CGX_OUTCOME_HELD] =
                                               "done exactly: its data is not that of gradients",
                                           [CGX_OUTCOME_HALFWAY] = "declined half-way",
                                           [CGX_OUTCOME_UNRECOVERABLE] = "unrecoverable",
                                           [CGX_OUTCOME_LOST] = "lost on this rank",
                                           [CGX_OUTCOME_BROKEN] = "broken"};

    fprintf(out, "\"count\": %" PRIu64 ", \"type\": \"%s\"", event->count,
            cgx_type_name((enum cgx_type_class)event->type));
    if (event->kind == CGX_TRACE_EXACT)
        return;
    if (event->bits == SEVERAL)
        fputs(", \"bits\": \"several\"", out);
    else
        fprintf(out, ", \"bits\": %u", event->bits);
    fprintf(out, ", \"slices\": %" PRIu32 ", \"bytes sent\": %" PRIu64 ", \"outcome\": \"%s\"",
            event->slice, event->bytes, outcomes[event->outcome]);
}

static void put_event(FILE *out, int rank, const struct cgx_trace_event *event)
{
    fprintf(out, ",\n{\"ph\": \"X\", \"pid\": %d, \"tid\": %u, ", rank, tid_of(event));
    put_microseconds(out, "ts", event->begin);
    fputs(", ", out);
    put_microseconds(out, "dur", event->end - event->begin);
    fprintf(out, ", \"name\": \"%s\", \"cat\": \"%s\", \"args\": {", names[event->kind],
            event->row == 0 ? "call" : "slice");
    if (event->kind == CGX_TRACE_CALL || event->kind == CGX_TRACE_EXACT)
        put_call(out, event);
    else if (event->row > 0)
        fprintf(out, "\"slice\": %" PRIu32 ", \"slot\": %u", event->slice, event->row - 1u);
    if (event->kind == CGX_TRACE_SLICE)
        fprintf(out, ", \"bytes sent\": %" PRIu64, event->bytes);
    fputs("}}", out);
}

struct timeline {
    const struct cgx_trace_event *events;
    size_t count;
    uint64_t dropped;
};

static void put_timeline(FILE *out, const void *state)
{
    const struct timeline *timeline = state;
    const int rank = cgx_world_rank();

    put_head(out, rank, timeline->count, timeline->dropped);
    put_process(out, rank);
    for (size_t i = 0; i < timeline->count; i++) {
        const struct cgx_trace_event *event = &timeline->events[i];

        if (i == 0 || tid_of(event) != tid_of(event - 1))
            put_row(out, rank, event);
        put_event(out, rank, event);
    }
    fputs("\n]}\n", out);
}

/* ---- the end ---- */

void cgx_timeline_write(void)
{
    char path[CGX_CONFIG_PATH_BYTES];
    struct timeline timeline;

    if (!is_wanted() || refused)
        return;
    timeline.events = cgx_trace_end(&timeline.count, &timeline.dropped);
    name_file(path);
    if (!cgx_output_replace(path, put_timeline, &timeline))
        cgx_log(CGX_LOG_ERROR, "CGX_TRACE: %s was not written: %s", path, strerror(errno));
}
