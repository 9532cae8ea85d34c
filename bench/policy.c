/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

/* The choice of widths: what it saves, how near to the optimum it is, how long it takes.
 *
 *   policy [CSV]
 *   policy --replay FILE [--fused] [--period STEPS] [--base BITS] [--alpha A] [CSV]
 *
 * The first form makes segments of 64 Ki Gaussian elements whose variances are log-normal. Their
 * errors are those that the host codec makes of Gaussian buckets of 512. The saving is in bits of
 * codes against 4 bits everywhere, at no more total error; "continuous" is what widths that need
 * not be integers would save, half * log2(arithmetic / geometric mean of variances). "busiest" is
 * what the rank that sends most sends, over the mean, with chunks cut as the library cuts them.
 *
 * The second form replays recorded gradients: see policy_replay.c. FILE is little-endian:
 *
 *   4 bytes "CGXG", u32 version = 1, u32 ranks, u32 steps, u32 tensors, u64 elements[tensors],
 *   then for each step, for each rank, for each tensor its elements as float32. */

#include <getopt.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "codec/codec.h"
#include "codec/encoding.h"
#include "coll/split.h"
#include "policy.h"
#include "policy/widths/allocate.h"
#include "times.h"
#include "unit/lib/allocate_exact.h"
#include "unit/lib/codec_data.h"

#define SEGMENTS 300
#define MANY 10000
#define ELEMENTS 65536
#define SEEDS 25
#define REPEATS 201

struct bench {
    double gaussian[CGX_WIDTHS]; /* mean squared error at variance 1 */
    double errors[MANY][CGX_WIDTHS];
    struct cgx_share shares[MANY];
    double budget;
    double bound; /* the saving of continuous widths, in bits */
    FILE *csv;
};

/* The squared error of quantising COUNT values with BITS. PAYLOAD is large enough for 8. */
static double quantise(const float *values, size_t count, unsigned bits, unsigned char *payload,
                       float *decoded)
{
    const struct cgx_coding coding = {.dtype = CGX_FLOAT32, .bucket_size = POLICY_BUCKET};
    const struct cgx_piece piece = {.count = count, .bits = bits};
    double error = 0;

    data_code(cgx_codec_host(), CGX_ENCODE, &coding, &piece, values, payload);
    data_code(cgx_codec_host(), CGX_DECODE, &coding, &piece, payload, decoded);
    for (size_t i = 0; i < count; i++) {
        double difference = (double)decoded[i] - (double)values[i];

        error += difference * difference;
    }
    return error;
}

static int measure_gaussian(struct bench *bench)
{
    size_t count = (size_t)4096 * POLICY_BUCKET;
    size_t bytes = cgx_piece_layout(count, CGX_WIDTHS, POLICY_BUCKET, CGX_FLOAT32).bytes;
    unsigned char *payload = aligned_alloc(64, (bytes + 63) / 64 * 64);
    float *values = malloc(2 * count * sizeof *values);
    uint64_t state = 1;
    int status = 1;

    if (payload && values) {
        for (size_t i = 0; i < count; i++)
            values[i] = (float)data_gaussian(&state);
        for (unsigned b = 1; b <= CGX_WIDTHS; b++)
            bench->gaussian[b - 1] =
                quantise(values, count, b, payload, values + count) / (double)count;
        status = 0;
    }
    free(values);
    free(payload);
    return status;
}

static void make_segments(struct bench *bench, size_t count, double spread, unsigned least,
                          uint64_t seed)
{
    double sum = 0, logarithms = 0;
    uint64_t state = seed;

    bench->budget = 0;
    for (size_t i = 0; i < count; i++) {
        double logarithm = spread * data_gaussian(&state), variance = exp(logarithm);

        sum += variance;
        logarithms += logarithm;
        for (unsigned b = 0; b < CGX_WIDTHS; b++)
            bench->errors[i][b] = ELEMENTS * variance * bench->gaussian[b];
        bench->shares[i] = (struct cgx_share){
            .cost = 1, .errors = bench->errors[i], .least = least, .most = 8, .base = 4};
        bench->budget += bench->errors[i][3];
    }
    bench->bound = 0.5 * (log2(sum / (double)count) - logarithms / (double)count / log(2));
}

