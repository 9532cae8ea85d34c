/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

/* What an all-reduce takes on a network, compressed and exact, in closed form. Every rank has an
 * interface or shares that of its node; a message takes a latency, and time of the processors that
 * send and receive it; bytes wait for each other at the interface, while messages are made. All in
 * integers, so that ranks that agree on the arguments agree on the result. */
#ifndef CGX_POLICY_COST_H
#define CGX_POLICY_COST_H

#include <stdbool.h>
#include <stdint.h>

#include "util/settings.h"

struct cgx_network {
    uint32_t latency_ns;    /* of a message, on the way */
    uint32_t message_ns;    /* of a processor, to send a message and to receive one */
    uint32_t operation_ns;  /* of an operation of the codec, beside that of its bytes */
    uint32_t byte_ps;       /* of a node's interface, in each direction */
    uint32_t local_byte_ps; /* between two ranks of a node */
    uint32_t element_ps;    /* of the codec, for each element of a buffer: encode, sum, decode */
    bool one_processor;     /* the codec's also handles messages, and copies inside a node */
};

/* A buffer of a call. */
struct cgx_volume {
    uint64_t exact, encoded; /* bytes */
    uint64_t units;          /* that can have an owner each */
    uint64_t elements;
};

/* NODES of MEMBERS ranks each. Between nodes a sum is formed in ROWS of nodes, alike in length to
 * one, and then between the rows; one row: at once. */
struct cgx_arrangement {
    unsigned nodes, members, rows;
};

/* A network of so many bits per second at each interface: above 10 Gbit/s one whose adapters send
 * by themselves, below it TCP through the kernel; DEVICE: the codec is that of a GPU. */
struct cgx_network cgx_cost_network(uint64_t bits_per_second, bool device);

/* COUNT elements of SIZE bytes, as BITS of each in buckets. */
struct cgx_volume cgx_cost_volume(uint64_t count, unsigned size, unsigned bits,
                                  unsigned bucket_size);

/* In ns: by the best of recursive doubling, Rabenseifner's algorithm and a ring. */
uint64_t cgx_cost_exact(const struct cgx_network *network, const struct cgx_volume *volume,
                        unsigned nodes, unsigned members);

/* In ns: reduce-scatter and allgather of what is encoded, all at once, with an owner for each unit
 * at most. */
uint64_t cgx_cost_compressed(const struct cgx_network *network, const struct cgx_volume *volume,
                             const struct cgx_arrangement *arrangement);

/* In ns: the same in SLICES, at least one, two of which are under way at a time, one in the codec
 * and one on the network. */
uint64_t cgx_cost_sliced(const struct cgx_network *network, const struct cgx_volume *volume,
                         const struct cgx_arrangement *arrangement, unsigned slices);

/* The fewest slices in which a call takes hardly more than the least time. */
unsigned cgx_cost_slices(const struct cgx_network *network, const struct cgx_volume *volume,
                         const struct cgx_arrangement *arrangement);

/* In ns: that of the encoded bytes at the busiest interface alone. */
uint64_t cgx_cost_limit(const struct cgx_network *network, const struct cgx_volume *volume,
                        unsigned nodes, unsigned members);

/* The rows with which a compressed call takes least; 1, where it takes hardly less with several,
 * for these quantise once more. ALWAYS: several, if there are nodes for two of two. */
unsigned cgx_cost_rows(const struct cgx_network *network, const struct cgx_volume *volume,
                       unsigned nodes, unsigned members, bool always);

/* The least power of two from which on all powers of two of elements, of SIZE bytes and as BITS of
 * each in buckets, take less compressed than exact. UINT64_MAX: there is none. GRID: rows may be
 * formed where they pay. */
uint64_t cgx_cost_least(const struct cgx_network *network, unsigned size, unsigned bits,
                        unsigned bucket_size, unsigned nodes, unsigned members, bool grid);

/* CGX_COMPRESSION_MINIMAL_SIZE where it is auto. */

/* From how many elements of SIZE bytes on calls between NODES of MEMBERS ranks are compressed: as
 * SETTINGS say or, where that is auto, from where on they take less time on NETWORK, as far as that
 * is a matter of messages: what a processor's codec takes for each element is left out. Ranks that
 * agree on the arguments agree on it. */
uint64_t cgx_minimal_size(const struct cgx_settings *settings, const struct cgx_network *network,
                          unsigned size, unsigned nodes, unsigned members);

#endif
