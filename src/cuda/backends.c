/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

/* The list of backends of one staging memory. A backend exists from the first buffer in its context
 * until the staging memory or the context goes. */
#include "cuda/device_backend.h"
#include "cuda/work.h"

static bool free_backend(struct cgx_cuda_work *backend)
{
    cgx_cuda_work_disconnect(backend);
    return cgx_cuda_work_free(backend);
}

/* Returns the backend of CONTEXT or NULL. On the way, frees backends whose contexts are gone. */
static struct cgx_cuda_work *find_work(struct cgx_cuda_work **all, CUcontext context)
{
    struct cgx_cuda_work **link = all;

    while (*link) {
        struct cgx_cuda_work *found = *link;

        if (cgx_exported_is_gone(found->memory)) {
            *link = found->next;
            free_backend(found);
        } else if (found->context == context) {
            return found;
        } else {
            link = &found->next;
        }
    }
    return NULL;
}

enum cgx_status cgx_cuda_backend(struct cgx_cuda_work **all, const struct cgx_pointer *buffer,
                                 const struct cgx_area *area, struct cgx_backend **backend)
{
    struct cgx_cuda_work *found;
    CUcontext context;
    enum cgx_status status = cgx_cuda_context(buffer, &context);

    if (status != CGX_OK)
        return status;
    found = find_work(all, context);
    if (!found) {
        status = cgx_cuda_work_create(context, area, &found);
        if (status != CGX_OK)
            return status;
        found->base.ops = &cgx_cuda_ops;
        found->next = *all;
        *all = found;
    }
    *backend = &found->base;
    return CGX_OK;
}

bool cgx_cuda_backends_free(struct cgx_cuda_work *all)
{
    bool unpinned = true;

    while (all) {
        struct cgx_cuda_work *next = all->next;

        unpinned &= free_backend(all);
        all = next;
    }
    return unpinned;
}
