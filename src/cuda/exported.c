/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

#include "cuda/exported.h"

#include <pthread.h>
#include <stdlib.h>

#include "cuda/context.h"
#include "cuda/memory.h"

/* Drivers share memory with other processes in units of this size. With a smaller allocation,
 * memory of the program in the same unit would be shared too. */
#define SHARED ((size_t)2 << 20)

static struct cgx_exported *unused; /* memory that no backend has taken */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static size_t round_up(size_t bytes)
{
    size_t rounded = SHARED;

    while (rounded < bytes && rounded <= SIZE_MAX / 2)
        rounded *= 2;
    return rounded;
}

static CUresult query_id(CUdeviceptr address, unsigned long long *id)
{
    return cgx_cuda()->cuPointerGetAttribute(id, CU_POINTER_ATTRIBUTE_BUFFER_ID, address);
}

bool cgx_exported_is_there(const struct cgx_exported *exported)
{
    unsigned long long id = 0;

    return query_id(exported->address, &id) == CUDA_SUCCESS && id == exported->id;
}

bool cgx_exported_is_gone(const struct cgx_exported *exported)
{
    unsigned long long id = 0;
    CUresult code = query_id(exported->address, &id);

    return code == CUDA_ERROR_INVALID_VALUE || code == CUDA_ERROR_DEINITIALIZED ||
           (code == CUDA_SUCCESS && id != exported->id);
}

/* Takes memory of BYTES in CONTEXT off the list, or returns NULL. Memory that has gone with its
 * context leaves the list too, since another context may get the same handle. */
static struct cgx_exported *take_unused(CUcontext context, size_t bytes)
{
    struct cgx_exported **link = &unused, *found = NULL;

    pthread_mutex_lock(&lock);
    while (*link) {
        struct cgx_exported *exported = *link;
        bool there = cgx_exported_is_there(exported);

        if (there && (found || exported->context != context || exported->bytes != bytes)) {
            link = &exported->next;
            continue;
        }
        *link = exported->next;
        if (there)
            found = exported;
        else
            free(exported);
    }
    pthread_mutex_unlock(&lock);
    return found;
}

static enum cgx_status create_exported(CUcontext context, size_t bytes,
                                       struct cgx_exported **created)
{
    struct cgx_exported *made = calloc(1, sizeof *made);
    enum cgx_status status;

    if (!made)
        return CGX_ERR_NOMEM;
    made->context = context;
    made->bytes = bytes;
    status = CGX_CUDA_CALL(cuMemAlloc, &made->address, bytes);
    if (status != CGX_OK)
        goto free_made;
    status = cgx_cuda_status(query_id(made->address, &made->id), "cuPointerGetAttribute");
    if (status != CGX_OK)
        goto free_memory;
    *created = made;
    return CGX_OK;
free_memory:
    cgx_cuda()->cuMemFree(made->address);
free_made:
    free(made);
    return status;
}

enum cgx_status cgx_exported_take(CUcontext context, size_t bytes, bool shared,
                                  struct cgx_exported **taken)
{
    struct cgx_exported *found = NULL;

    if (shared) {
        bytes = round_up(bytes);
        found = take_unused(context, bytes);
    }
    if (!found)
        return create_exported(context, bytes, taken);
    *taken = found;
    return CGX_OK;
}

void cgx_exported_give(struct cgx_exported *exported, bool entered)
{
    if (!exported)
        return;
    if (entered && exported->may_be_open) {
        pthread_mutex_lock(&lock);
        exported->next = unused;
        unused = exported;
        pthread_mutex_unlock(&lock);
        return;
    }
    if (entered)
        cgx_cuda()->cuMemFree(exported->address);
    free(exported);
}
