/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

/* The machine that hwloc sees; HWLOC_SYNTHETIC makes it see any that one likes. */

#include "topo/machine.h"

#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../lib/tap.h"

static bool seen(const char *synthetic, unsigned packages, unsigned numa_nodes, unsigned cores,
                 unsigned processing_units)
{
    struct cgx_topo_machine machine;

    setenv("HWLOC_SYNTHETIC", synthetic, 1);
    if (cgx_topo_machine(&machine) != CGX_OK)
        return false;
    diag("%s: %u %u %u %u", synthetic, machine.packages, machine.numa_nodes, machine.cores,
         machine.processing_units);
    return machine.packages == packages && machine.numa_nodes == numa_nodes &&
           machine.cores == cores && machine.processing_units == processing_units;
}

int main(void)
{
    const struct cgx_topo_machine untouched = {7, 7, 7, 7};
    struct cgx_topo_machine machine = untouched;
    enum cgx_status status = cgx_topo_machine(&machine);

    if (strcmp(cgx_topo_build(), "none") == 0) {
        ok(status == CGX_ERR_INVALID && memcmp(&machine, &untouched, sizeof machine) == 0,
           "a build without hwloc says so and leaves the result alone");
        return done_testing();
    }
    if (status == CGX_ERR_INVALID) {
        skip("machines are counted", "libhwloc is not installed");
        return done_testing();
    }
    ok(status == CGX_OK && machine.processing_units >= 1 &&
           machine.processing_units <= (unsigned)sysconf(_SC_NPROCESSORS_CONF),
       "this machine has the processing units that the system counts");
    ok(seen("pack:2 numa:2 core:4 pu:2", 2, 4, 16, 32), "a server of two packages is counted");
    ok(seen("numa:1 core:3 pu:1", 0, 1, 3, 3), "a kind that hwloc does not see counts 0");
    ok(dlopen("libhwloc.so.15", RTLD_NOLOAD | RTLD_LAZY) == NULL, "hwloc is closed again");
    return done_testing();
}
