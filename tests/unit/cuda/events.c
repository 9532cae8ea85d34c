/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

/* Who waits for a device spins, or sleeps where others wait for the processor. */

#include <stdlib.h>

#include "cuda/device_backend.h"
#include "cuda/driver.h"
#include "lib/tap.h"
#include "mpi/lib/device.h"

enum { BYTES = 65536 };

static unsigned created, blocking; /* events */

const struct cgx_cuda *__real_cgx_cuda(void);
const struct cgx_cuda *__wrap_cgx_cuda(void);

static CUresult create_event(CUevent *event, unsigned flags)
{
    created++;
    blocking += (flags & CU_EVENT_BLOCKING_SYNC) != 0;
    return __real_cgx_cuda()->cuEventCreate(event, flags);
}

/* The library calls this instead of its own. */
const struct cgx_cuda *__wrap_cgx_cuda(void)
{
    static struct cgx_cuda table;
    const struct cgx_cuda *real = __real_cgx_cuda();

    if (!real)
        return NULL;
    table = *real;
    table.cuEventCreate = create_event;
    return &table;
}

static void test(bool shares_processors)
{
    struct cgx_area area = {
        .bytes = BYTES, .pieces = 1, .sources = 1, .shares_processors = shares_processors};
    void *buffer = device_alloc(BYTES);
    const struct cgx_pointer where = cgx_cuda_pointer(buffer);
    struct cgx_cuda_backends *all = NULL;
    struct cgx_backend *backend;

    area.staging[0] = aligned_alloc(4096, BYTES);
    created = blocking = 0;
    if (!area.staging[0] || cgx_cuda_backend(&all, &where, &area, &backend) != CGX_OK)
        bail_out("there is no backend");
    ok(created > 0 && blocking == (shares_processors ? created : 0), "%u of %u events block",
       blocking, created);
    cgx_cuda_backends_free(all);
    free(area.staging[0]);
    device_free(buffer);
}

int main(void)
{
    if (!device_open(0)) {
        skip("events", "no CUDA driver, or no device");
        return done_testing();
    }
    test(false);
    test(true);
    return done_testing();
}
