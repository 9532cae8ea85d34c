/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

/* The list of backends of one staging memory. A backend exists from the first buffer in its context
 * until the staging memory or the context goes. The operations of backends are in device_backend.c.
 */
#include <stdlib.h>

#include "cuda/device_backend.h"
#include "cuda/work.h"

static enum cgx_status create_backends(struct cgx_cuda_backends **all, CUcontext context,
                                       const struct cgx_area *area)
{
    struct cgx_cuda_backends *made = calloc(1, sizeof *made);
    enum cgx_status status;

    if (!made)
        return CGX_ERR_NOMEM;
    status = cgx_cuda_push(context);
    if (status == CGX_OK) {
        status = cgx_cuda_work_create(context, area, &made->work);
        cgx_cuda_leave();
    }
    if (status != CGX_OK) {
        free(made);
        return status;
    }
    made->base.ops = &cgx_cuda_ops;
    made->next = *all;
    *all = made;
    return CGX_OK;
}

/* Local peers' memory must be closed before the rest is released. */
static bool release_backends(struct cgx_cuda_backends *backend)
{
    bool unpinned;

    cgx_cuda_work_disconnect(&backend->work);
    unpinned = cgx_cuda_work_release(&backend->work);
    free(backend);
    return unpinned;
}

/* Returns the backend of CONTEXT or NULL. On the way, releases backends whose contexts are gone. */
static struct cgx_cuda_backends *find_backends(struct cgx_cuda_backends **all, CUcontext context)
{
    struct cgx_cuda_backends **link = all;

    while (*link) {
        struct cgx_cuda_backends *found = *link;

        if (cgx_exported_is_gone(found->work.memory)) {
            *link = found->next;
            release_backends(found);
        } else if (found->work.context == context) {
            return found;
        } else {
            link = &found->next;
        }
    }
    return NULL;
}

enum cgx_status cgx_cuda_backend(struct cgx_cuda_backends **all, const struct cgx_pointer *buffer,
                                 const struct cgx_area *area, struct cgx_backend **backend)
{
    struct cgx_cuda_backends *found;
    CUcontext context;
    enum cgx_status status = cgx_cuda_context(buffer, &context);

    if (status != CGX_OK)
        return status;
    found = find_backends(all, context);
    if (!found) {
        status = create_backends(all, context, area);
        found = *all;
    }
    if (status == CGX_OK)
        *backend = &found->base;
    return status;
}

bool cgx_cuda_backends_free(struct cgx_cuda_backends *all)
{
    bool unpinned = true;

    while (all) {
        struct cgx_cuda_backends *next = all->next;

        unpinned &= release_backends(all);
        all = next;
    }
    return unpinned;
}
