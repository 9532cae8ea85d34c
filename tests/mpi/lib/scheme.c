/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

#include <stdlib.h>
#include <string.h>

#include "bound.h"
#include "check.h"

/* Whether the variable has VALUE. */
struct scheme scheme_from_environment(enum element type)
{
    const char *bits = getenv("CGX_COMPRESSION_QUANTIZATION_BITS");
    const char *bucket = getenv("CGX_COMPRESSION_BUCKET_SIZE");
    const char *nodes = getenv("CGX_TOPOLOGY");
    const char *per_node = nodes ? strchr(nodes, 'x') : NULL;
    const char *rounding = getenv("CGX_ROUNDING");
    bool history = check_set("CGX_HISTORY", "1");
    struct scheme scheme = {
        .type = type,
        .bits = bits ? (unsigned)atoi(bits) : 4,
        .bucket = bucket ? (size_t)atoi(bucket) : (history ? 128 : 512),
        .stochastic = rounding && strncmp(rounding, "stochastic", 10) == 0,
        .ring = check_set("CGX_INNER_REDUCTION_TYPE", "RING"),
        .grid = check_set("CGX_CROSS_REDUCTION_TYPE", "GRID"),
        .per_node = per_node ? atoi(per_node + 1) : 0,
        .raw = check_set("CGX_INNER_REDUCTION_TYPE", "RAW"),
        .skip_incomplete = check_set("CGX_COMPRESSION_SKIP_INCOMPLETE_BUCKETS", "1"),
        .widest = history ? 252 : 1,
    };

    if (check_set("CGX_CODEC", "rotated") && scheme.bits <= 5) {
        scheme.rotated =
            (const double[]){0.5708, 0.1331, 0.0358, 0.00963, 0.00252}[scheme.bits - 1];
        scheme.bucket = 1024;
    }
    return scheme;
}
