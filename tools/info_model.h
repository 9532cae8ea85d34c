/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

/* How long compressed and exact all-reduces take, in a simple model, and which settings follow.
 *
 * INFO_RANKS ranks, one to a node, each with a link of its own that carries W bytes/s in both
 * directions at once. For each of the call's elements an exact all-reduce of float32 has
 * 2(P-1)/P * 4 bytes on the busiest link and a compressed one 2(P-1)/P * (b/8 + header). The
 * codec encodes (P-1)/P of the elements, forms 1/P of the sums, and decodes all. A compressed call
 * takes two rounds of messages more than an exact one. */
#ifndef CGX_TOOLS_INFO_MODEL_H
#define CGX_TOOLS_INFO_MODEL_H

#include <stdbool.h>
#include <stdint.h>

#define INFO_RANKS 4
#define INFO_WIDTHS 8

struct info_model {
    double bytes_per_ns; /* of the link */
    double latency_ns;   /* of a round of messages */
    double header_bytes; /* of an element: its part of its bucket's */
};

/* Of the codec, in ns per element: of the input, of the result, and of a sum of INFO_RANKS. */
struct info_speed {
    double encode, decode, reduce;
};

/* In ns per element of a call. */
double info_exact_time(const struct info_model *model);
double info_wire_time(const struct info_model *model, unsigned bits);
double info_codec_time(const struct info_speed *speed);

/* The width: 4, unless the codec takes longer than the wire; then the widest that takes at most a
 * twentieth longer, for it costs less error. SPEEDS by bits - 1; NULL: the codec takes no time. */
unsigned info_width(const struct info_model *model, const struct info_speed speeds[INFO_WIDTHS]);

/* The elements from which on a call of that width is faster than an exact one, rounded up to a
 * power of two of at least 1024. False: none is. SPEED as above. */
bool info_minimal_size(const struct info_model *model, unsigned bits,
                       const struct info_speed *speed, uint64_t *elements);

#endif
