/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

/* The host codec as a backend. Operations complete at once, in the staging memory itself. */
#include <stdlib.h>
#include <string.h>

#include "codec/backend.h"

static enum cgx_status host_begin(struct cgx_backend *backend)
{
    (void)backend;
    return CGX_OK;
}

static void host_end(struct cgx_backend *backend)
{
    (void)backend;
}

static enum cgx_status read_runs(struct cgx_backend *backend, const struct cgx_strided *runs,
                                 unsigned char *to)
{
    (void)backend;
    for (size_t i = 0; i < runs->count; i++)
        memcpy(to + i * runs->bytes, (const char *)runs->at + i * runs->stride, runs->bytes);
    return CGX_OK;
}

static enum cgx_status host_run(struct cgx_backend *backend, unsigned slot,
                                const struct cgx_work *work)
{
    (void)backend, (void)slot;
    return cgx_codec_run(cgx_codec_host(), work);
}

static enum cgx_status host_fetch(struct cgx_backend *backend, unsigned slot, unsigned char *data,
                                  size_t bytes)
{
    (void)backend, (void)slot, (void)data, (void)bytes;
    return CGX_OK;
}

static void host_store(struct cgx_backend *backend, unsigned slot, const unsigned char *data,
                       size_t bytes)
{
    (void)backend, (void)slot, (void)data, (void)bytes;
}

static enum cgx_status host_wait(struct cgx_backend *backend, unsigned slot)
{
    (void)backend, (void)slot;
    return CGX_OK;
}

static void drop_reserved(struct cgx_reserved *reserved)
{
    free(reserved->at);
    free(reserved);
}

static bool has_room(struct cgx_backend *backend, size_t bytes)
{
    (void)backend, (void)bytes;
    return true;
}

static enum cgx_status host_reserve(struct cgx_backend *backend, size_t bytes,
                                    struct cgx_reserved **reserved)
{
    struct cgx_reserved *made = malloc(sizeof *made);
    void *memory = NULL;

    (void)backend;
    if (!made || posix_memalign(&memory, 64, bytes) != 0) {
        free(made);
        return CGX_ERR_NOMEM;
    }
    memset(memory, 0, bytes);
    *made = (struct cgx_reserved){memory, bytes, drop_reserved};
    *reserved = made;
    return CGX_OK;
}

static bool has_reserved(struct cgx_backend *backend, const struct cgx_reserved *reserved)
{
    (void)backend;
    return reserved->drop == drop_reserved;
}

static bool host_lost(struct cgx_backend *backend)
{
    (void)backend;
    return false;
}

struct cgx_backend *cgx_backend_host(void)
{
    static const struct cgx_backend_ops ops = {.begin = host_begin,
                                               .end = host_end,
                                               .read = read_runs,
                                               .run = host_run,
                                               .fetch = host_fetch,
                                               .store = host_store,
                                               .wait = host_wait,
                                               .has_room = has_room,
                                               .reserve = host_reserve,
                                               .has_reserved = has_reserved,
                                               .lost = host_lost};
    static struct cgx_backend backend = {.ops = &ops};

    return &backend;
}
