/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

/* CGX_TRACE: the timeline of this rank, which it writes in MPI_Finalize into a file of its own: the
 * setting's name with the rank for "%r" or, without that, behind it. cgx-report(1) merges the
 * files. util/trace.h has the events. */
#ifndef CGX_OBSERVE_TIMELINE_H
#define CGX_OBSERVE_TIMELINE_H

#include "observe/record.h"
#include "util/trace.h"

/* Records events from now on, if CGX_TRACE is set. */
void cgx_timeline_begin(void);

/* Records the sums of a call, compressed and exact. */
void cgx_timeline_record(const struct cgx_record *record);

/* In MPI_Finalize, on every rank of MPI_COMM_WORLD. Logs an error if writing fails. */
void cgx_timeline_write(void);

#endif
