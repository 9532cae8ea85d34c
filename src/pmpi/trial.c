/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

#include "pmpi/call.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "codec/codec.h"
#include "comm/ballot.h"
#include "cuda/memory.h"
#include "cuda/pinned_pool.h"
#include "util/float_state.h"

/* ---- the compressed sum ---- */

static size_t bytes_of(const struct cgx_coll *coll)
{
    return coll->schedule->plan.count * cgx_dtype_size(coll->schedule->plan.dtype);
}

/* Returns memory of BYTES from BACKEND, which *MEMORY owns; NULL: there is none. */
static void *take_memory(struct cgx_reserved **memory, struct cgx_backend *backend, size_t bytes)
{
    if (*memory && (*memory)->bytes >= bytes && backend->ops->has_reserved(backend, *memory))
        return (*memory)->at;
    cgx_reserved_drop(*memory);
    *memory = NULL;
    if (backend->ops->reserve(backend, bytes, memory) != CGX_OK)
        *memory = NULL;
    return *memory ? (*memory)->at : NULL;
}

int cgx_trial_begin(struct cgx_comm *state, struct cgx_coll *coll, enum cgx_reason *refusal)
{
    uint32_t together = 0;

    if (!*refusal) {
        coll->output = take_memory(&state->trial, coll->backend, bytes_of(coll));
        if (!coll->output)
            *refusal = CGX_REASON_NO_MEMORY;
    }
    return cgx_ballot(state, CGX_BALLOT_START, NULL, &together, 1);
}

/* ---- the exact sum ---- */

/* Elements that are fetched at a time, and elements of a block. */
enum { FETCHED = 65536, BLOCK = 1024 };

static bool fetch_elements(void *host, const void *buffer, size_t bytes)
{
    const struct cgx_pointer where = cgx_cuda_pointer(buffer);

    if (where.memory != CGX_MEMORY_HOST)
        return cgx_pinned_fetch(&where, host, buffer, bytes) == CGX_OK;
    memcpy(host, buffer, bytes);
    return true;
}

struct room {
    char result[FETCHED * sizeof(float)], exact[FETCHED * sizeof(float)];
};

static void add_block(enum cgx_dtype dtype, size_t count, const char *result, const char *exact,
                      double *error, double *norm)
{
    float results[BLOCK], sums[BLOCK];
    double difference, square;

    cgx_peek_elements(dtype, result, count, results);
    cgx_peek_elements(dtype, exact, count, sums);
    difference = cgx_squares_sum(results, sums, count);
    square = cgx_squares_sum(sums, NULL, count);
    if (!isfinite(difference) || !isfinite(square))
        return;
    *error += difference;
    *norm += square;
}

/* Sets RECORD's sums of squares: of EXACT, the caller's, and of the errors of RESULT. Blocks do not
 * count if one of their sums is not finite. False if the elements cannot be read, or memory is
 * short. */
static bool compare_results(struct cgx_record *record, const char *result, const char *exact)
{
    const enum cgx_dtype dtype = record->plan->dtype;
    const size_t count = record->plan->count, size = cgx_dtype_size(dtype);
    struct room *room = malloc(sizeof *room);
    bool ok = room != NULL;

    for (size_t first = 0; ok && first < count; first += FETCHED) {
        size_t some = count - first < FETCHED ? count - first : FETCHED;

        ok = fetch_elements(room->result, result + first * size, some * size) &&
             fetch_elements(room->exact, exact + first * size, some * size);
        for (size_t i = 0; ok && i < some; i += BLOCK)
            add_block(dtype, some - i < BLOCK ? some - i : BLOCK, room->result + i * size,
                      room->exact + i * size, &record->square, &record->norm);
    }
    free(room);
    return ok;
}

int cgx_trial_end(struct cgx_record *record, const struct cgx_comm *state,
                  const struct cgx_coll *coll)
{
    int code = cgx_exact(record, CGX_REASON_OBSERVED);
    union cgx_float_state caller;

    if (code != CGX_MPI_SUCCESS || !state->stats || record->outcome != CGX_OUTCOME_DONE)
        return code;
    /* Sums may overflow or be NaN, and the program may have enabled traps. */
    cgx_float_enter(&caller);
    record->compared = compare_results(record, coll->output, record->request->recvbuf);
    cgx_float_leave(&caller);
    return code;
}
