/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

/* Four sums of a program that is linked with the library, so that the library is there even if the
 * program is set-uid; prints whether the system treats it as set-uid. */
#include <sys/auxv.h>

#include "lib/check.h"
#include "topo/machine.h"

int main(int argc, char **argv)
{
    enum { COUNT = 65536 };
    static float buffer[COUNT];
    bool all_succeed = true;

    check_begin(&argc, &argv);
    for (int i = 0; i < 4; i++)
        all_succeed = MPI_Allreduce(MPI_IN_PLACE, buffer, COUNT, MPI_FLOAT, MPI_SUM,
                                    MPI_COMM_WORLD) == MPI_SUCCESS &&
                      all_succeed;
    check(all_succeed, "all calls succeed, %s", getauxval(AT_SECURE) ? "secure" : "usual");
    if (getauxval(AT_SECURE))
        check(!cgx_topo_here(CGX_TOPO_PROCESSORS), "hwloc is not opened");
    return check_end();
}
