/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

#include "unit/lib/scene.h"

#include <stdlib.h>
#include <string.h>

#include "codec/encoding.h"
#include "lib/tap.h"

enum { MOST_SOURCES = 64 };

struct mirror {
    const struct cgx_nodes *nodes;
    unsigned char *staging, *memory;
    size_t bytes;
};

static struct mirror mirrors[SCENE_MOST_RANKS];
static _Thread_local unsigned rank_now;

static unsigned char *mirrored(const void *data)
{
    const struct mirror *mirror = &mirrors[rank_now];
    size_t at = (size_t)((const unsigned char *)data - mirror->staging);

    return at < mirror->bytes ? mirror->memory + at : (unsigned char *)(uintptr_t)data;
}

static void show(const unsigned char *payload, size_t offset, size_t bytes)
{
    memcpy((unsigned char *)(uintptr_t)payload + offset, mirrored(payload) + offset, bytes);
}

static enum cgx_status run(struct cgx_backend *backend, unsigned slot, const struct cgx_work *work)
{
    const unsigned char *sources[MOST_SOURCES];
    struct cgx_work here = *work;
    enum cgx_status status;

    if (work->nsources > MOST_SOURCES)
        bail_out("%zu sources are too many", work->nsources);
    for (size_t i = 0; i < work->nsources; i++)
        sources[i] = work->sources[i] ? mirrored(work->sources[i]) : NULL;
    here.sources = sources;
    here.in = mirrored(work->in);
    here.out = mirrored(work->out);
    status = cgx_backend_host()->ops->run(backend, slot, &here);
    for (size_t i = 0; work->shows && i < work->npieces; i++) {
        const struct cgx_piece *piece = &work->pieces[i];

        if (cgx_encoding_quantiser(piece->bits)->has_variable_size)
            show(work->out, piece->offset,
                 cgx_uniform_used((unsigned char *)here.out + piece->offset, piece->count));
    }
    return status;
}

static enum cgx_status fetch(struct cgx_backend *backend, unsigned slot, unsigned char *data,
                             size_t bytes)
{
    (void)backend, (void)slot;
    memcpy(data, mirrored(data), bytes);
    return CGX_OK;
}

static void store(struct cgx_backend *backend, unsigned slot, const unsigned char *data,
                  size_t bytes)
{
    (void)backend, (void)slot;
    if (bytes > 0)
        memcpy(mirrored(data), data, bytes);
}

static void pull(struct cgx_backend *backend, unsigned slot, unsigned peer, size_t offset,
                 const unsigned char *data, size_t bytes)
{
    const struct cgx_nodes *nodes = mirrors[rank_now].nodes;
    unsigned rank = nodes->members[nodes->first[nodes->node[rank_now]] + peer];

    (void)backend, (void)slot;
    memcpy(mirrored(data), mirrors[rank].memory + offset, bytes);
}

static bool borrow(struct cgx_backend *backend, unsigned slot, unsigned peer, size_t offset,
                   const unsigned char *data, size_t bytes)
{
    (void)backend, (void)slot, (void)peer, (void)offset, (void)data, (void)bytes;
    return false;
}

void mirror_open(unsigned rank, const struct cgx_nodes *nodes, const struct cgx_scratch *scratch,
                 struct cgx_backend_ops *ops)
{
    const struct cgx_shared *shared = &scratch->shared;
    size_t bytes = shared->bytes - shared->front;
    struct mirror mirror = {nodes, shared->memory + shared->front, malloc(bytes), bytes};

    if (!mirror.memory)
        bail_out("memory is short");
    memset(mirror.staging, 0xFF, bytes);
    memset(mirror.memory, 0xFF, bytes);
    mirrors[rank] = mirror;
    rank_now = rank;
    ops->run = run;
    ops->fetch = fetch;
    ops->store = store;
    ops->pull = pull;
    ops->borrow = borrow;
}

void mirror_close(unsigned rank)
{
    free(mirrors[rank].memory);
}
