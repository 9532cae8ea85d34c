/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

/* What staging memory is bound to before it is pinned, on the machine that hwloc is made to see.
 *   numa near        device 0 is near NUMA node 0, device 1 near node 1
 *   numa refused     the same, but the system refuses
 *   numa nowhere     no node is bound to */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cuda/device_backend.h"
#include "cuda/driver.h"
#include "cuda/pinned_pool.h"
#include "lib/tap.h"
#include "lib/wrap.h"
#include "mpi/lib/device.h"
#include "topo/machine.h"
#include "util/log.h"

enum { BYTES = 70000, PAGE = 4096, AREA = 5 * PAGE + 100, AREA_PAGES = 6 * PAGE };

/* The last of so many wishes. */
static struct {
    unsigned count;
    unsigned char *memory[CGX_SLOTS];
    size_t bytes;
    unsigned numa_node;
    bool pinned; /* one of them was already */
} wishes;

static bool refuses;

static bool is_pinned(const void *memory)
{
    unsigned type;

    return cgx_cuda()->cuPointerGetAttribute(&type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE,
                                             (CUdeviceptr)(uintptr_t)memory) == CUDA_SUCCESS;
}

/* The library calls this instead of its own. */
WRAPPED(enum cgx_status, cgx_topo_bind, void *memory, size_t bytes, unsigned numa_node)
{
    wishes.memory[wishes.count++ % CGX_SLOTS] = memory;
    wishes.bytes = bytes;
    wishes.numa_node = numa_node;
    wishes.pinned = wishes.pinned || is_pinned(memory);
    return refuses ? CGX_ERR_INVALID : CGX_OK;
}

static void test_backend(int device, unsigned expected)
{
    struct cgx_area area = {.bytes = AREA, .pieces = 1, .sources = 1};
    struct cgx_cuda_backends *all = NULL;
    struct cgx_backend *backend;
    void *buffer = device_alloc(BYTES), *memory[CGX_SLOTS];
    const struct cgx_pointer where = cgx_cuda_pointer(buffer);

    for (int i = 0; i < CGX_SLOTS; i++) {
        if (posix_memalign(&memory[i], PAGE, AREA_PAGES) != 0)
            bail_out("no memory");
        area.staging[i] = memory[i];
    }
    memset(&wishes, 0, sizeof wishes);
    if (cgx_cuda_backend(&all, &where, &area, &backend) != CGX_OK)
        bail_out("no backend");
    ok(wishes.count == expected, "device %d: %u of the backend's slots are bound", device,
       expected);
    if (expected == CGX_SLOTS)
        ok(wishes.memory[0] == memory[0] && wishes.memory[1] == memory[1] &&
               wishes.bytes == AREA_PAGES && wishes.numa_node == (unsigned)device && !wishes.pinned,
           "device %d: all of their pages, to node %d, before they are pinned", device, device);
    ok(is_pinned(memory[0]) && is_pinned(memory[1]), "device %d: slots are pinned", device);
    if (!cgx_cuda_backends_free(all))
        bail_out("the staging memory is still pinned");
    for (int i = 0; i < CGX_SLOTS; i++)
        free(memory[i]);
    device_free(buffer);
}

static void test_staged(int device, unsigned expected)
{
    void *buffer = device_alloc(BYTES), *memory;
    const struct cgx_pointer where = cgx_cuda_pointer(buffer);
    size_t bytes = (device + 1u) * BYTES; /* more than any block that is kept */

    memset(&wishes, 0, sizeof wishes);
    if (cgx_pinned_take(&where, bytes, &memory) != CGX_OK)
        bail_out("no memory");
    ok(wishes.count == expected, "device %d: memory of exact calls is %sbound", device,
       expected > 0 ? "" : "not ");
    if (expected > 0)
        ok(wishes.memory[0] == memory && wishes.bytes >= bytes && wishes.bytes % PAGE == 0 &&
               wishes.numa_node == (unsigned)device && !wishes.pinned,
           "device %d: all of its pages, to node %d, before they are pinned", device, device);
    ok(is_pinned(memory), "device %d: memory of exact calls is pinned", device);
    cgx_pinned_give(&where, memory);
    memset(&wishes, 0, sizeof wishes);
    if (cgx_pinned_take(&where, bytes, &memory) != CGX_OK)
        bail_out("no memory");
    ok(wishes.count == 0, "device %d: what is pinned already is left alone", device);
    cgx_pinned_give(&where, memory);
    device_free(buffer);
}

int main(int argc, char *argv[])
{
    bool near = argc == 2 && strcmp(argv[1], "near") == 0;

    refuses = argc == 2 && strcmp(argv[1], "refused") == 0;
    if (argc != 2 || (!near && !refuses && strcmp(argv[1], "nowhere") != 0)) {
        fprintf(stderr, "usage: %s near|refused|nowhere\n", argv[0]);
        return 2;
    }
    cgx_log_set_level(CGX_LOG_DEBUG);
    for (int device = 0; device < 2; device++) {
        if (!device_open(device))
            bail_out("no device %d", device);
        /* The first refusal is the last wish. */
        test_backend(device, near ? CGX_SLOTS : refuses && device == 0);
        test_staged(device, near);
    }
    return done_testing();
}
