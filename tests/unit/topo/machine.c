/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

/* The machine that this process runs on. */

#include "topo/machine.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "lib/tap.h"

#define THREADS 8

static void *see(void *seen)
{
    cgx_topo_here(CGX_TOPO_DEVICES, seen);
    return NULL;
}

/* All at once, and the one after them, have the same view. */
static bool is_seen_once(void)
{
    const struct cgx_topo *seen[THREADS] = {NULL}, *again = NULL;
    pthread_t threads[THREADS];
    bool same = true;

    for (int i = 0; i < THREADS; i++)
        if (pthread_create(&threads[i], NULL, see, &seen[i]) != 0)
            bail_out("no thread could be started");
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    cgx_topo_here(CGX_TOPO_DEVICES, &again);
    for (int i = 0; i < THREADS; i++)
        same = same && seen[i] != NULL && seen[i] == again;
    return same;
}

int main(void)
{
    const struct cgx_topo *topo = NULL, *again = NULL;
    struct cgx_topo_machine machine;
    char memory[16];
    enum cgx_status status;

    unsetenv("HWLOC_XMLFILE");
    unsetenv("HWLOC_SYNTHETIC");
    status = cgx_topo_here(CGX_TOPO_PROCESSORS, &topo);
    if (status == CGX_ERR_INVALID) {
        ok(topo == NULL && cgx_topo_bind(memory, sizeof memory, 0) == CGX_ERR_INVALID,
           "without hwloc the machine is unknown and memory is not bound");
        return done_testing();
    }
    cgx_topo_machine(topo, &machine);
    ok(status == CGX_OK && machine.processing_units >= 1 &&
           machine.processing_units <= (unsigned)sysconf(_SC_NPROCESSORS_CONF),
       "this machine has the processing units that the system counts");
    ok(cgx_topo_here(CGX_TOPO_PROCESSORS, &again) == CGX_OK && again == topo,
       "a machine is looked at once");
    ok(is_seen_once(), "threads that ask at the same time get the same answer");
    ok(dlopen("libhwloc.so.15", RTLD_NOLOAD | RTLD_LAZY) != NULL, "hwloc stays open");
    return done_testing();
}
