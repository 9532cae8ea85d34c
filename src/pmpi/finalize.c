/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

#include "pmpi/call.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "mpi/config.h"
#include "mpi/world.h"
#include "observe/notices.h"
#include "observe/stats.h"
#include "observe/totals.h"
#include "util/log.h"

static void finish_process(int rank)
{
    if (rank == 0)
        cgx_totals_log();
    cgx_notice_count();
    cgx_config_log_unused_rules();
    cgx_stats_write(CGX_STATS_FINALIZES);
    cgx_timeline_write();
}

static atomic_bool called, prepared;

void cgx_finalize_prepare(void)
{
    if (atomic_load_explicit(&prepared, memory_order_acquire))
        return;
    atomic_store(&called, true);
    if (!cgx_world_exists())
        return;
    cgx_config();
    cgx_stats_begin();
    cgx_world_at_end(finish_process);
    atomic_store_explicit(&prepared, true, memory_order_release);
}

void cgx_finalize_abort(void)
{
    cgx_stats_write(CGX_STATS_ABORTS);
}

/* Says, if CGX_LOG asks for it, that an MPI program has never called MPI_Allreduce. Then settings
 * have not been read before. Calls of an unknown MPI are not counted. */
static void log_nothing(void)
{
    const char *level = getenv("CGX_LOG");
    int (*is_initialized)(int *);
    int initialized = 0;

    if (atomic_load(&called) || (cgx_mpi() && cgx_mpi()->abi != CGX_MPI_ABI_KNOWN) || !level ||
        !cgx_mpi_logs_for_job() || (strcmp(level, "info") != 0 && strcmp(level, "debug") != 0))
        return;
    is_initialized = (int (*)(int *))cgx_mpi_symbol(NULL, "PMPI_Initialized");
    if (is_initialized)
        is_initialized(&initialized);
    if (!initialized)
        return;
    cgx_log_set_level(CGX_LOG_INFO);
    cgx_log(CGX_LOG_INFO,
            "the program never called MPI_Allreduce, or a PMPI tool ahead of this library "
            "in LD_PRELOAD took the calls; what goes through NCCL, gloo, "
            "MPI_Iallreduce or other functions is not compressed");
}

__attribute__((destructor)) static void leave(void)
{
    log_nothing();
    cgx_stats_write(CGX_STATS_EXITS);
}
