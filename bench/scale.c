/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

/* How compressed all-reduces of many ranks would do: a line of CSV for each call of the lists that
 * its options give, beside closed forms of exact ones. See bench/results/scale.md.
 */
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "policy/cost.h"
#include "scale.h"
#include "util/integers.h"
#include "util/parse.h"

static const char usage[] =
    "usage: bench/scale [OPTION ...]\n"
    "Models compressed all-reduces of float32, a line of CSV for each call. Lists have commas.\n"
    "  --ranks LIST           (64,512,4096)\n"
    "  --members LIST         ranks of a node, which share its interface (1,8)\n"
    "  --gbit LIST            Gbit/s of an interface, in each direction (25,100,200,400)\n"
    "  --bytes LIST           of float32 (64 KiB to 256 MiB)\n"
    "  --run N                nodes whose ranks are run, others do as they; 0: all (3)\n"
    "  --fragment BYTES       of a message through MPI (1048576)\n"
    "  --staging BYTES        CGX_FUSION_BUFFER_SIZE_MB, in bytes (67108864)\n"
    "  --between NAME         CGX_CROSS_REDUCTION_TYPE (AUTO)\n"
    "  --leaders              one rank of each node sends to others\n"
    "  --lab                  hosts of bench/lab instead of GPUs on a fast network; before "
    "others\n";

enum { MOST = 32 };

struct list {
    double values[MOST];
    size_t count;
};

static struct list ranks = {{64, 512, 4096}, 3}, members = {{1, 8}, 2},
                   rates = {{25, 100, 200, 400}, 4};
static struct list sizes = {
    {65536, 262144, 1048576, 4194304, 16777216, 67108864, 134217728, 268435456}, 8};

/* A fast network, with a GPU at each rank. */
static const struct scale_costs cluster = {.latency = 2e-6,
                                           .local_rate = 100e9,
                                           .local_latency = 1e-6,
                                           .eager = 16384,
                                           .send = 0.35e-6,
                                           .receive = 0.35e-6,
                                           .poll = 0.1e-6,
                                           .slot = 4.7e-9,
                                           .encode = 500e9,
                                           .decode = 500e9,
                                           .sum = 500e9,
                                           .operation = 10e-6,
                                           .queued = true};

/* Hosts of bench/lab: TCP through the kernel, in frames of 1514 bytes that hold 1448, and a
 * processor's codec. */
static const struct scale_costs lab = {.latency = 50e-6,
                                       .burst = 262144,
                                       .local_rate = 5e9,
                                       .local_latency = 1e-6,
                                       .eager = 16384,
                                       .send = 5e-6,
                                       .receive = 5e-6,
                                       .copy = 0.1e-9,
                                       .poll = 1e-6,
                                       .slot = 4.7e-9,
                                       .encode = 10e9,
                                       .decode = 10e9,
                                       .sum = 10e9,
                                       .operation = 1e-6};
#define LAB_PAYLOAD (1448.0 / 1514)

static struct scale_call call = {.run = 3,
                                 .inter = CGX_REDUCTION_AUTO,
                                 .bits = 4,
                                 .staging = (size_t)64 << 20,
                                 .fragment = (size_t)1 << 20};
static double payload = 1;

static bool read_list(const char *text, struct list *list)
{
    char *end;

    list->count = 0;
    do {
        if (list->count == MOST)
            return false;
        list->values[list->count++] = strtod(text, &end);
        if (end == text || (*end != ',' && *end != '\0'))
            return false;
        text = end + 1;
    } while (*end == ',');
    return true;
}

/* ---- exact calls, and what bytes alone take ---- */

/* The part of BYTES that one of COUNT sends in a reduce-scatter or an allgather. */
static double share_of(double bytes, unsigned count)
{
    return bytes - bytes / count;
}

static unsigned steps_of(unsigned count)
{
    unsigned steps = 0;

    while (count > 1u << steps)
        steps++;
    return steps;
}

/* The microseconds of an exact call on NODES: by recursive doubling, or Rabenseifner's algorithm or
 * a ring, whichever is fastest. Inside nodes processors copy. */
static double exact_time(double rate, unsigned nodes)
{
    const struct scale_costs *costs = &call.costs;
    const double bytes = sizeof(float) * (double)call.elements;
    const double message = costs->send + costs->receive, step = costs->latency + message;
    const double doubling = steps_of(nodes) * (step + bytes / rate);
    const double halving = 2 * (steps_of(nodes) * step + share_of(bytes, nodes) / rate);
    const double inside =
        2 * (share_of(bytes, call.members) / costs->local_rate + steps_of(call.members) * message);

    return 1e6 * (inside + (doubling < halving ? doubling : halving));
}

