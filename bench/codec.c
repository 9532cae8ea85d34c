/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

/* The host codec on one core, against memcpy of the same input:
 *
 *   codec [--bits LIST] [--dtype LIST] [--kernels LIST] [--size MIB] [--history] [CSV]
 *
 * Widths 1 to 8 are of max-min quantisation, u1 to u8 of uniform, at the step of the same error, as
 * in --bits 4,u2. --history: and with the history of sums, in rows of their own.
 *
 * Prints a row for each kernel set, type, width and operation, and writes it to the file CSV. The
 * bytes in GB/s are those of elements: read by encode, written by decode, of float32 accumulators
 * for decode-add (one payload added to a buffer in memory) and, for reduce, eight times the result
 * in float32. ns are per element of the result. Time is that of the thread, so that other load
 * counts for less; memcpy is timed in turn with each operation; all figures are medians. The limits
 * are those which the fastest set is held to. */

#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "codec/encoding.h"
#include "codec/history.h"
#include "codec/host_kernels.h"
#include "codec/uniform/uniform.h"
#include "times.h"

#define REPEATS 21
#define SOURCES 8

enum operation { ENCODE, DECODE, DECODE_ADD, REDUCE, OPERATIONS };

static const char *const operation_names[OPERATIONS] = {"encode", "decode", "decode-add",
                                                        "reduce-8"};
static const char *const dtype_names[3] = {"float32", "float16", "bfloat16"};

struct options {
    const char *bits, *dtypes, *kernels;
    size_t mib;
    bool history; /* beside what is without */
    const char *csv;
};

struct bench {
    const struct cgx_codec *set;
    struct cgx_coding coding;
    struct cgx_piece piece;
    size_t bytes;               /* of the input */
    unsigned char *input;       /* elements */
    unsigned char *output;      /* elements */
    float *accumulators;        /* as many as elements */
    unsigned char *payloads;    /* SOURCES + 1, the result last */
    size_t stride;              /* of payloads */
    struct cgx_history history; /* scales of NULL: without */
    FILE *csv;
};

/* Near enough to Gaussian gradients: sums of four uniform numbers. */
static void fill_input(struct bench *bench)
{
    const struct cgx_host_kernels *kernels = &bench->set->kernels;
    size_t size = cgx_dtype_size(bench->coding.dtype);
    uint64_t state = 1;
    float block[256];

    for (size_t i = 0; i < bench->bytes; i += 256 * size) {
        for (int j = 0; j < 256; j++) {
            float sum = -2;

            state = state * 6364136223846793005u + 1442695040888963407u;
            for (int k = 0; k < 4; k++)
                sum += (float)(state >> 16 * k & 0xFFFF) * 0x1p-16f;
            block[j] = sum;
        }
        kernels->narrow[bench->coding.dtype](block, 256, bench->input + i);
    }
}

/* "4" or "u4". */
static const char *encoding_name(unsigned encoding)
{
    static char name[3];

    snprintf(name, sizeof name, "%s%u",
             cgx_encoding_family(encoding) == CGX_FAMILY_UNIFORM ? "u" : "",
             cgx_encoding_width(encoding) % 10);
    return name;
}

static const char *rounding_name(const struct bench *bench)
{
    return bench->history.scales                                          ? "history"
           : cgx_encoding_family(bench->piece.bits) == CGX_FAMILY_UNIFORM ? "dithered"
                                                                          : "nearest";
}

static void add_payload(const struct bench *bench)
{
    unsigned bits = bench->piece.bits;
    struct cgx_layout layout = cgx_piece_layout(bench->piece.count, bits, bench->coding.dtype);

    for (size_t k = 0; k < layout.buckets; k++) {
        const unsigned char *codes[CGX_PLANES];
        uint32_t header;

        memcpy(&header, bench->payloads + k * sizeof header, sizeof header);
        for (int i = 0; i < CGX_PLANES; i++)
            codes[i] = bench->payloads + layout.plane[i] +
                       k * CGX_MAXMIN_BUCKET / 8 * cgx_plane_width(bits, i);
        bench->set->kernels.decode(codes, CGX_MAXMIN_BUCKET, bits, cgx_header_scale(header),
                                   cgx_header_zero(header), true,
                                   bench->accumulators + k * CGX_MAXMIN_BUCKET);
    }
}

static void reduce_payloads(const struct bench *bench)
{
    const unsigned char *sources[SOURCES];

    for (int p = 0; p < SOURCES; p++)
        sources[p] = bench->payloads + (size_t)p * bench->stride;
    cgx_codec_run(bench->set,
                  &(struct cgx_work){CGX_REDUCE, &bench->coding, &bench->piece, 1, sources, SOURCES,
                                     .in = NULL, .out = bench->payloads + SOURCES * bench->stride});
}

