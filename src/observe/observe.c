/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

#include "observe/notices.h"
#include "observe/record.h"
#include "observe/stats.h"
#include "observe/timeline.h"
#include "observe/totals.h"
#include "util/log.h"

void cgx_observe(struct cgx_stats *stats, const struct cgx_record *record)
{
    cgx_totals_count(record);
    if (record->reason && cgx_log_level() >= CGX_LOG_DEBUG)
        cgx_reason_log(record->reason, record->request);
    if (record->ranks == 0)
        return;
    if (cgx_trace_is_on())
        cgx_timeline_record(record);
    if (stats)
        cgx_stats_count(stats, record);
    cgx_notice_record(record);
}
