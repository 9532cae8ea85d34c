/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

/* What cgx-info prints for its options. */
#ifndef CGX_TOOLS_INFO_H
#define CGX_TOOLS_INFO_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "coll/program.h"
#include "util/settings.h"

/* --settings: the settings that the environment changes, each with its default and documentation;
 * ALL: the whole table. */
void info_print_settings(bool all);

/* --data: which data the library sees is no gradient, and how a user says so. */
void info_print_data(void);

/* --topology: the network interface whose speed the size of fragments follows. */
void info_print_network(void);

/* A line that says in which stages a call would be summed. Nodes are known to a job alone. */
void info_print_stages(const struct cgx_settings *settings);

/* The program of a rank: a line for each sum and message of each round. */
void info_print_program(FILE *out, const struct cgx_program *program);

/* ---- links ---- */

/* Reads a positive finite decimal number: "1", "0.5", "2.5e-3". *VALUE is set if TEXT is one. */
bool info_positive_parse(const char *text, double *value);

/* Reads a number and a unit: mbit or gbit in letters of either case, MB or GB; "/s" may follow. A
 * number alone is in Gbit/s. Returns false if TEXT is malformed, or faster than 100 TB/s. */
#define INFO_LINK_ALLOWED "LINK is a number of Gbit/s, as 100, or a speed, as 25gbit or 1.25GB"
bool info_link_parse(const char *text, double *bytes_per_second);

/* ---- --measure ---- */

/* How long compressed and exact all-reduces take, in a simple model, and which settings follow.
 *
 * INFO_RANKS ranks, one to a node, each with a link of its own that carries W bytes/s in both
 * directions at once. For each of the call's elements an exact all-reduce of float32 has
 * 2(P-1)/P * 4 bytes on the busiest link and a compressed one 2(P-1)/P * (b/8 + header). The
 * codec encodes (P-1)/P of the elements, forms 1/P of the sums, and decodes all. A compressed call
 * takes two rounds of messages more than an exact one. */
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

/* Times the host codec, with the family and bucket size of SETTINGS, and memcpy, *COPY in bytes per
 * ns, on one thread. False: no memory. */
bool info_time_codec(const struct cgx_settings *settings, double *copy,
                     struct info_speed speeds[INFO_WIDTHS]);

/* Measures, and prints what was measured, what it makes of a link, and settings for it. LINK says
 * which one that is. False: no memory. */
bool info_measure(const struct cgx_settings *settings, const char *link, double bytes_per_second,
                  double latency_us);

#endif