/* What the busiest of RANKS sends of the planned segments, over the mean: in the flat algorithm the
 * chunks of others once, the own one to all others. */
static double busiest(const struct bench *bench, unsigned ranks)
{
    struct cgx_plan *plan = malloc(sizeof *plan + SEGMENTS * sizeof plan->segments[0]);
    double most = 0, total = 0;
    uint8_t widths[SEGMENTS];

    if (!plan)
        return NAN;
    *plan = (struct cgx_plan){.dtype = CGX_FLOAT32,
                              .bucket_size = POLICY_BUCKET,
                              .unit = POLICY_BUCKET,
                              .count = (size_t)SEGMENTS * ELEMENTS,
                              .nsegments = SEGMENTS};
    for (size_t i = 0; i < SEGMENTS; i++) {
        plan->segments[i] = (struct cgx_segment){.first = i * ELEMENTS, .count = ELEMENTS};
        widths[i] = (uint8_t)bench->shares[i].bits;
    }
    cgx_plan_set(plan, widths);
    for (unsigned p = 0; p < ranks; p++) {
        size_t bytes;
        double chunk;

        cgx_split_pieces(plan, cgx_split_part(plan, ranks, p, 1, 0), 0, NULL, &bytes);
        chunk = (double)bytes;

        total += chunk;
        most = fmax(most, chunk);
    }
    free(plan);
    return (total + (ranks - 2) * most) / (total + (ranks - 2) * total / ranks);
}

static void print_saving(struct bench *bench, double spread, unsigned least, double limit)
{
    double mean = 0, lowest = 1, optimal = 0, bound = 0, gap = 0, load = 0, error = 0;
    char held_to[16] = "";

    for (uint64_t seed = 1; seed <= SEEDS; seed++) {
        double bits = 0, sum = 0, optimum, saving;

        make_segments(bench, SEGMENTS, spread, least, seed);
        if (cgx_allocate(bench->shares, SEGMENTS, bench->budget) != CGX_OK)
            return;
        for (size_t i = 0; i < SEGMENTS; i++) {
            bits += bench->shares[i].bits;
            sum += bench->errors[i][bench->shares[i].bits - 1];
        }
        optimum = allocate_exactly(bench->shares, SEGMENTS, bench->budget);
        saving = 1 - bits / (4.0 * SEGMENTS);
        mean += saving / SEEDS;
        lowest = fmin(lowest, saving);
        optimal += (1 - optimum / (4.0 * SEGMENTS)) / SEEDS;
        bound += bench->bound / 4 / SEEDS;
        gap = fmax(gap, bits / optimum - 1);
        error = fmax(error, sum / bench->budget);
        for (unsigned ranks = 2; ranks <= 16; ranks *= 2)
            load = fmax(load, busiest(bench, ranks));
    }
    if (limit >= 0)
        snprintf(held_to, sizeof held_to, "%.0f", limit);
    printf("%u:8    %3.1f %9.2f %9.2f %6s %9.2f %11.2f %11.3f %10.4f %9.4f\n", least, spread,
           100 * mean, 100 * lowest, held_to, 100 * optimal, 100 * bound, 100 * gap, error, load);
    if (bench->csv)
        fprintf(bench->csv, "saving,%u:8,%.1f,%.3f,%.3f,%s,%.3f,%.3f,%.4f,%.6f,%.5f\n", least,
                spread, 100 * mean, 100 * lowest, held_to, 100 * optimal, 100 * bound, 100 * gap,
                error, load);
}

