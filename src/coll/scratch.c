/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

#include "coll/scratch.h"

#include <stdlib.h>
#include <string.h>

/* Payloads are aligned to 16 bytes; a cache line avoids sharing one with other memory. */
#define STAGING_ALIGNMENT 64

static size_t larger(size_t a, size_t b)
{
    return a > b ? a : b;
}

void cgx_scratch_release(struct cgx_scratch *scratch)
{
    free(scratch->staging);
    free(scratch->pieces);
    free(scratch->parts);
    free(scratch->transfers);
    free(scratch->sources);
    cgx_exchange_free(scratch->exchange);
    memset(scratch, 0, sizeof *scratch);
}

enum cgx_status cgx_scratch_reserve(struct cgx_scratch *scratch, const struct cgx_needs *needs)
{
    struct cgx_scratch grown = {.holds = {.staging = larger(scratch->holds.staging, needs->staging),
                                          .pieces = larger(scratch->holds.pieces, needs->pieces),
                                          .parts = larger(scratch->holds.parts, needs->parts)}};
    void *staging;

    if (memcmp(&grown.holds, &scratch->holds, sizeof grown.holds) == 0)
        return CGX_OK;
    if (posix_memalign(&staging, STAGING_ALIGNMENT, grown.holds.staging) == 0)
        grown.staging = staging;
    grown.pieces = calloc(grown.holds.pieces, sizeof *grown.pieces);
    grown.parts = calloc(grown.holds.parts, sizeof *grown.parts);
    grown.transfers = calloc(2 * grown.holds.parts, sizeof *grown.transfers);
    grown.sources = calloc(grown.holds.parts, sizeof *grown.sources);
    grown.exchange = cgx_exchange_create(2 * grown.holds.parts);
    if (!grown.staging || !grown.pieces || !grown.parts || !grown.transfers || !grown.sources ||
        !grown.exchange) {
        cgx_scratch_release(&grown);
        return CGX_ERR_NOMEM;
    }
    cgx_scratch_release(scratch);
    *scratch = grown;
    return CGX_OK;
}