static void operate(const struct bench *bench, enum operation operation)
{
    const struct cgx_codec *codec = bench->set;

    switch (operation) {
    case ENCODE:
        cgx_codec_run(codec, &(struct cgx_work){CGX_ENCODE, &bench->coding, &bench->piece, 1,
                                                .in = bench->input, .out = bench->payloads,
                                                .history = bench->history});
        break;
    case DECODE:
        cgx_codec_run(codec, &(struct cgx_work){CGX_DECODE, &bench->coding, &bench->piece, 1,
                                                .in = bench->payloads, .out = bench->output,
                                                .history = bench->history});
        break;
    case DECODE_ADD:
        add_payload(bench);
        break;
    default:
        reduce_payloads(bench);
    }
}

/* 0: none. */
static double limit_of(const struct bench *bench, enum operation operation)
{
    bool float32 = bench->coding.dtype == CGX_FLOAT32;
    bool headline = bench->piece.bits == 4 && float32;

    if (bench->history.scales || bench->set != cgx_codec_host() ||
        (operation != ENCODE && operation != DECODE_ADD) ||
        cgx_encoding_family(bench->piece.bits) == CGX_FAMILY_UNIFORM)
        return 0;
    return !headline ? 0.6 : operation == ENCODE ? 1.0 : 0.8;
}

static void measure(const struct bench *bench, enum operation operation)
{
    double count = (double)bench->piece.count, limit = limit_of(bench, operation);
    double bytes = operation == REDUCE       ? SOURCES * 4 * count
                   : operation == DECODE_ADD ? 4 * count
                                             : (double)bench->bytes;
    double copies[REPEATS], times[REPEATS], rate, copy;
    char held_to[16] = "";

    for (int r = 0; r < REPEATS; r++) {
        double start = bench_seconds(), middle;

        memcpy(bench->output, bench->input, bench->bytes);
        middle = bench_seconds();
        operate(bench, operation);
        copies[r] = middle - start;
        times[r] = bench_seconds() - middle;
    }
    rate = bytes / bench_median(times, REPEATS);
    copy = (double)bench->bytes / bench_median(copies, REPEATS);
    if (limit > 0)
        snprintf(held_to, sizeof held_to, "%.1f", limit);
    printf("%-11s %-9s %4s  %-10s %-10s %8.3f %8.2f %8.2f %7.2f  %5s\n", bench->set->name,
           dtype_names[bench->coding.dtype], encoding_name(bench->piece.bits), rounding_name(bench),
           operation_names[operation], bench_median(times, REPEATS) / count * 1e9, rate * 1e-9,
           copy * 1e-9, rate / copy, held_to);
    fflush(stdout);
    if (bench->csv != NULL)
        fprintf(bench->csv, "%s,%s,%s,%s,%s,%zu,%.4f,%.3f,%.3f,%.3f,%s\n", bench->set->name,
                dtype_names[bench->coding.dtype], encoding_name(bench->piece.bits),
                rounding_name(bench), operation_names[operation], bench->bytes,
                bench_median(times, REPEATS) / count * 1e9, rate * 1e-9, copy * 1e-9, rate / copy,
                held_to);
}

/* Encode and decode once more, with a history that calls have filled, and about as many bits. */
static void measure_history(struct bench *bench)
{
    void *memory = calloc(1, cgx_history_bytes(bench->piece.count));

    if (memory == NULL)
        return;
    bench->history = cgx_history_in(memory, bench->piece.count, CGX_HISTORY_YOUNG);
    bench->coding.step_size /= CGX_HISTORY_EQUAL;
    for (int call = 0; call < 4; call++) {
        operate(bench, ENCODE);
        operate(bench, DECODE);
    }
    measure(bench, ENCODE);
    measure(bench, DECODE);
    bench->history.scales = NULL;
    free(memory);
}

/* One set, type and width. */
static void measure_all(struct bench *bench)
{
    bool is_uniform = cgx_encoding_family(bench->piece.bits) == CGX_FAMILY_UNIFORM;
    struct cgx_layout layout;

    bench->piece.count = bench->bytes / cgx_dtype_size(bench->coding.dtype);
    layout = cgx_piece_layout(bench->piece.count, bench->piece.bits, bench->coding.dtype);
    bench->stride = layout.bytes;
    if (is_uniform)
        bench->coding.step_size =
            cgx_uniform_step(1.0 / 3, 1, cgx_uniform_error(cgx_encoding_width(bench->piece.bits)));
    for (size_t p = 0; p < SOURCES; p++)
        cgx_codec_run(bench->set, &(struct cgx_work){CGX_ENCODE, &bench->coding, &bench->piece, 1,
                                                     .in = bench->input,
                                                     .out = bench->payloads + p * bench->stride});
    for (int operation = 0; operation < OPERATIONS; operation++)
        if (!is_uniform || operation != DECODE_ADD)
            measure(bench, (enum operation)operation);
}

