/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

#include "coll/slice.h"

#include <stdlib.h>

#include "util/integers.h"
#include "util/pages.h"

/* Memory is pinned in whole pages, which must hold no other data. */
#define PAGE 4096

static size_t staging_bytes(const struct cgx_scratch *scratch)
{
    return cgx_round_up(scratch->reserved.staging, PAGE);
}

void cgx_scratch_release(struct cgx_scratch *scratch)
{
    bool unpinned = cgx_cuda_backends_free(scratch->devices);

    for (unsigned i = 0; i < CGX_SLOTS; i++) {
        if (unpinned && !scratch->shared.memory)
            cgx_pages_unmap(scratch->slices[i].staging, staging_bytes(scratch));
        free(scratch->slices[i].cut.piece);
        free(scratch->slices[i].cut.part);
    }
    if (unpinned)
        cgx_shared_free(&scratch->shared);
    else
        cgx_shared_close(&scratch->shared);
    free(scratch->transfers);
    free(scratch->sources);
    free(scratch->packed);
    cgx_exchange_free(scratch->exchange);
    *scratch = (struct cgx_scratch){.local_peers = scratch->local_peers};
}

/* Gets memory for all slots. Staging memory is from a shared segment or, if there is none, of this
 * process alone. */
static bool get_slots(struct cgx_scratch *scratch)
{
    const struct cgx_needs *needs = &scratch->reserved;
    const struct cgx_shared *shared = &scratch->shared;
    size_t bytes = staging_bytes(scratch);

    if (scratch->local_peers > 1)
        cgx_shared_create(scratch->local_peers, needs->slots * bytes, &scratch->shared);
    for (size_t i = 0; i < needs->slots; i++) {
        struct cgx_slice *slice = &scratch->slices[i];

        slice->staging =
            shared->memory ? shared->memory + shared->front + i * bytes : cgx_pages_map(bytes, -1);
        slice->cut.piece = calloc(needs->pieces, sizeof *slice->cut.piece);
        slice->cut.part = calloc(needs->parts, sizeof *slice->cut.part);
        if (!slice->staging || !slice->cut.piece || !slice->cut.part)
            return false;
    }
    return true;
}

enum cgx_status cgx_scratch_reserve(struct cgx_scratch *scratch, const struct cgx_needs *needs)
{
    struct cgx_scratch grown = {.local_peers = scratch->local_peers,
                                .reserved = cgx_needs_most(needs, &scratch->reserved)};
    bool had;

    if (cgx_needs_fit(needs, &scratch->reserved))
        return CGX_OK;
    had = get_slots(&grown);
    grown.transfers = calloc(grown.reserved.transfers, sizeof *grown.transfers);
    grown.sources = calloc(grown.reserved.sources, sizeof *grown.sources);
    /* The pages of this memory are touched only when a message is packed. */
    grown.packed = malloc(grown.reserved.packed);
    grown.exchange = cgx_exchange_create(grown.reserved.transfers);
    if (!had || !grown.transfers || !grown.sources || !grown.packed || !grown.exchange) {
        cgx_scratch_release(&grown);
        return CGX_ERR_NOMEM;
    }
    cgx_scratch_release(scratch);
    *scratch = grown;
    return CGX_OK;
}

struct cgx_area cgx_scratch_area(const struct cgx_scratch *scratch)
{
    struct cgx_area area = {.bytes = scratch->reserved.staging,
                            .pieces = scratch->reserved.pieces,
                            .sources = scratch->reserved.sources};

    for (unsigned i = 0; i < CGX_SLOTS; i++)
        area.staging[i] = scratch->slices[i].staging;
    return area;
}
