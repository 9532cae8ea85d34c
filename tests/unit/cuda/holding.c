/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

/* Memory that a backend has for what is kept from call to call: zeros, for as long as its context
 * is there, whatever became of the backend. */

#include <stdlib.h>
#include <string.h>

#include "cuda/device_backend.h"
#include "cuda/driver.h"
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
    if (cgx_cuda_backend(all, &where, &area, &backend) != CGX_OK)
        bail_out("there is no backend");
    device_free(buffer);
    return backend;
}

static struct cgx_reserved *reserve(struct cgx_backend *backend)
{
    struct cgx_reserved *reserved;

    if (backend->ops->reserve(backend, BYTES, &reserved) != CGX_OK)
        bail_out("nothing is kept");
    return reserved;
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
    struct cgx_reserved *reserved = reserve(host);

    ok(is_zero(reserved->at) && host->ops->has_reserved(host, reserved), "the host's is zeros");
    cgx_reserved_drop(reserved);
    cgx_reserved_drop(NULL);
}

/* What is free may change a little meanwhile. */
static void test_room(void)
{
    const size_t little = (size_t)1 << 20;
    struct cgx_cuda_backends *all;
    struct cgx_backend *backend = create(&all);
    struct cgx_reserved *reserved;
    size_t left, memory, part;

    if (cgx_cuda()->cuMemGetInfo(&left, &memory) != CUDA_SUCCESS)
        bail_out("cuMemGetInfo");
    part = left / 50;
    ok(backend->ops->has_room(backend, part - little) &&
           !backend->ops->has_room(backend, part + little),
       "there is room for 2 %% of what is free, and no more");
    if (backend->ops->reserve(backend, part / 2, &reserved) != CGX_OK)
        bail_out("nothing is kept");
    ok(backend->ops->has_room(backend, part - part / 2 - little) &&
           !backend->ops->has_room(backend, part - part / 2 + little),
       "... with what is kept already");
    cgx_reserved_drop(reserved);
    ok(backend->ops->has_room(backend, part - little), "... and no more is, once it was dropped");
    ok(cgx_backend_host()->ops->has_room(cgx_backend_host(), memory),
       "the host's memory has room for all");
    cgx_cuda_backends_free(all);
}

static bool is_zero_there(const struct cgx_reserved *reserved)
{
    device_download(bytes, reserved->at, BYTES);
    return is_zero(bytes);
}

static void test_zeros(void)
{
    struct cgx_cuda_backends *all;
    struct cgx_backend *backend = create(&all), *host = cgx_backend_host();
    struct cgx_reserved *reserved = reserve(backend), *on_host = reserve(host);

    ok(is_zero_there(reserved) && reserved->bytes == BYTES, "the device's is zeros");
    ok(backend->ops->has_reserved(backend, reserved) &&
           !backend->ops->has_reserved(backend, on_host) &&
           !host->ops->has_reserved(host, reserved),
       "each backend holds its own");
    cgx_reserved_drop(on_host);
    cgx_reserved_drop(reserved);
    cgx_cuda_backends_free(all);
}

static void test_outlives_backend(void)
{
    struct cgx_cuda_backends *all;
    struct cgx_reserved *reserved = reserve(create(&all));
    struct cgx_backend *next;

    memset(bytes, 9, BYTES);
    device_upload(reserved->at, bytes, BYTES);
    cgx_cuda_backends_free(all);
    next = create(&all);
    device_download(bytes, reserved->at, BYTES);
    ok(next->ops->has_reserved(next, reserved) && bytes[0] == 9 && bytes[BYTES - 1] == 9,
       "the next backend of the context holds it, as it was");
    cgx_cuda_backends_free(all);
    cgx_reserved_drop(reserved);
}

static void test_contexts(void)
{
    struct cgx_cuda_backends *all, *others;
    struct cgx_backend *backend = create(&all), *other;
    struct cgx_reserved *reserved = reserve(backend);

    device_open(1);
    other = create(&others);
    ok(!other->ops->has_reserved(other, reserved), "a backend of another context does not hold it");
    cgx_cuda_backends_free(others);
    device_open(0);
    device_close();
    device_reset(0);
    ok(!backend->ops->has_reserved(backend, reserved), "nor does any once its context is gone");
    cgx_cuda_backends_free(all);
    device_open(0);
    backend = create(&all);
    ok(!backend->ops->has_reserved(backend, reserved), "... nor one of a context that came after");
    cgx_reserved_drop(reserved);
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
    test_room();
    test_outlives_backend();
    test_contexts();
    return done_testing();
}