static void print_processor(void)
{
    FILE *file = fopen("/proc/cpuinfo", "r");
    char line[256];

    while (file != NULL && fgets(line, sizeof line, file) != NULL)
        if (strncmp(line, "model name", 10) == 0) {
            printf("%s", line);
            break;
        }
    if (file != NULL)
        fclose(file);
}

static void run(struct bench *bench, const struct options *options)
{
    static const char *const sets[] = {"portable", "avx2", "avx2-shifts"};
    for (int s = 0; s < 3; s++)
        for (int dtype = CGX_FLOAT32; dtype <= CGX_BFLOAT16; dtype++) {
            bench->set = cgx_codec_host_named(sets[s]);
            if (bench->set == NULL || !bench_is_listed(options->kernels, sets[s]) ||
                !bench_is_listed(options->dtypes, dtype_names[dtype]))
                continue;
            bench->coding.dtype = (enum cgx_dtype)dtype;
            fill_input(bench);
            for (int family = 0; family < CGX_FAMILIES; family++)
                for (unsigned width = 1; width <= cgx_quantisers[family].widths; width++) {
                    unsigned bits = cgx_encoding_of((enum cgx_family)family, width);

                    bench->piece.bits = bits;
                    if (!bench_is_listed(options->bits, encoding_name(bits)))
                        continue;
                    measure_all(bench);
                    if (options->history && cgx_quantisers[family].has_history)
                        measure_history(bench);
                }
        }
}

static bool allocate(struct bench *bench)
{
    bench->input = aligned_alloc(4096, bench->bytes);
    bench->output = aligned_alloc(4096, bench->bytes);
    bench->accumulators = aligned_alloc(4096, 2 * bench->bytes);
    /* 8 bits of 16-bit elements take the most: half of the input, and the headers. */
    bench->payloads =
        aligned_alloc(4096, (SOURCES + 1) * (bench->bytes / 2 + bench->bytes / 128 + 4096));
    if (bench->input == NULL || bench->output == NULL || bench->accumulators == NULL ||
        bench->payloads == NULL)
        return false;
    memset(bench->accumulators, 0, 2 * bench->bytes);
    return true;
}

static void print_heads(const struct bench *bench)
{
    if (bench->csv != NULL)
        fprintf(bench->csv, "kernels,dtype,bits,rounding,operation,bytes,ns_per_element,gb_per_s,"
                            "memcpy_gb_per_s,ratio,limit\n");
    print_processor();
    printf("%zu MiB of input, max-min buckets of %d, medians of %d\n", bench->bytes >> 20,
           CGX_MAXMIN_BUCKET, REPEATS);
    printf("%-11s %-9s %4s  %-10s %-10s %8s %8s %8s %7s  %5s\n", "kernels", "dtype", "bits",
           "rounding", "operation", "ns/elem", "GB/s", "memcpy", "ratio", "limit");
}

static bool parse(int argc, char *argv[], struct options *options)
{
    static const struct option table[] = {
        {"bits", required_argument, NULL, 'b'},    {"dtype", required_argument, NULL, 'd'},
        {"kernels", required_argument, NULL, 'k'}, {"size", required_argument, NULL, 's'},
        {"history", no_argument, NULL, 'h'},       {NULL, 0, NULL, 0}};
    int c;

    *options = (struct options){.mib = 64};
    while ((c = getopt_long(argc, argv, "", table, NULL)) != -1)
        switch (c) {
        case 'b':
            options->bits = optarg;
            break;
        case 'd':
            options->dtypes = optarg;
            break;
        case 'k':
            options->kernels = optarg;
            break;
        case 'h':
            options->history = true;
            break;
        case 's':
            options->mib = strtoul(optarg, NULL, 10);
            break;
        default:
            return false;
        }
    options->csv = argv[optind];
    return options->mib > 0;
}

int main(int argc, char *argv[])
{
    struct bench bench = {.coding = {.dtype = CGX_FLOAT32}};
    struct options options;
    int status = 1;

    if (!parse(argc, argv, &options)) {
        fprintf(stderr,
                "usage: %s [--bits LIST] [--dtype LIST] "
                "[--kernels LIST] [--size MIB] [--history] [CSV]\n"
                "widths: 1 to 8, u1 to u8 of uniform quantisation\n",
                argv[0]);
        return 2;
    }
    bench.bytes = options.mib << 20;
    if (!allocate(&bench)) {
        fprintf(stderr, "%s: no memory\n", argv[0]);
    } else if (options.csv != NULL && (bench.csv = fopen(options.csv, "w")) == NULL) {
        perror(options.csv);
    } else {
        print_heads(&bench);
        run(&bench, &options);
        status = 0;
    }
    if (bench.csv != NULL && fclose(bench.csv) != 0) {
        perror(options.csv);
        status = 1;
    }
    free(bench.payloads);
    free(bench.accumulators);
    free(bench.output);
    free(bench.input);
    return status;
}
