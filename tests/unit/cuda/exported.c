/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

/* Memory that local peers may open outlives its backend, and serves the next one. */

#include <stdlib.h>
#include <string.h>

#include "cuda/device_backend.h"
#include "cuda/driver.h"
#include "cuda/exported.h"
#include "cuda/peers.h"
#include "lib/tap.h"
#include "mpi/lib/device.h"

#define MOST ((size_t)8 << 20) /* bytes of staging memory */

/* A backend for buffers of the current context. */
struct one {
    struct cgx_cuda_backends *all;
    struct cgx_backend *backend;
    unsigned char *staging;
    void *buffer;
    struct cgx_cuda_handle offer;
};

static struct one create(size_t bytes)
{
    struct one one = {.buffer = device_alloc(256), .staging = aligned_alloc(4096, MOST)};
    const struct cgx_area area = {
        .staging = {one.staging}, .bytes = bytes, .pieces = 1, .sources = 1, .exportable = true};
    const struct cgx_pointer where = cgx_cuda_pointer(one.buffer);

    if (!one.staging || cgx_cuda_backend(&one.all, &where, &area, &one.backend) != CGX_OK)
        bail_out("there is no backend");
    return one;
}

static void destroy(struct one *one)
{
    cgx_cuda_backends_free(one->all);
    device_free(one->buffer);
    free(one->staging);
}

/* What a backend offers that lives for no longer. */
static struct cgx_cuda_handle offer_once(size_t bytes)
{
    struct one one = create(bytes);

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
    struct cgx_cuda_handle first = offer_once(65536), second = offer_once(70000);

    ok(is_same_memory(&first, &second), "the next backend has the memory of the one before");
    ok(first.cookie != second.cookie && first.cookie != 0 && second.cookie != 0,
       "under another cookie");
}

static void test_at_once(void)
{
    struct one a = create(65536), b = create(65536);
    bool offered = cgx_cuda_export(a.backend, &a.offer) == CGX_OK &&
                   cgx_cuda_export(b.backend, &b.offer) == CGX_OK;

    ok(offered && !is_same_memory(&a.offer, &b.offer), "two at once have memory of their own");
    destroy(&a);
    destroy(&b);
}

static void test_sizes(void)
{
    struct cgx_cuda_handle small = offer_once(65536), large = offer_once(3 * MOST / 4);
    struct cgx_cuda_handle again = offer_once(5 * MOST / 8);

    ok(!is_same_memory(&small, &large), "more memory is other memory");
    ok(is_same_memory(&large, &again), "a little less is the same");
}

static void test_withdrawn(void)
{
    struct one one = create(65536);
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
    struct one one = create(MOST);

    destroy(&one);
    ok(device_count().live == before, "what was never offered is freed");
}

static void test_contexts(void)
{
    struct cgx_cuda_handle first = offer_once(65536), second;
    unsigned long long before = device_count().live;

    device_open(1);
    second = offer_once(65536);
    ok(!is_same_memory(&first, &second), "another context has memory of its own");
    ok(device_count().live == before + 1, "which is kept");
    device_open(0);
    second = offer_once(65536);
    ok(is_same_memory(&first, &second), "the first one still has its own");
    device_close();
    device_reset(0);
    device_open(0);
    second = offer_once(65536);
    ok(!is_same_memory(&first, &second), "what has gone with its context is not used again");
}

int main(void)
{
    if (!device_open(0) || !device_is_soft()) {
        skip("memory that local peers may open", "no software driver");
        return done_testing();
    }
    device_leave_nothing();
    test_again();
    test_at_once();
    test_sizes();
    test_withdrawn();
    test_never_offered();
    test_contexts();
    cgx_cuda_finalize();
    return done_testing();
}
