/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

/* The only way from a call to totals, statistics, the timeline and notices. */
#ifndef CGX_OBSERVE_OBSERVE_H
#define CGX_OBSERVE_OBSERVE_H

#include "observe/record.h"

struct cgx_stats;

/* Takes RECORD, of a call that has ended without an error, or is about to fail because of
 * compression. STATS are its communicator's; NULL: it has none. */
void cgx_observe(struct cgx_stats *stats, const struct cgx_record *record);

#endif
