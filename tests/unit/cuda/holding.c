/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

/* Memory that a backend has for what is kept from call to call: zeros, for as long as its context
 * is there, whatever became of the backend. */

#include <stdlib.h>
#include <string.h>

#include "cuda/backend.h"
#include "lib/tap.h"
#include "mpi/lib/device.h"

enum { BYTES = 3000, STAGING = 65536 };

static unsigned char staging[STAGING] __attribute__((aligned(4096)));
static unsigned char bytes[BYTES];

static struct cgx_backend *create(struct cgx_cuda_backends **all)
{
    const struct cgx_area area = {
        .staging = {staging}, .bytes = STAGING, .pieces = 1, .sources = 1};
    void *buffer = device_alloc(256);
    const struct cgx_pointer where = cgx_cuda_pointer(buffer);
    struct cgx_backend *backend;

    *all = NULL;
    if (cgx_cuda_backend(all, &where, &area, CGX_SYNC_STREAM, &backend) != CGX_OK)
        bail_out("there is no backend");
    device_free(buffer);
    return backend;
}

static struct cgx_holding *keep(struct cgx_backend *backend)
{
    struct cgx_holding *holding;

    if (backend->ops->keep(backend, BYTES, &holding) != CGX_OK)
        bail_out("nothing is kept");
    return holding;
}

static bool is_zero(const unsigned char *at)
{
    for (int i = 0; i < BYTES; i++)
        if (at[i] != 0)
            return false;
    return true;
}

static void test_host(void)
{
    struct cgx_backend *host = cgx_backend_host();
    struct cgx_holding *holding = keep(host);
    bool zero = is_zero(holding->at);

    memset(holding->at, 7, BYTES);
    ok(zero && host->ops->holds(host, holding) && host->ops->clear(host, holding) == CGX_OK &&
           is_zero(holding->at),
       "the host's is zeros, and is cleared");
    cgx_holding_drop(holding);
    cgx_holding_drop(NULL);
}

static bool is_zero_there(const struct cgx_holding *holding)
{
    device_download(bytes, holding->at, BYTES);
    return is_zero(bytes);
}

static void test_zeros(void)
{
    struct cgx_cuda_backends *all;
    struct cgx_backend *backend = create(&all), *host = cgx_backend_host();
    struct cgx_holding *holding = keep(backend), *on_host = keep(host);
    bool zero = is_zero_there(holding);

    memset(bytes, 7, BYTES);
    device_upload(holding->at, bytes, BYTES);
    ok(zero && holding->bytes == BYTES, "the device's is zeros");
    ok(backend->ops->clear(backend, holding) == CGX_OK && is_zero_there(holding),
       "... and is cleared");
    ok(backend->ops->holds(backend, holding) && !backend->ops->holds(backend, on_host) &&
           !host->ops->holds(host, holding),
       "each backend holds its own");
    cgx_holding_drop(on_host);
    cgx_holding_drop(holding);
    cgx_cuda_backends_free(all);
}

static void test_outlives_backend(void)
{
    struct cgx_cuda_backends *all;
    struct cgx_holding *holding = keep(create(&all));
    struct cgx_backend *next;

    memset(bytes, 9, BYTES);
    device_upload(holding->at, bytes, BYTES);
    cgx_cuda_backends_free(all);
    next = create(&all);
    device_download(bytes, holding->at, BYTES);
    ok(next->ops->holds(next, holding) && bytes[0] == 9 && bytes[BYTES - 1] == 9,
       "the next backend of the context holds it, as it was");
    cgx_cuda_backends_free(all);
    cgx_holding_drop(holding);
}

static void test_contexts(void)
{
    struct cgx_cuda_backends *all, *others;
    struct cgx_backend *backend = create(&all), *other;
    struct cgx_holding *holding = keep(backend);

    device_open(1);
    other = create(&others);
    ok(!other->ops->holds(other, holding), "a backend of another context does not hold it");
    cgx_cuda_backends_free(others);
    device_open(0);
    device_close();
    device_reset(0);
    ok(!backend->ops->holds(backend, holding) && backend->ops->clear(backend, holding) != CGX_OK,
       "nor does any once its context is gone");
    cgx_cuda_backends_free(all);
    device_open(0);
    backend = create(&all);
    ok(!backend->ops->holds(backend, holding), "... nor one of a context that came after");
    cgx_holding_drop(holding);
    cgx_cuda_backends_free(all);
}

int main(void)
{
    test_host();
    if (!device_open(0) || !device_is_soft()) {
        skip("what devices keep", "no software driver");
        return done_testing();
    }
    device_leave_nothing();
    test_zeros();
    test_outlives_backend();
    test_contexts();
    return done_testing();
}
