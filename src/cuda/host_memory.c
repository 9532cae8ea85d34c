/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

#include "cuda/host_memory.h"

#include <stdatomic.h>

#include "topo/machine.h"
#include "util/log.h"

/* Whether CODE says that the driver refuses to pin. Other errors come from a broken context, or
 * from memory that is pinned already. */
static bool is_refusal(CUresult code)
{
    switch (code) {
    case CUDA_ERROR_INVALID_VALUE:
    case CUDA_ERROR_OUT_OF_MEMORY:
    case CUDA_ERROR_OPERATING_SYSTEM:
    case CUDA_ERROR_NOT_PERMITTED:
    case CUDA_ERROR_NOT_SUPPORTED:
        return true;
    default:
        return false;
    }
}

static void log_refused(CUresult code)
{
    static atomic_bool logged;
    const char *name = "an error without a name";

    if (atomic_exchange(&logged, true))
        return;
    cgx_cuda()->cuGetErrorName(code, &name);
    cgx_log(CGX_LOG_WARN,
            "the CUDA driver does not pin memory of this process (cuMemHostRegister: %s): sums of "
            "buffers in GPU memory are slower; containers and virtual machines may forbid it, and "
            "so do "
            "GPUs in confidential mode",
            name);
}

CUresult cgx_cuda_pin(void *memory, size_t bytes, unsigned flags)
{
    CUresult code =
        cgx_cuda()->cuMemHostRegister(memory, bytes, CU_MEMHOSTREGISTER_PORTABLE | flags);

    if (is_refusal(code))
        log_refused(code);
    return code;
}

bool cgx_cuda_unpin(void *memory)
{
    CUresult code = cgx_cuda()->cuMemHostUnregister(memory);

    return code == CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED ||
           cgx_cuda_status(code, "cuMemHostUnregister") == CGX_OK;
}

/* ---- the nearest memory ---- */

static void log_unknown(const char *bus_id)
{
    static atomic_bool logged;

    if (!atomic_exchange(&logged, true))
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

static bool find_bus_id(char bus_id[CGX_TOPO_BUS_ID_BYTES])
{
    CUdevice device;

    return CGX_CUDA_CALL(cuCtxGetDevice, &device) == CGX_OK &&
           CGX_CUDA_CALL(cuDeviceGetPCIBusId, bus_id, CGX_TOPO_BUS_ID_BYTES, device) == CGX_OK;
}

void cgx_cuda_bind_numa(void *memory, size_t bytes)
{
    static atomic_bool refused; /* whether the system refuses all nodes alike, as in containers */
    char bus_id[CGX_TOPO_BUS_ID_BYTES];
    const struct cgx_topo *topo;
    int node;

    if (atomic_load(&refused) || !has_several_nodes() || !find_bus_id(bus_id) ||
        cgx_topo_here(CGX_TOPO_DEVICES, &topo) != CGX_OK)
        return;
    node = cgx_topo_node_near(topo, bus_id);
    if (node == CGX_TOPO_UNKNOWN)
        log_unknown(bus_id);
    else if (cgx_topo_bind(memory, bytes, (unsigned)node) != CGX_OK)
        atomic_store(&refused, true);
}
