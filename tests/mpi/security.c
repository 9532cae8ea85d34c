/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

/* Four sums of a program that is linked with the library, so that the library is there even if the
 * program is set-uid: "security sum" prints whether the system treats it as set-uid. With "security
 * odd" ranks other than 0 finish with trace events that are invalid, each for one reason; with
 * "security many" with more events than there can be. cgx_trace_end is wrapped. */
#include <mpi.h>
#include <string.h>
#include <sys/auxv.h>

#include "../lib/wrap.h"
#include "lib/check.h"
#include "topo/machine.h"
#include "util/trace.h"

static const char *what = "sum";

WRAPPED(const struct cgx_trace_event *, cgx_trace_end, size_t *kept, uint64_t *dropped)
{
    static struct cgx_trace_event events[CGX_TRACE_EVENTS + 1];
    const struct cgx_trace_event *own = __real_cgx_trace_end(kept, dropped);

    if (check_rank == 0 || strcmp(what, "sum") == 0)
        return own;
    *kept = strcmp(what, "many") == 0 ? CGX_TRACE_EVENTS + 1 : 16;
    for (size_t i = 0; i < CGX_TRACE_EVENTS + 1; i++)
        events[i] = (struct cgx_trace_event){.kind = i % 3 == 0 ? 0xFE : CGX_TRACE_CALL,
                                             .type = i % 3 == 1 ? 0xFE : 0,
                                             .outcome = i % 3 == 2 ? 0xFE : 0};
    return events;
}

int main(int argc, char **argv)
{
    enum { COUNT = 65536 };
    static float buffer[COUNT];
    const struct cgx_topo *topo;
    bool all_succeed = true;

    check_begin(&argc, &argv);
    what = argc > 1 ? argv[1] : what;
    for (int i = 0; i < 4; i++)
        all_succeed = MPI_Allreduce(MPI_IN_PLACE, buffer, COUNT, MPI_FLOAT, MPI_SUM,
                                    MPI_COMM_WORLD) == MPI_SUCCESS &&
                      all_succeed;
    check(all_succeed, "all calls succeed, %s", getauxval(AT_SECURE) ? "secure" : "usual");
    if (getauxval(AT_SECURE))
        check(cgx_topo_here(CGX_TOPO_PROCESSORS, &topo) == CGX_ERR_INVALID, "hwloc is not opened");
    return check_end();
}
