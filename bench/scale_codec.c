/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

/* A backend that does nothing and takes the time for it. */
#include "scale_world.h"

static enum cgx_status begin(struct cgx_backend *backend)
{
    (void)backend;
    return CGX_OK;
}

static void end(struct cgx_backend *backend)
{
    (void)backend;
}

static double duration(const struct cgx_work *work)
{
    const struct scale_costs *costs = &scale_world.call->costs;
    double bytes = 0;

    for (size_t i = 0; i < work->npieces; i++)
        bytes += (double)(work->pieces[i].count * cgx_dtype_size(work->coding->dtype));
    switch (work->operation) {
    case CGX_ENCODE:
        return costs->operation + bytes / costs->encode;
    case CGX_REDUCE:
        return costs->operation + bytes * (double)work->nsources / costs->sum;
    case CGX_DECODE:
        return costs->operation + bytes / costs->decode;
    default:
        return 0;
    }
}

static enum cgx_status run(struct cgx_backend *backend, unsigned slot, const struct cgx_work *work)
{
    struct scale_rank *rank = scale_now;
    double takes = duration(work);

    (void)backend;
    if (scale_world.call->costs.queued) {
        if (rank->device < rank->clock)
            rank->device = rank->clock;
        rank->device += takes;
        rank->slots[slot] = rank->device;
    } else {
        rank->clock += takes;
    }
    return CGX_OK;
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

static enum cgx_status wait_for(struct cgx_backend *backend, unsigned slot)
{
    struct scale_rank *rank = scale_now;

    (void)backend;
    if (rank->clock < rank->slots[slot])
        rank->clock = rank->slots[slot];
    return CGX_OK;
}

static bool lost(struct cgx_backend *backend)
{
    (void)backend;
    return false;
}

const struct cgx_backend_ops scale_codec = {.begin = begin,
                                            .end = end,
                                            .run = run,
                                            .fetch = fetch,
                                            .store = store,
                                            .wait = wait_for,
                                            .lost = lost};
