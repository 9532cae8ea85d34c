/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

#include "policy/cost.h"

#include "codec/format.h"

static uint64_t larger(uint64_t a, uint64_t b)
{
    return a > b ? a : b;
}

static uint64_t smaller(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

static uint64_t round_up_division(uint64_t value, uint64_t divisor)
{
    return value / divisor + (value % divisor != 0);
}

static uint64_t ns(uint64_t bytes, uint32_t byte_ps)
{
    return bytes * byte_ps / 1000;
}

uint32_t cgx_cost_byte_ps(uint64_t bits_per_second)
{
    const uint64_t ps = UINT64_C(8000000000000) / larger(bits_per_second, 8000);

    return (uint32_t)larger(ps, 1);
}

/* ---- exact ---- */

static unsigned steps_of(unsigned members)
{
    unsigned steps = 0;

    while (members > 1u << steps)
        steps++;
    return steps;
}

/* Of the bytes, what one of MEMBERS sends and receives in a reduce-scatter or an allgather. */
static uint64_t share(uint64_t bytes, uint64_t members)
{
    return bytes - bytes / members;
}

uint64_t cgx_cost_exact(const struct cgx_network *network, const struct cgx_volume *volume,
                        unsigned nodes, unsigned members)
{
    const uint64_t step = network->latency_ns + network->message_ns;
    const uint64_t bytes = volume->exact;
    uint64_t inside = members > 1 ? 2 * ns(share(bytes, members), network->local_byte_ps) +
                                        2 * (uint64_t)steps_of(members) * network->message_ns
                                  : 0;
    uint64_t doubling = steps_of(nodes) * (step + ns(bytes, network->byte_ps));
    uint64_t halving = 2 * (steps_of(nodes) * step + ns(share(bytes, nodes), network->byte_ps));

    /* A ring moves the bytes of halving in more steps. */
    return inside + smaller(doubling, halving);
}

/* ---- compressed ---- */

/* What the members of a stage send through. */
struct way {
    uint32_t latency_ns, byte_ps;
    unsigned shared; /* ranks that it is shared by */
};

/* A reduce-scatter and an allgather of UNITS in BYTES among MEMBERS. An owner has a message with
 * each member, and where units are fewer than members, another member one with each owner. */
static uint64_t stage(const struct cgx_network *network, const struct way *way, unsigned members,
                      uint64_t bytes, uint64_t units)
{
    uint64_t owners = smaller(members, larger(units, 1));
    uint64_t message = round_up_division(bytes, owners) + CGX_MESSAGE_HEADER_BYTES;
    uint64_t processor = (members - 1) * (uint64_t)network->message_ns;
    uint64_t wire = ns((members - 1) * message * way->shared, way->byte_ps);

    return members < 2 ? 0 : 2 * (way->latency_ns + larger(processor, wire));
}

uint64_t cgx_cost_compressed(const struct cgx_network *network, const struct cgx_volume *volume,
                             const struct cgx_arrangement *arrangement)
{
    const unsigned nodes = arrangement->nodes, members = arrangement->members;
    const unsigned columns = arrangement->columns;
    const unsigned rows = (unsigned)round_up_division(nodes, columns);
    const struct way inside = {0, network->local_byte_ps, 1};
    const struct way between = {network->latency_ns, network->byte_ps, members};
    uint64_t bytes = volume->encoded, units = volume->units, operations = 3;
    uint64_t time = volume->elements * network->element_ps / 1000;

    if (members > 1) {
        time += stage(network, &inside, members, bytes, units);
        bytes = round_up_division(bytes, members);
        units = round_up_division(units, members);
        operations += nodes > 1;
    }
    time += stage(network, &between, columns, bytes, units);
    if (rows > 1) {
        time += stage(network, &between, rows, round_up_division(bytes, columns),
                      round_up_division(units, columns));
        operations++;
    }
    return time + operations * network->operation_ns;
}

uint64_t cgx_cost_limit(const struct cgx_network *network, const struct cgx_volume *volume,
                        unsigned nodes, unsigned members)
{
    uint64_t inside = members > 1 ? ns(share(volume->encoded, members), network->local_byte_ps) : 0;

    return 2 * (inside + ns(share(volume->encoded, nodes), network->byte_ps));
}

unsigned cgx_cost_columns(const struct cgx_network *network, const struct cgx_volume *volume,
                          unsigned nodes, unsigned members)
{
    struct cgx_arrangement arrangement = {nodes, members, nodes};
    uint64_t least = cgx_cost_compressed(network, volume, &arrangement);
    unsigned best = nodes;

    for (unsigned columns = 2; columns <= nodes / 2; columns++) {
        uint64_t time;

        if (nodes % columns != 0)
            continue;
        arrangement.columns = columns;
        time = cgx_cost_compressed(network, volume, &arrangement);
        if (time < least) {
            least = time;
            best = columns;
        }
    }
    return best;
}
