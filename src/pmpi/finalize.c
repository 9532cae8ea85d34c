/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

#include "pmpi/finalize.h"

#include <stdatomic.h>

#include "cuda/peers.h"
#include "mpi/config.h"
#include "mpi/world.h"
#include "observe/notices.h"
#include "observe/stats.h"
#include "observe/timeline.h"
#include "observe/totals.h"

static void finish(int rank, int size)
{
    cgx_totals_log(rank);
    cgx_notice_count();
    cgx_stats_write(CGX_STATS_FINALIZES);
    cgx_timeline_write(rank, size);
    cgx_cuda_finalize();
}

void cgx_finalize_prepare(void)
{
    static atomic_bool prepared;

    if (atomic_load_explicit(&prepared, memory_order_acquire) || !cgx_world_exists())
        return;
    cgx_config();
    cgx_stats_begin(cgx_world_rank(), cgx_world_size());
    cgx_world_at_end(finish);
    atomic_store_explicit(&prepared, true, memory_order_release);
}

void cgx_finalize_abort(void)
{
    cgx_stats_write(CGX_STATS_ABORTS);
}

__attribute__((destructor)) static void leave(void)
{
    cgx_stats_write(CGX_STATS_EXITS);
}