static void print_savings(struct bench *bench)
{
    static const double spreads[] = {0.5, 1, 1.5, 2}, limits[] = {0, 3, 13, 25};

    printf("%d segments, buckets of %d, %d seeds; saving in %% of the bits of uniform 4\n",
           SEGMENTS, POLICY_BUCKET, SEEDS);
    printf("mean squared error at variance 1:");
    for (int b = 0; b < CGX_WIDTHS; b++)
        printf(" %.3g", bench->gaussian[b]);
    printf("\n%-6s %3s %9s %9s %6s %9s %11s %11s %10s %9s\n", "widths", "sd", "saving", "lowest",
           "limit", "optimum", "continuous", "% above", "error", "busiest");
    printf("%-6s %3s %9s %9s %6s %9s %11s %11s %10s %9s\n", "", "", "", "", "", "", "", "(<= 0.5)",
           "(<= 1)", "(<= 1.05)");
    if (bench->csv)
        fprintf(bench->csv, "table,widths,sd,saving,least,limit,optimum,continuous,above_optimum,"
                            "error_of_budget,busiest\n");
    for (unsigned least = 1; least <= 3; least += 2)
        for (int s = 0; s < 4; s++)
            print_saving(bench, spreads[s], least, least == 1 ? limits[s] : 0);
}

static void print_time(struct bench *bench, size_t count, double limit)
{
    double times[REPEATS];

    make_segments(bench, count, 1.5, 1, 1);
    for (int r = 0; r < REPEATS; r++) {
        double start = bench_seconds();

        if (cgx_allocate(bench->shares, count, bench->budget) != CGX_OK)
            return;
        times[r] = bench_seconds() - start;
    }
    qsort(times, REPEATS, sizeof times[0], bench_compare);
    printf("%zu segments planned in %.1f us (limit %.0f; median of %d, slowest tenth %.1f)\n",
           count, 1e6 * times[REPEATS / 2], limit, REPEATS, 1e6 * times[REPEATS * 9 / 10]);
    if (bench->csv)
        fprintf(bench->csv, "time,%zu,%.2f,%.2f,%.0f\n", count, 1e6 * times[REPEATS / 2],
                1e6 * times[REPEATS * 9 / 10], limit);
}

static int run(FILE *csv)
{
    struct bench *bench = calloc(1, sizeof *bench);

    if (!bench || measure_gaussian(bench) != 0) {
        fprintf(stderr, "policy: no memory\n");
        free(bench);
        return 1;
    }
    bench->csv = csv;
    print_savings(bench);
    if (csv)
        fprintf(csv, "table,segments,us,us_slowest_tenth,limit\n");
    print_time(bench, SEGMENTS, 50);
    print_time(bench, MANY, 5000);
    free(bench);
    return 0;
}

static int parse(int argc, char *argv[], struct policy_replay *replay)
{
    static const struct option table[] = {
        {"replay", required_argument, NULL, 'r'}, {"fused", no_argument, NULL, 'f'},
        {"period", required_argument, NULL, 'p'}, {"base", required_argument, NULL, 'b'},
        {"alpha", required_argument, NULL, 'a'},  {NULL, 0, NULL, 0}};
    int c;

    while ((c = getopt_long(argc, argv, "", table, NULL)) != -1)
        switch (c) {
        case 'r':
            replay->path = optarg;
            break;
        case 'f':
            replay->fused = true;
            break;
        case 'p':
            replay->period = (unsigned)strtoul(optarg, NULL, 10);
            break;
        case 'b':
            replay->base = (unsigned)strtoul(optarg, NULL, 10);
            break;
        case 'a':
            replay->alpha = strtod(optarg, NULL);
            break;
        default:
            return 2;
        }
    return replay->period == 0 || replay->base < 1 || replay->base > CGX_WIDTHS ||
                   !(replay->alpha > 0)
               ? 2
               : 0;
}

int main(int argc, char *argv[])
{
    struct policy_replay replay = {.period = 100, .base = 4, .alpha = 1};
    int status;

    if (parse(argc, argv, &replay) != 0) {
        fprintf(stderr,
                "usage: %s [--replay FILE [--fused] [--period STEPS] [--base BITS] [--alpha A]] "
                "[CSV]\n",
                argv[0]);
        return 2;
    }
    if (argv[optind] && !(replay.csv = fopen(argv[optind], "w"))) {
        perror(argv[optind]);
        return 1;
    }
    status = replay.path ? policy_replay(&replay) : run(replay.csv);
    if (replay.csv && fclose(replay.csv) != 0) {
        perror(argv[optind]);
        status = 1;
    }
    return status;
}
