/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

/* How compressed calls are cut into slices, and nodes arranged in rows, by the time of a call in
 * closed form. Whether compression pays is measured (worth.h). Each rank has an interface or shares
 * its node's. A message costs latency, and processor time at sender and receiver; bytes queue at
 * the interface while messages are prepared. All in integers, so that ranks with equal arguments
 * get equal results. */
#ifndef CGX_POLICY_COST_H
#define CGX_POLICY_COST_H

#include <stdbool.h>
#include <stdint.h>

struct cgx_network {
    uint32_t latency_ns;    /* time of a message in transit */
    uint32_t message_ns;    /* processor time to send a message, and to receive one */
    uint32_t operation_ns;  /* fixed cost of a codec operation */
    uint32_t byte_ps;       /* of a node's interface, in each direction */
    uint32_t local_byte_ps; /* between two ranks of a node */
    uint32_t host_byte_ps; /* between a device and the host, each way; 0: buffers are on the host */
    uint32_t element_ps;   /* of the codec per buffer element: encode, sum and decode */
    /* The processor that runs the codec also handles messages and copies inside a node. */
    bool one_processor;
};

/* The size of a call. */
struct cgx_volume {
    uint64_t encoded; /* bytes of the buffer's encoding */
    uint64_t units;   /* number of units, each of which can have an owner */
    uint64_t elements;
};

/* NODES of MEMBERS ranks each. Between nodes, sums are formed first in ROWS of nodes, whose lengths
 * differ by at most one, then between the rows; with one row at once. */
struct cgx_arrangement {
    unsigned nodes, members, rows;
};

/* A network with this bandwidth per interface. Above 10 Gbit/s adapters send on their own,
 * otherwise TCP goes through the kernel. DEVICE: the codec runs on a GPU. */
struct cgx_network cgx_cost_network(uint64_t bits_per_second, bool device);

/* The network of a single node. DEVICE: as above. LINKED: devices read each other's memory, so that
 * their kernels wait for its bytes; otherwise payloads go through host memory, by PCIe. */
struct cgx_network cgx_cost_node(bool device, bool linked);

/* The time in ns of a reduce-scatter and an allgather of the encoded buffer, with at most one owner
 * per unit, in SLICES, at least one, two of which are under way at a time: one in the codec, one on
 * the network. */
uint64_t cgx_cost_time(const struct cgx_network *network, const struct cgx_volume *volume,
                       const struct cgx_arrangement *arrangement, unsigned slices);

/* The fewest slices that take hardly more than the least time. */
unsigned cgx_cost_slices(const struct cgx_network *network, const struct cgx_volume *volume,
                         const struct cgx_arrangement *arrangement);

/* The number of rows with which a compressed call is fastest; 1 if more rows gain little, since
 * these quantise once more. ALWAYS: several, if the nodes suffice for two rows of two. */
unsigned cgx_cost_rows(const struct cgx_network *network, const struct cgx_volume *volume,
                       unsigned nodes, unsigned members, bool always);

#endif
