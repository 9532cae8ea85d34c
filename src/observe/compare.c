/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

#include "observe/compare.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "codec/bucket.h"
#include "codec/squares.h"
#include "cuda/memory.h"
#include "cuda/pinned_pool.h"

/* Elements that are fetched at a time, and elements of a block. */
enum { FETCHED = 65536, BLOCK = 1024 };

/* Copies BYTES of BUFFER to HOST; false if they cannot be read. */
static bool fetch(void *host, const void *buffer, size_t bytes)
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

static void add(enum cgx_dtype dtype, size_t count, const char *result, const char *exact,
                double *error, double *norm)
{
    float results[BLOCK], sums[BLOCK];
    double difference, square, magnitudes;

    cgx_peek_elements(dtype, result, count, results);
    cgx_peek_elements(dtype, exact, count, sums);
    difference = cgx_squares_difference(results, sums, 1, count);
    square = cgx_squares_sum(sums, count, &magnitudes);
    if (!isfinite(difference) || !isfinite(square))
        return;
    *error += difference;
    *norm += square;
}

bool cgx_compare(enum cgx_dtype dtype, size_t count, const void *result, const void *exact,
                 double *error, double *norm)
{
    struct room *room = malloc(sizeof *room);
    size_t size = cgx_dtype_size(dtype);
    bool ok = room != NULL;

    *error = *norm = 0;
    for (size_t first = 0; ok && first < count; first += FETCHED) {
        size_t some = count - first < FETCHED ? count - first : FETCHED;

        ok = fetch(room->result, (const char *)result + first * size, some * size) &&
             fetch(room->exact, (const char *)exact + first * size, some * size);
        for (size_t i = 0; ok && i < some; i += BLOCK)
            add(dtype, some - i < BLOCK ? some - i : BLOCK, room->result + i * size,
                room->exact + i * size, error, norm);
    }
    free(room);
    return ok;
}
