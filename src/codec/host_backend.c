/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

/* The host codec as a backend: every operation is carried out at once, in the staging memory. */
#include "codec/backend.h"

static enum cgx_status begin(struct cgx_backend *backend)
{
    (void)backend;
    return CGX_OK;
}

static void end(struct cgx_backend *backend)
{
    (void)backend;
}

static enum cgx_status run(struct cgx_backend *backend, unsigned slot, const struct cgx_work *work)
{
    (void)backend, (void)slot;
    return cgx_codec_run(cgx_codec_host(), work);
}

static enum cgx_status fetch(struct cgx_backend *backend, unsigned slot, unsigned char *data,
                             size_t bytes)
{
    (void)backend, (void)slot, (void)data, (void)bytes;
    return CGX_OK;
}

static void store(struct cgx_backend *backend, unsigned slot, const unsigned char *data,
                  size_t bytes)
{
    (void)backend, (void)slot, (void)data, (void)bytes;
}

static enum cgx_status wait(struct cgx_backend *backend, unsigned slot)
{
    (void)backend, (void)slot;
    return CGX_OK;
}

static bool lost(struct cgx_backend *backend)
{
    (void)backend;
    return false;
}

struct cgx_backend *cgx_backend_host(void)
{
    static const struct cgx_backend_ops ops = {.name = "host",
                                               .begin = begin,
                                               .end = end,
                                               .run = run,
                                               .fetch = fetch,
                                               .store = store,
                                               .wait = wait,
                                               .lost = lost};
    static struct cgx_backend backend = {.ops = &ops};

    return &backend;
}
