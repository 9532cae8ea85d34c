/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

/* Backends of a device: how who waits for one waits; what one reads of a buffer; memory that one
 * has for what is kept from call to call; and memory that local peers may open, which outlives a
 * backend and serves the next. */

#include <stdlib.h>
#include <string.h>

#include "cuda/device_backend.h"
#include "cuda/driver.h"
#include "cuda/exported.h"
#include "lib/tap.h"
#include "mpi/lib/device.h"

enum { BYTES = 3000, STAGING = 65536, MOST = 8 << 20 /* bytes of staging memory */ };

/* A backend for buffers of the current context. */
struct one {
    struct cgx_cuda_work *all;
    struct cgx_backend *backend;
    unsigned char *staging;
    struct cgx_cuda_handle offer;
};

static struct one create(struct cgx_area area)
{
    struct one one = {.staging = aligned_alloc(4096, MOST)};
    void *buffer = device_alloc(256);
    const struct cgx_pointer where = cgx_cuda_pointer(buffer);

    area.staging[0] = one.staging;
    area.pieces = area.sources = 1;
    if (!one.staging || cgx_cuda_backend(&one.all, &where, &area, &one.backend) != CGX_OK)
        bail_out("there is no backend");
    device_free(buffer);
    return one;
}

static void destroy(struct one *one)
{
    cgx_cuda_backends_free(one->all);
    free(one->staging);
}

/* ---- waiting: who waits spins, or sleeps where others wait for the processor ---- */

static unsigned created, blocking; /* events */

static CUresult create_event(CUevent *event, unsigned flags);

/* The library calls this instead of its own. */
WRAPPED(const struct cgx_cuda *, cgx_cuda, void)
{
    static struct cgx_cuda table;
    const struct cgx_cuda *real = __real_cgx_cuda();

    if (!real)
        return NULL;
    table = *real;
    table.cuEventCreate = create_event;
    return &table;
}

static CUresult create_event(CUevent *event, unsigned flags)
{
    created++;
    blocking += (flags & CU_EVENT_BLOCKING_SYNC) != 0;
    return __real_cgx_cuda()->cuEventCreate(event, flags);
}

static void test_events(bool shares_processors)
{
    struct one one;

    created = blocking = 0;
    one = create((struct cgx_area){.bytes = STAGING, .shares_processors = shares_processors});
    ok(created > 0 && blocking == (shares_processors ? created : 0), "%u of %u events block",
       blocking, created);
    destroy(&one);
}

/* ---- runs of a buffer, at all places within words: they become contiguous, and what is behind
 * them stays */

enum { STRIDE = 28, READ = CGX_READ_RUNS * CGX_READ_BYTES };

static bool reads(struct cgx_backend *backend, const unsigned char *there,
                  const unsigned char *buffer, const struct cgx_strided *runs)
{
    const size_t start = (size_t)((const unsigned char *)runs->at - there),
                 all = runs->count * runs->bytes;
    unsigned char to[READ + 8];
    bool same;

    memset(to, 0xAA, sizeof to);
    same = backend->ops->read(backend, runs, to) == CGX_OK;
    for (size_t i = 0; i < sizeof to; i++) {
        size_t from = start + i / runs->bytes * runs->stride + i % runs->bytes;

        same = same && to[i] == (i < all ? buffer[from] : 0xAA);
    }
    return same;
}

static void test_reading(void)
{
    static unsigned char buffer[CGX_READ_RUNS * STRIDE + 4];
    struct one one = create((struct cgx_area){.bytes = STAGING});
    const struct cgx_backend_ops *ops = one.backend->ops;
    unsigned char *there = device_alloc(sizeof buffer), none[4];
    bool same = true;

    for (size_t i = 0; i < sizeof buffer; i++)
        buffer[i] = (unsigned char)(i * 7 + i / 256);
    device_upload(there, buffer, sizeof buffer);
    if (ops->begin(one.backend) != CGX_OK)
        bail_out("no call begins");
    for (size_t shift = 0; shift < 4; shift++)
        for (size_t run = 4; run <= CGX_READ_BYTES; run += 4)
            for (size_t count = 1; count <= CGX_READ_RUNS; count += 51)
                same = same && reads(one.backend, there, buffer,
                                     &(struct cgx_strided){there + shift, run, STRIDE, count});
    ok(same, "up to %d runs are read", CGX_READ_RUNS);
    ok(ops->read(one.backend, &(struct cgx_strided){there, 4, 4, CGX_READ_RUNS + 1}, none) ==
               CGX_ERR_INVALID &&
           ops->read(one.backend, &(struct cgx_strided){there, CGX_READ_BYTES + 4, STRIDE, 1},
                     none) == CGX_ERR_INVALID,
       "... and no more, or longer ones");
    ops->end(one.backend);
    device_free(there);
    destroy(&one);
}

