/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

#include "observe/timeline.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "mpi/config.h"
#include "mpi/world.h"
#include "util/log.h"
#include "util/output.h"

static pthread_once_t begun_once = PTHREAD_ONCE_INIT;
static bool refused; /* this rank's file cannot be written */

/* ---- recording ---- */

static uint8_t bits_of(const struct cgx_plan *plan)
{
    const struct cgx_segment first = cgx_plan_first(plan);

    return plan->nsegments > 1 ? CGX_TIMELINE_SEVERAL : (uint8_t)cgx_encoding_width(first.encoding);
}

/* Records the sum that took SPAN, with what EVENT says of it; nothing if it is not known when. */
static void add(const struct cgx_record *record, const struct cgx_span *span,
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
        add(record, &record->run,
            (struct cgx_trace_event){.bytes = record->sent,
                                     .slice = record->slices,
                                     .kind = CGX_TRACE_CALL,
                                     .type = (uint8_t)cgx_type_of(record->plan->dtype),
                                     .bits = bits_of(record->plan),
                                     .outcome = (uint8_t)record->outcome});
    add(record, &record->exact,
        (struct cgx_trace_event){.kind = CGX_TRACE_EXACT, .type = (uint8_t)record->request->type});
}

static bool is_wanted(void)
{
    return cgx_config()->trace_path[0] != '\0';
}

static void name_file(int rank, char path[CGX_CONFIG_PATH_BYTES])
{
    const char *set = cgx_config()->trace_path;
    char each[CGX_CONFIG_PATH_BYTES];

    snprintf(each, sizeof each, "%s%s", set, strstr(set, "%r") ? "" : ".%r");
    cgx_config_name_file(each, rank, path);
}

/* Finds out now, and not after hours, whether the file can be written. */
static void begin(void)
{
    char path[CGX_CONFIG_PATH_BYTES];
    int file;

    name_file(cgx_world_rank(), path);
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
        pthread_once(&begun_once, begin);
}

/* ---- the end ---- */

void cgx_timeline_write(int rank)
{
    char path[CGX_CONFIG_PATH_BYTES];
    const struct cgx_trace_event *events;
    struct cgx_output output;
    uint64_t dropped;
    size_t count;
    bool written = false;

    if (!is_wanted() || refused)
        return;
    events = cgx_trace_end(&count, &dropped);
    name_file(rank, path);
    if (cgx_output_begin(&output, path)) {
        cgx_timeline_put(output.stream, rank, events, count, dropped);
        written = cgx_output_end(&output);
    }
    if (!written)
        cgx_log(CGX_LOG_ERROR, "CGX_TRACE: %s was not written: %s", path, strerror(errno));
}
