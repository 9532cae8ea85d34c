/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

#include "cuda/device_backend.h"
#include "cuda/memory.h"
#include "cuda/pinned_pool.h"

struct cgx_pointer cgx_cuda_pointer(const void *address)
{
    (void)address;
    return (struct cgx_pointer){.memory = CGX_MEMORY_HOST};
}

bool cgx_cuda_reaches(const struct cgx_pointer *pointer, const void *address, size_t bytes)
{
    (void)pointer, (void)address, (void)bytes;
    return true;
}

const char *cgx_cuda_build(void)
{
    return "none";
}

enum cgx_status cgx_cuda_backend(struct cgx_cuda_work **all, const struct cgx_pointer *buffer,
                                 const struct cgx_area *area, struct cgx_backend **backend)
{
    (void)all, (void)buffer, (void)area, (void)backend;
    return CGX_ERR_DEVICE;
}

bool cgx_cuda_backends_free(struct cgx_cuda_work *all)
{
    (void)all;
    return true;
}

enum cgx_status cgx_cuda_export(struct cgx_backend *backend, struct cgx_cuda_handle *handle)
{
    (void)backend, (void)handle;
    return CGX_ERR_INVALID;
}

uint64_t cgx_cuda_exported_cookie(const struct cgx_cuda_work *all)
{
    (void)all;
    return 0;
}

enum cgx_status cgx_cuda_connect(struct cgx_backend *backend, enum cgx_pull pull,
                                 const struct cgx_cuda_peer *local_peers, unsigned npeers,
                                 unsigned self)
{
    (void)backend, (void)pull, (void)local_peers, (void)npeers, (void)self;
    return CGX_ERR_INVALID;
}

void cgx_cuda_disconnect(struct cgx_cuda_work *all)
{
    (void)all;
}

void cgx_cuda_withdraw(struct cgx_cuda_work *all, uint64_t cookie)
{
    (void)all, (void)cookie;
}

bool cgx_pinned_possible(void)
{
    return false;
}

enum cgx_status cgx_cuda_enter(const struct cgx_pointer *where)
{
    (void)where;
    return CGX_ERR_DEVICE;
}

void cgx_cuda_leave(void)
{
}

enum cgx_status cgx_pinned_take(const struct cgx_pointer *where, size_t bytes, void **memory)
{
    (void)where, (void)bytes, (void)memory;
    return CGX_ERR_DEVICE;
}

void cgx_pinned_give(const struct cgx_pointer *where, void *memory)
{
    (void)where, (void)memory;
}

enum cgx_status cgx_pinned_wait(const struct cgx_pointer *where)
{
    (void)where;
    return CGX_ERR_DEVICE;
}

enum cgx_status cgx_pinned_fetch(const struct cgx_pointer *where, void *host, const void *device,
                                 size_t bytes)
{
    (void)where, (void)host, (void)device, (void)bytes;
    return CGX_ERR_DEVICE;
}

enum cgx_status cgx_pinned_gather(const struct cgx_pointer *where, void *host,
                                  const struct cgx_strided *runs)
{
    (void)where, (void)host, (void)runs;
    return CGX_ERR_DEVICE;
}

enum cgx_status cgx_pinned_store(const struct cgx_pointer *where, void *device, const void *host,
                                 size_t bytes)
{
    (void)where, (void)device, (void)host, (void)bytes;
    return CGX_ERR_DEVICE;
}