/* ---- what is kept: zeros, for as long as its context is there, whatever became of the backend */

static unsigned char bytes[BYTES];

static struct cgx_reserved *reserve(struct cgx_backend *backend)
{
    struct cgx_reserved *reserved;

    if (backend->ops->reserve(backend, BYTES, &reserved) != CGX_OK)
        bail_out("nothing is kept");
    return reserved;
}

static bool has(struct cgx_backend *backend, const struct cgx_reserved *reserved)
{
    return backend->ops->has_reserved(backend, reserved);
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

    ok(is_zero(reserved->at) && has(host, reserved), "the host's is zeros");
    cgx_reserved_drop(reserved);
    cgx_reserved_drop(NULL);
}

/* What is free may change a little meanwhile. */
static void test_room(void)
{
    const size_t little = (size_t)1 << 20;
    struct one one = create((struct cgx_area){.bytes = STAGING});
    const struct cgx_backend_ops *ops = one.backend->ops;
    struct cgx_reserved *reserved;
    size_t left, memory, part;

    if (cgx_cuda()->cuMemGetInfo(&left, &memory) != CUDA_SUCCESS)
        bail_out("cuMemGetInfo");
    part = left / 50;
    ok(ops->has_room(one.backend, part - little) && !ops->has_room(one.backend, part + little),
       "there is room for 2 %% of what is free, and no more");
    if (ops->reserve(one.backend, part / 2, &reserved) != CGX_OK)
        bail_out("nothing is kept");
    ok(ops->has_room(one.backend, part - part / 2 - little) &&
           !ops->has_room(one.backend, part - part / 2 + little),
       "... with what is kept already");
    cgx_reserved_drop(reserved);
    ok(ops->has_room(one.backend, part - little), "... and no more is, once it was dropped");
    ok(cgx_backend_host()->ops->has_room(cgx_backend_host(), memory),
       "the host's memory has room for all");
    destroy(&one);
}

static void test_zeros(void)
{
    struct one one = create((struct cgx_area){.bytes = STAGING});
    struct cgx_backend *host = cgx_backend_host();
    struct cgx_reserved *reserved = reserve(one.backend), *on_host = reserve(host);

    device_download(bytes, reserved->at, BYTES);
    ok(is_zero(bytes) && reserved->bytes == BYTES, "the device's is zeros");
    ok(has(one.backend, reserved) && !has(one.backend, on_host) && !has(host, reserved),
       "each backend holds its own");
    cgx_reserved_drop(on_host);
    cgx_reserved_drop(reserved);
    destroy(&one);
}

static void test_outlives_backend(void)
{
    struct one one = create((struct cgx_area){.bytes = STAGING});
    struct cgx_reserved *reserved = reserve(one.backend);

    memset(bytes, 9, BYTES);
    device_upload(reserved->at, bytes, BYTES);
    destroy(&one);
    one = create((struct cgx_area){.bytes = STAGING});
    device_download(bytes, reserved->at, BYTES);
    ok(has(one.backend, reserved) && bytes[0] == 9 && bytes[BYTES - 1] == 9,
       "the next backend of the context holds it, as it was");
    destroy(&one);
    cgx_reserved_drop(reserved);
}

static void test_other_contexts(void)
{
    struct one one = create((struct cgx_area){.bytes = STAGING}), other;
    struct cgx_reserved *reserved = reserve(one.backend);

    device_open(1);
    other = create((struct cgx_area){.bytes = STAGING});
    ok(!has(other.backend, reserved), "a backend of another context does not hold it");
    destroy(&other);
    device_open(0);
    device_close();
    device_reset(0);
    ok(!has(one.backend, reserved), "nor does any once its context is gone");
    destroy(&one);
    device_open(0);
    one = create((struct cgx_area){.bytes = STAGING});
    ok(!has(one.backend, reserved), "... nor one of a context that came after");
    cgx_reserved_drop(reserved);
    destroy(&one);
}

/* ---- memory that local peers may open ---- */

static struct one create_open(size_t staging)
{
    return create((struct cgx_area){.bytes = staging, .exportable = true});
}

/* What a backend offers that lives for no longer. */
static struct cgx_cuda_handle offer_once(size_t staging)
{
    struct one one = create_open(staging);

    if (cgx_cuda_export(one.backend, &one.offer) != CGX_OK)
        bail_out("nothing is offered");
    destroy(&one);
    return one.offer;
}

