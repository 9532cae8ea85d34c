/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

/* The host codec as a backend: every operation is carried out at once, in the staging memory. */
#include <stdlib.h>
#include <string.h>

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

static void drop(struct cgx_holding *holding)
{
    free(holding->at);
    free(holding);
}

static enum cgx_status keep(struct cgx_backend *backend, size_t bytes, struct cgx_holding **holding)
{
    struct cgx_holding *made = malloc(sizeof *made);
    void *memory = NULL;

    (void)backend;
    if (!made || posix_memalign(&memory, 64, bytes) != 0) {
        free(made);
        return CGX_ERR_NOMEM;
    }
    memset(memory, 0, bytes);
    *made = (struct cgx_holding){memory, bytes, drop};
    *holding = made;
    return CGX_OK;
}

static bool holds(struct cgx_backend *backend, const struct cgx_holding *holding)
{
    (void)backend;
    return holding->drop == drop;
}

static enum cgx_status clear(struct cgx_backend *backend, struct cgx_holding *holding)
{
    (void)backend;
    memset(holding->at, 0, holding->bytes);
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
                                               .keep = keep,
                                               .holds = holds,
                                               .clear = clear,
                                               .lost = lost};
    static struct cgx_backend backend = {.ops = &ops};

    return &backend;
}
