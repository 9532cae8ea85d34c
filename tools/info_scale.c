/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

#include "info.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "codec/format.h"
#include "policy/cost.h"
#include "util/parse.h"

#define MOST_RANKS (1 << 20)
#define LEAST_BYTES (UINT64_C(64) << 10)
#define MOST_BYTES (UINT64_C(256) << 20)

/* In bytes per second: PCIe 5.0 x16. What is faster is NVLink. */
#define FASTEST_PCIE 64e9

/* ---- what is asked ---- */

static bool parse_count(const char *word, unsigned *count)
{
    unsigned long value;

    if (strspn(word, "0123456789") != strlen(word) || strlen(word) == 0 || strlen(word) > 8)
        return false;
    value = strtoul(word, NULL, 10);
    *count = (unsigned)value;
    return value >= 1 && value <= MOST_RANKS;
}

bool info_scale_parse(char *const words[3], struct info_job *job, const char **why)
{
    if (!parse_count(words[0], &job->ranks) || job->ranks < 2)
        *why = "P, the number of ranks, is from 2 to 1048576";
    else if (!parse_count(words[1], &job->members) || job->ranks % job->members != 0)
        *why = "L, the ranks of a node, is a number that divides P";
    else if (!info_link_parse(words[2], &job->bytes_per_second))
        *why = INFO_LINK_ALLOWED;
    else
        return true;
    return false;
}

/* ---- the table ---- */

static void print_size(uint64_t bytes)
{
    if (bytes >= UINT64_C(1) << 20)
        printf("%5" PRIu64 " MiB", bytes >> 20);
    else
        printf("%5" PRIu64 " KiB", bytes >> 10);
}

static void print_row(const struct cgx_settings *settings, const struct cgx_network *network,
                      const struct info_job *job, uint64_t bytes, uint64_t least)
{
    const unsigned nodes = job->ranks / job->members;
    const struct cgx_volume volume =
        cgx_cost_volume(bytes / sizeof(float), sizeof(float), settings->bits, CGX_MAXMIN_BUCKET);
    const struct cgx_arrangement arrangement = {
        nodes, job->members, cgx_cost_rows(network, &volume, nodes, job->members, false)};
    uint64_t exact = cgx_cost_exact(network, &volume, nodes, job->members);
    const unsigned slices = cgx_cost_slices(network, &volume, &arrangement);
    uint64_t compressed = cgx_cost_sliced(network, &volume, &arrangement, slices);
    uint64_t limit = cgx_cost_limit(network, &volume, nodes, job->members);
    char how[32] = "SRA";

    if (arrangement.rows > 1)
        snprintf(how, sizeof how, "GRID %ux%u", arrangement.rows, nodes / arrangement.rows);
    print_size(bytes);
    printf("  %12.1f  %12.1f  %12.1f  %-12s  %6.2f  %s\n", (double)exact / 1e3,
           (double)compressed / 1e3, (double)limit / 1e3, how, (double)exact / (double)compressed,
           volume.elements >= least ? "compressed" : "exact");
}

/* On a single node the link is that of a rank to the others. */
static struct cgx_network network_of(const struct info_job *job, bool device)
{
    const struct cgx_network network =
        cgx_cost_network((uint64_t)(8 * job->bytes_per_second), device);
    struct cgx_network node;

    if (job->ranks != job->members)
        return network;
    node = cgx_cost_node(device, job->bytes_per_second > FASTEST_PCIE);
    node.local_byte_ps = node.byte_ps = network.byte_ps;
    return node;
}

void info_scale(const struct cgx_settings *settings, const struct info_job *job)
{
    const bool device = settings->buffers != CGX_BUFFERS_HOST;
    struct cgx_network network = network_of(job, device);
    uint64_t least;

    if (job->latency_us > 0)
        network.latency_ns = (uint32_t)(job->latency_us * 1e3);
    least = cgx_minimal_size(settings, &network, sizeof(float), job->ranks / job->members,
                             job->members);
    printf("# %u ranks, %u to a node, %g Gbit/s at each %s, %g us a message on the way and %g us "
           "of a processor\n",
           job->ranks, job->members, 8 * job->bytes_per_second / 1e9,
           job->ranks == job->members ? "rank" : "node", network.latency_ns / 1e3,
           network.message_ns / 1e3);
    printf("# float32 at %u bits %s; times in us, of a model\n", settings->bits,
           device ? "in GPU memory" : "in host memory");
    printf("%9s  %12s  %12s  %12s  %-12s  %6s  %s\n", "size", "exact", "compressed", "its limit",
           "algorithm", "faster", "best");
    for (uint64_t bytes = LEAST_BYTES; bytes <= MOST_BYTES; bytes *= 4)
        print_row(settings, &network, job, bytes, least);
}
