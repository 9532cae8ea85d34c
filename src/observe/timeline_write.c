/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

/* Writes Chrome's trace-event format, in its form as a JSON object. Only integers are printed, so
 * that the program's locale does not matter. */
#include <inttypes.h>
#include <unistd.h>

#include "codec/backend.h"
#include "observe/json.h"
#include "observe/timeline.h"

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

static void put_process(FILE *out, int rank, uint64_t dropped)
{
    put_metadata(out, rank, 0, "process_name");
    fprintf(out, "{\"name\": \"rank %d\"}},", rank);
    put_metadata(out, rank, 0, "process_sort_index");
    fprintf(out, "{\"sort_index\": %d}}", rank);
    if (dropped == 0)
        return;
    fputc(',', out);
    put_metadata(out, rank, 0, "process_labels");
    fprintf(out, "{\"labels\": \"%" PRIu64 " later events dropped\"}}", dropped);
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
    if (event->bits == CGX_TIMELINE_SEVERAL)
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

void cgx_timeline_put(FILE *out, int rank, const struct cgx_trace_event *events, size_t count,
                      uint64_t dropped)
{
    put_head(out, rank, count, dropped);
    put_process(out, rank, dropped);
    for (size_t i = 0; i < count; i++) {
        if (i == 0 || tid_of(&events[i]) != tid_of(&events[i - 1]))
            put_row(out, rank, &events[i]);
        put_event(out, rank, &events[i]);
    }
    fputs("\n]}\n", out);
}
