/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

#include "cuda/numa.h"

#include <stdatomic.h>
#include <stdbool.h>

#include "cuda/driver.h"
#include "topo/machine.h"
#include "util/log.h"

static void say_unknown(const char *bus_id)
{
    static atomic_bool said;

    if (!atomic_exchange(&said, true))
        cgx_log(CGX_LOG_DEBUG,
                "staging memory is not bound: no NUMA node is known to be near GPU %s", bus_id);
}

static bool has_several_nodes(void)
{
    const struct cgx_topo *topo;
    struct cgx_topo_machine machine;

    if (cgx_topo_here(CGX_TOPO_PROCESSORS, &topo) != CGX_OK)
        return false;
    cgx_topo_machine(topo, &machine);
    return machine.numa_nodes > 1;
}

static enum cgx_status find_bus_id(char bus_id[CGX_TOPO_BUS_ID_BYTES])
{
    CUdevice device;
    enum cgx_status status = CGX_CUDA_CALL(cuCtxGetDevice, &device);

    if (status == CGX_OK)
        status = CGX_CUDA_CALL(cuDeviceGetPCIBusId, bus_id, CGX_TOPO_BUS_ID_BYTES, device);
    return status;
}

void cgx_cuda_bind_numa(void *memory, size_t bytes)
{
    static atomic_bool refused; /* for all nodes alike, as in containers */
    char bus_id[CGX_TOPO_BUS_ID_BYTES];
    const struct cgx_topo *topo;
    struct cgx_topo_gpu gpu;

    if (atomic_load(&refused) || !has_several_nodes() || find_bus_id(bus_id) != CGX_OK ||
        cgx_topo_here(CGX_TOPO_DEVICES, &topo) != CGX_OK)
        return;
    if (cgx_topo_gpu_at(topo, bus_id, &gpu) != CGX_OK || gpu.numa_node == CGX_TOPO_UNKNOWN)
        say_unknown(bus_id);
    else if (cgx_topo_bind(memory, bytes, (unsigned)gpu.numa_node) != CGX_OK)
        atomic_store(&refused, true);
}