/* The microseconds that the encoded bytes alone take at the busiest interface. */
static double limit_time(double rate, unsigned nodes)
{
    const double buckets = (double)cgx_divide_up(call.elements, CGX_MAXMIN_BUCKET);
    const double encoded =
        (double)call.elements * call.bits / 8 + buckets * CGX_BUCKET_HEADER_BYTES;

    return 2e6 * (share_of(encoded, call.members) / call.costs.local_rate +
                  share_of(encoded, nodes) / rate);
}

/* What the call came to be. */
static const char *name_of(const struct scale_result *result)
{
    static char name[64];

    snprintf(name, sizeof name, "%s", call.members > 1 ? "hierarchical" : "flat");
    if (result->rows > 1)
        snprintf(name + strlen(name), sizeof name - strlen(name), "-grid-%u", result->rows);
    return name;
}

static bool run(double gbit, unsigned nodes)
{
    const double rate = gbit * 1e9 / 8;
    struct scale_result result;

    call.costs.rate = payload * rate;
    call.network = cgx_cost_network((uint64_t)(gbit * 1e9), call.costs.queued);
    if (!scale_run(&call, &result))
        return false;
    printf("%s,%u,%u,%g,%zu,%.1f,%.1f,%.1f,%llu,%llu,%llu,%llu,%zu,%u,%llu,%.0f,%llu,%llu\n",
           name_of(&result), call.ranks, call.members, gbit, 4 * call.elements,
           result.seconds * 1e6, exact_time(rate, nodes), limit_time(rate, nodes),
           (unsigned long long)result.messages, (unsigned long long)result.empty,
           (unsigned long long)result.fragments, (unsigned long long)result.bytes, result.staging,
           result.slices, (unsigned long long)result.polls,
           result.polls > 0 ? (double)result.polled / (double)result.polls : 0,
           (unsigned long long)result.all_fragments, (unsigned long long)result.all_bytes);
    fflush(stdout);
    return true;
}

static bool run_all(void)
{
    printf("algorithm,ranks,members,gbit,bytes,us,exact_us,limit_us,messages,empty,fragments,"
           "sent,staging,slices,polls,polled,all_fragments,all_sent\n");
    for (size_t p = 0; p < ranks.count; p++) {
        for (size_t l = 0; l < members.count; l++) {
            for (size_t g = 0; g < rates.count; g++) {
                for (size_t b = 0; b < sizes.count; b++) {
                    call.ranks = (unsigned)ranks.values[p];
                    call.members = (unsigned)members.values[l];
                    call.elements = (size_t)sizes.values[b] / 4;
                    if (call.members == 0 || call.ranks % call.members != 0 || call.ranks < 2 ||
                        call.elements == 0)
                        continue;
                    if (!run(rates.values[g], call.ranks / call.members))
                        return false;
                }
            }
        }
    }
    return true;
}

static void read_lab(void)
{
    call.costs = lab;
    payload = LAB_PAYLOAD;
    call.fragment = 16384;
}

static bool read_reduction(const char *name)
{
    uint64_t value;

    if (!cgx_parse_choice(name, "SRA, GRID, AUTO", &value))
        return false;
    call.inter = (enum cgx_reduction)value;
    return true;
}

/* False: it is none of the options. */
static bool read_option(int option)
{
    struct list one;

    switch (option) {
    case 'p':
        return read_list(optarg, &ranks);
    case 'l':
        return read_list(optarg, &members);
    case 'g':
        return read_list(optarg, &rates);
    case 'b':
        return read_list(optarg, &sizes);
    case 'r':
        call.run = read_list(optarg, &one) ? (unsigned)one.values[0] : 0;
        return true;
    case 'f':
        call.fragment = read_list(optarg, &one) ? (size_t)one.values[0] : 0;
        return call.fragment > 0;
    case 's':
        call.staging = read_list(optarg, &one) ? (size_t)one.values[0] : 0;
        return call.staging > 0;
    case 'x':
        return read_reduction(optarg);
    case 'd':
        call.leaders = true;
        return true;
    case 'k':
        read_lab();
        return true;
    default:
        return false;
    }
}

int main(int argc, char *argv[])
{
    static const struct option options[] = {{"ranks", required_argument, NULL, 'p'},
                                            {"members", required_argument, NULL, 'l'},
                                            {"gbit", required_argument, NULL, 'g'},
                                            {"bytes", required_argument, NULL, 'b'},
                                            {"run", required_argument, NULL, 'r'},
                                            {"fragment", required_argument, NULL, 'f'},
                                            {"staging", required_argument, NULL, 's'},
                                            {"between", required_argument, NULL, 'x'},
                                            {"leaders", no_argument, NULL, 'd'},
                                            {"lab", no_argument, NULL, 'k'},
                                            {NULL, 0, NULL, 0}};
    int option;

    call.costs = cluster;
    while ((option = getopt_long(argc, argv, "", options, NULL)) != -1) {
        if (!read_option(option)) {
            fputs(usage, stderr);
            return 2;
        }
    }
    return run_all() ? EXIT_SUCCESS : EXIT_FAILURE;
}
