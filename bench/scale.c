/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

/* How compressed all-reduces of many ranks would do: a line of CSV for each call of the lists that
 * its options give, beside closed forms of exact ones (policy/cost.h). See bench/results/scale.md.
 */
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "policy/cost.h"
#include "scale.h"

enum { MOST = 32 };

struct list {
    double values[MOST];
    size_t count;
};

static struct list ranks = {{64, 512, 4096}, 3}, members = {{1, 8}, 2},
                   rates = {{25, 100, 200, 400}, 4};
static struct list sizes = {
    {65536, 262144, 1048576, 4194304, 16777216, 67108864, 134217728, 268435456}, 8};

/* A fast network with a GPU at each rank, and in the lab. */
static struct scale_call call = {.run = 3,
                                 .bits = 4,
                                 .bucket_size = 512,
                                 .staging = (size_t)64 << 20,
                                 .fragment = (size_t)1 << 20,
                                 .adaptive = true,
                                 .watched = true,
                                 .absolute = true,
                                 .costs = {.latency = 2e-6,
                                           .local_rate = 100e9,
                                           .local_latency = 1e-6,
                                           .oversubscription = 1,
                                           .leaf = 32,
                                           .eager = 16384,
                                           .send = 0.35e-6,
                                           .receive = 0.35e-6,
                                           .poll = 0.1e-6,
                                           .slot = 4.7e-9,
                                           .encode = 500e9,
                                           .decode = 500e9,
                                           .sum = 500e9,
                                           .operation = 10e-6,
                                           .queued = true}};

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

static struct cgx_network network_of(double gbit)
{
    const struct scale_costs *costs = &call.costs;

    return (struct cgx_network){
        .latency_ns = (uint32_t)(costs->latency * 1e9),
        .message_ns = (uint32_t)((costs->send + costs->receive) * 1e9),
        .operation_ns = (uint32_t)(costs->operation * 1e9),
        .byte_ps = cgx_cost_byte_ps((uint64_t)(gbit * 1e9)),
        .local_byte_ps = (uint32_t)(1e12 / costs->local_rate),
        .element_ps = (uint32_t)(4e12 / costs->encode + 8e12 / costs->sum + 4e12 / costs->decode)};
}

static struct cgx_volume volume_of(void)
{
    uint64_t buckets = (call.elements + call.bucket_size - 1) / call.bucket_size;

    return (struct cgx_volume){.exact = 4 * call.elements,
                               .encoded = call.elements * call.bits / 8 + 4 * buckets,
                               .units = buckets,
                               .elements = call.elements};
}

/* A ring of all ranks, in us. */
static double ring(const struct cgx_network *network, const struct cgx_volume *volume,
                   unsigned members)
{
    double step = (network->latency_ns + network->message_ns) / 1e3;
    double share = (double)volume->exact * (members - 1) / members;

    return 2 * ((members - 1) * step + share * network->byte_ps / 1e6);
}

static bool run(double gbit)
{
    const struct cgx_network network = network_of(gbit);
    const struct cgx_volume volume = volume_of();
    unsigned nodes = call.ranks / call.members;
    struct scale_result result;

    call.costs.rate = gbit * 1e9 / 8;
    if (!scale_run(&call, &result))
        return false;
    printf("%s,%u,%u,%g,%zu,%.1f,%.1f,%.1f,%.1f,%llu,%llu,%llu,%llu,%zu,%u,%llu,%.0f\n",
           call.members > 1 ? "hierarchical" : "flat", call.ranks, call.members, gbit,
           4 * call.elements, result.seconds * 1e6,
           (double)cgx_cost_exact(&network, &volume, nodes, call.members) / 1e3,
           ring(&network, &volume, call.ranks),
           (double)cgx_cost_limit(&network, &volume, nodes, call.members) / 1e3,
           (unsigned long long)result.messages, (unsigned long long)result.empty,
           (unsigned long long)result.fragments, (unsigned long long)result.bytes, result.staging,
           result.slices, (unsigned long long)result.polls,
           result.polls > 0 ? (double)result.polled / (double)result.polls : 0);
    fflush(stdout);
    return true;
}

int main(int argc, char *argv[])
{
    static const struct option options[] = {
        {"ranks", required_argument, NULL, 'p'}, {"members", required_argument, NULL, 'l'},
        {"gbit", required_argument, NULL, 'g'},  {"bytes", required_argument, NULL, 'b'},
        {"run", required_argument, NULL, 'r'},   {NULL, 0, NULL, 0}};
    struct list run_nodes = {{3}, 1};
    bool sound = true;
    int option;

    while ((option = getopt_long(argc, argv, "", options, NULL)) != -1) {
        struct list *list = option == 'p'   ? &ranks
                            : option == 'l' ? &members
                            : option == 'g' ? &rates
                            : option == 'b' ? &sizes
                            : option == 'r' ? &run_nodes
                                            : NULL;

        sound = list && read_list(optarg, list) && sound;
    }
    if (!sound)
        return 2;
    call.run = (unsigned)run_nodes.values[0];
    printf("algorithm,ranks,members,gbit,bytes,us,exact_us,ring_us,limit_us,messages,empty,"
           "fragments,sent,"
           "staging,slices,polls,polled\n");
    for (size_t p = 0; p < ranks.count; p++) {
        for (size_t l = 0; l < members.count; l++) {
            for (size_t g = 0; g < rates.count; g++) {
                for (size_t b = 0; b < sizes.count; b++) {
                    call.ranks = (unsigned)ranks.values[p];
                    call.members = (unsigned)members.values[l];
                    call.elements = (size_t)sizes.values[b] / 4;
                    if (!run(rates.values[g]))
                        return 1;
                }
            }
        }
    }
    return 0;
}