static bool is_same_memory(const struct cgx_cuda_handle *a, const struct cgx_cuda_handle *b)
{
    return memcmp(a->ipc, b->ipc, sizeof a->ipc) == 0;
}

static void test_again(void)
{
    struct cgx_cuda_handle first = offer_once(STAGING), second = offer_once(70000);

    ok(is_same_memory(&first, &second), "the next backend has the memory of the one before");
    ok(first.cookie != second.cookie && first.cookie != 0 && second.cookie != 0,
       "under another cookie");
}

static void test_at_once(void)
{
    struct one a = create_open(STAGING), b = create_open(STAGING);
    bool offered = cgx_cuda_export(a.backend, &a.offer) == CGX_OK &&
                   cgx_cuda_export(b.backend, &b.offer) == CGX_OK;

    ok(offered && !is_same_memory(&a.offer, &b.offer), "two at once have memory of their own");
    destroy(&a);
    destroy(&b);
}

static void test_sizes(void)
{
    struct cgx_cuda_handle small = offer_once(STAGING), large = offer_once((size_t)3 * MOST / 4);
    struct cgx_cuda_handle again = offer_once((size_t)5 * MOST / 8);

    ok(!is_same_memory(&small, &large), "more memory is other memory");
    ok(is_same_memory(&large, &again), "a little less is the same");
}

static void test_withdrawn(void)
{
    struct one one = create_open(STAGING);
    struct cgx_cuda_handle again;
    bool offered = cgx_cuda_export(one.backend, &one.offer) == CGX_OK;

    ok(offered && cgx_cuda_exported_cookie(one.all) == one.offer.cookie,
       "what is offered has a cookie");
    cgx_cuda_withdraw(one.all, one.offer.cookie);
    ok(cgx_cuda_exported_cookie(one.all) == 0, "none once it is withdrawn");
    offered = cgx_cuda_export(one.backend, &again) == CGX_OK;
    ok(offered && is_same_memory(&one.offer, &again) && one.offer.cookie != again.cookie,
       "offered again it has another");
    destroy(&one);
}

/* Memory that no process was to open is freed with its backend. */
static void test_never_offered(void)
{
    unsigned long long before = device_count().live;
    struct one one = create_open(MOST);

    destroy(&one);
    ok(device_count().live == before, "what was never offered is freed");
}

static void test_context_of_offer(void)
{
    struct cgx_cuda_handle first = offer_once(STAGING), second;
    unsigned long long before = device_count().live;

    device_open(1);
    second = offer_once(STAGING);
    ok(!is_same_memory(&first, &second), "another context has memory of its own");
    ok(device_count().live == before + 1, "which is kept");
    device_open(0);
    second = offer_once(STAGING);
    ok(is_same_memory(&first, &second), "the first one still has its own");
    device_close();
    device_reset(0);
    device_open(0);
    second = offer_once(STAGING);
    ok(!is_same_memory(&first, &second), "what has gone with its context is not used again");
}

/* What the driver has allocated, as it refuses to pin other memory, goes with the context. */
static void test_gone_in_call(void)
{
    const struct cgx_coding coding = {.dtype = CGX_FLOAT32};
    const struct cgx_piece piece = {.count = 64, .bits = 4};
    const struct cgx_work work = {.coding = &coding, .pieces = &piece, .npieces = 1};
    const struct cgx_backend_ops *ops;
    struct one one;

    device_fail(SOFTCUDA_PIN, 1, true);
    one = create((struct cgx_area){.bytes = STAGING});
    device_fail(SOFTCUDA_PIN, 0, false);
    ops = one.backend->ops;
    if (ops->begin(one.backend) != CGX_OK ||
        ops->fetch(one.backend, 0, one.staging, STAGING) != CGX_OK)
        bail_out("the backend does not work");
    device_reset(0);
    ok(ops->wait(one.backend, 0) == CGX_ERR_DEVICE &&
           ops->run(one.backend, 0, &work) == CGX_ERR_DEVICE,
       "if its context goes within a call, status and tables are not looked for");
    ops->end(one.backend);
    destroy(&one);
    device_open(0);
}

int main(void)
{
    test_host();
    if (!device_open(0)) {
        skip("backends of devices", "no CUDA driver, or no device");
        return done_testing();
    }
    test_events(false);
    test_events(true);
    test_reading();
    if (!device_is_soft()) {
        skip("what devices keep, and memory that local peers may open", "no software driver");
        return done_testing();
    }
    device_leave_nothing();
    test_zeros();
    test_room();
    test_outlives_backend();
    test_other_contexts();
    test_again();
    test_at_once();
    test_sizes();
    test_withdrawn();
    test_never_offered();
    test_context_of_offer();
    test_gone_in_call();
    return done_testing();
}
