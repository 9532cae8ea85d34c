/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

/* The kernels on a GPU, against the device's own copy:
 *
 *   codec_device [--kinds LIST] [--bits LIST] [--dtype LIST] [--size LIST] [--once] [CSV]
 *
 * Prints a row for each kind of kernels (maxmin, uniform and uniform+history), type,
 * width, operation and size in MiB of elements, and writes it to the file CSV. Bytes are those that
 * an operation cannot do without: elements and payloads, each read or written once; a copy of as
 * many MiB reads and writes them. Both are launched in turn, on so much memory that little of it is
 * in the cache when it is needed, and timed by events, after half a second of work that lets the
 * clocks rise; all figures are medians. At the first size the results of kinds that keep nothing
 * are compared with the host codec's. The limits are those for the largest size. With --once each
 * operation is launched once and not timed, for profilers.
 */

#include <getopt.h>
#include <stdlib.h>
#include <string.h>

#include "slots.h"
#include "times.h"

#define REPEATS 15
#define LARGEST 256 /* MiB: the headline */
#define TRAFFIC 256 /* MiB of elements at least go by between two uses of the same */
#define LEAST_SLOTS 2
#define WARM_UP 0.5 /* seconds */

static const char *const dtype_names[3] = {"float32", "float16", "bfloat16"};

struct options {
    const char *kinds, *bits, *dtypes, *sizes, *csv;
    bool once;
};

struct bench {
    struct slots slots;
    CUevent start, end;
    unsigned held, met; /* limits */
    bool timed, cold;
    size_t checked; /* bytes: the size at which results are compared */
    FILE *csv;
};

/* ---- times ---- */

static void begin(const struct bench *bench)
{
    bench_must(bench->slots.device.cuda->cuEventRecord(bench->start, NULL), "cuEventRecord");
}

/* Seconds since begin, for each slot. */
static double end(const struct bench *bench)
{
    const struct cgx_cuda *cuda = bench->slots.device.cuda;
    float milliseconds = 0;

    bench_must(cuda->cuEventRecord(bench->end, NULL), "cuEventRecord");
    bench_must(cuda->cuEventSynchronize(bench->end), "cuEventSynchronize");
    if (bench->timed)
        bench_must(bench->slots.device.elapsed(&milliseconds, bench->start, bench->end),
                   "cuEventElapsedTime");
    return milliseconds * 1e-3 / bench->slots.count;
}

static double time_copies(const struct bench *bench)
{
    begin(bench);
    for (size_t slot = 0; slot < bench->slots.count; slot++)
        bench_must(bench->slots.device.copy(bench->slots.results + slot * bench->slots.bytes,
                                            bench->slots.elements + slot * bench->slots.bytes,
                                            bench->slots.bytes, NULL),
                   "cuMemcpyDtoDAsync");
    return end(bench);
}

static double time_operation(const struct bench *bench, enum operation operation)
{
    begin(bench);
    for (unsigned slot = 0; slot < bench->slots.count; slot++)
        slots_launch(&bench->slots, operation, slot, operation == REDUCE ? SOURCES : 0);
    return end(bench);
}

/* ---- results ---- */

/* The operation as it is named in tables: with its kind, but max-min quantisation's. */
static const char *name_of(const struct slots_kind *kind, int operation)
{
    static char name[64];

    if (kind == slots_kinds)
        return slots_operations[operation];
    snprintf(name, sizeof name, "%s %s", kind->name, slots_operations[operation]);
    return name;
}

/* As parts of the copy's speed; 0: none. */
static double limit_of(const struct bench *bench, enum operation operation)
{
    unsigned bits = bench->slots.width;

    if (bench->slots.bytes != LARGEST * MIB || bench->slots.kind != slots_kinds)
        return 0;
    if (operation != REDUCE)
        return bench->slots.coding.dtype == CGX_FLOAT32 ? 0.80 : 0.65;
    return bits == 4 ? 0.55 : bits == 8 ? 0.70 : 0.60;
}

static double bytes_of(const struct bench *bench, enum operation operation)
{
    double payload = (double)slots_used(&bench->slots, 0), elements = (double)bench->slots.bytes;

    if (operation == REDUCE)
        return SOURCES * payload + (double)slots_used(&bench->slots, SOURCES);
    return elements + payload;
}

static void measure(struct bench *bench, enum operation operation)
{
    double copies[REPEATS], times[REPEATS];
    double bytes = bytes_of(bench, operation), limit = limit_of(bench, operation), rate, copy;
    char figures[64] = "", held_to[16] = "";

    for (int r = 0; r < (bench->timed ? REPEATS : 1); r++) {
        copies[r] = time_copies(bench);
        times[r] = time_operation(bench, operation);
    }
    printf("%-9s %4u  %-26s %5zu %9.2f ", dtype_names[bench->slots.coding.dtype],
           bench->slots.width, name_of(bench->slots.kind, operation), bench->slots.bytes / MIB,
           bytes / (double)MIB);
    if (!bench->timed) {
        printf("%10s\n", "done");
        return;
    }
    rate = bytes / bench_median(times, REPEATS);
    copy = 2 * (double)bench->slots.bytes / bench_median(copies, REPEATS);
    snprintf(figures, sizeof figures, "%.2f,%.1f,%.1f,%.3f", times[REPEATS / 2] * 1e6, rate * 1e-9,
             copy * 1e-9, rate / copy);
    if (limit > 0) {
        snprintf(held_to, sizeof held_to, "%.2f", limit);
        bench->held++;
        bench->met += rate / copy >= limit;
    }
    printf("%10.2f %8.1f %8.1f %7.3f  %5s%s\n", times[REPEATS / 2] * 1e6, rate * 1e-9, copy * 1e-9,
           rate / copy, held_to, limit > 0 && rate / copy < limit ? "  MISSED" : "");
    if (bench->csv != NULL)
        fprintf(bench->csv, "%s,%s,%u,%s,%zu,%.0f,%s,%s\n", bench->slots.device.name,
                dtype_names[bench->slots.coding.dtype], bench->slots.width,
                name_of(bench->slots.kind, operation), bench->slots.bytes / MIB, bytes, figures,
                held_to);
}

/* ---- the program ---- */

static void check(const struct bench *bench)
{
    const struct slots *slots = &bench->slots;
    const char *wrong = slots_find_wrong(slots);

    if (wrong == NULL)
        return;
    printf("%s, %s, %u bits, %s: the kernel does not give the bytes of the host codec\n",
           slots->kind->name, dtype_names[slots->coding.dtype], slots->width, wrong);
    exit(1);
}

/* A device that had nothing to do has low clocks. */
static void warm_up(struct bench *bench)
{
    double seconds = 0;

    while (bench->timed && bench->cold && seconds < WARM_UP) {
        seconds += time_copies(bench) * bench->slots.count;
        seconds += time_operation(bench, ENCODE) * bench->slots.count;
    }
    bench->cold = false;
}

static void measure_width(struct bench *bench, unsigned bits)
{
    struct slots *slots = &bench->slots;

    slots_encode(slots, bits);
    if (slots->bytes == bench->checked && !slots->kind->has_history)
        check(bench);
    warm_up(bench);
    for (int operation = 0; operation < OPERATIONS; operation++)
        measure(bench, (enum operation)operation);
}

/* All kinds and widths of a type and size. */
static void measure_kinds(struct bench *bench, const struct options *options)
{
    char name[8];

    for (int kind = 0; kind < SLOTS_KINDS; kind++) {
        bench->slots.kind = &slots_kinds[kind];
        if (!bench_is_listed(options->kinds, slots_kinds[kind].name))
            continue;
        for (unsigned bits = 1; bits <= 8; bits++) {
            snprintf(name, sizeof name, "%u", bits);
            if (bench_is_listed(options->bits, name))
                measure_width(bench, bits);
        }
    }
}

static void run(struct bench *bench, const struct options *options)
{
    char name[8];

    for (size_t mib = 1; mib <= LARGEST; mib *= 2) {
        snprintf(name, sizeof name, "%zu", mib);
        if (!bench_is_listed(options->sizes, name))
            continue;
        bench->slots.bytes = mib * MIB;
        bench->slots.count = mib * LEAST_SLOTS < TRAFFIC ? (unsigned)(TRAFFIC / mib) : LEAST_SLOTS;
        if (!bench->timed)
            bench->slots.count = 1;
        if (bench->checked == 0)
            bench->checked = bench->slots.bytes;
        for (int dtype = CGX_FLOAT32; dtype <= CGX_BFLOAT16; dtype++) {
            if (!bench_is_listed(options->dtypes, dtype_names[dtype]))
                continue;
            bench->slots.coding.dtype = (enum cgx_dtype)dtype;
            slots_allocate(&bench->slots);
            bench->cold = true;
            measure_kinds(bench, options);
            slots_release(&bench->slots);
        }
    }
}

static bool parse(int argc, char *argv[], struct options *options)
{
    static const struct option table[] = {
        {"kinds", required_argument, NULL, 'k'}, {"bits", required_argument, NULL, 'b'},
        {"dtype", required_argument, NULL, 'd'}, {"size", required_argument, NULL, 's'},
        {"once", no_argument, NULL, 'o'},        {NULL, 0, NULL, 0}};
    int c;

    *options = (struct options){.kinds = "maxmin,uniform", .dtypes = "float32,float16"};
    while ((c = getopt_long(argc, argv, "", table, NULL)) != -1) {
        if (c == 'k')
            options->kinds = optarg;
        else if (c == 'b')
            options->bits = optarg;
        else if (c == 'd')
            options->dtypes = optarg;
        else if (c == 's')
            options->sizes = optarg;
        else if (c == 'o')
            options->once = true;
        else
            return false;
    }
    options->csv = argv[optind];
    return true;
}

static void print_heads(const struct bench *bench)
{
    bench_device_print(&bench->slots.device, stdout);
    printf("buckets of %d, rounding to nearest, medians of %d; required: MiB that "
           "must be read and "
           "written\n%-9s %4s  %-26s %5s %9s ",
           CGX_MAXMIN_BUCKET, REPEATS, "dtype", "bits", "operation", "MiB", "required");
    if (!bench->timed)
        printf("\n");
    else
        printf("%10s %8s %8s %7s  %5s\n", "us", "GB/s", "copy", "ratio", "limit");
}

/* The software driver takes a second for a MiB. */
static bool prepare(struct bench *bench, struct options *options)
{
    const struct cgx_cuda *cuda = bench->slots.device.cuda;

    if (cgx_cuda_module_take(NULL, &bench->slots.module) != CGX_OK) {
        fprintf(stderr, "the kernels do not run on %s\n", bench->slots.device.name);
        return false;
    }
    bench_must(cuda->cuEventCreate(&bench->start, 0), "cuEventCreate");
    bench_must(cuda->cuEventCreate(&bench->end, 0), "cuEventCreate");
    bench->timed = !bench->slots.device.soft && !options->once;
    if (bench->slots.device.soft)
        options->sizes = "1";
    if (bench->timed && options->csv != NULL)
        bench->csv = bench_table(options->csv, false,
                                 "device,dtype,bits,operation,mib,bytes,us,gb_per_s,copy_gb_per_s,"
                                 "ratio,limit\n");
    return !bench->timed || options->csv == NULL || bench->csv != NULL;
}

int main(int argc, char *argv[])
{
    static struct bench bench;
    struct options options;
    int status = 0;

    if (!parse(argc, argv, &options)) {
        fprintf(stderr, "usage: codec_device [--kinds LIST] [--bits LIST] [--dtype LIST] "
                        "[--size LIST] [--once] [CSV]\n");
        return 2;
    }
    setvbuf(stdout, NULL, _IOLBF, BUFSIZ);
    if (!bench_device_open(&bench.slots.device, 0))
        return 77;
    if (!prepare(&bench, &options))
        return 1;
    print_heads(&bench);
    run(&bench, &options);
    if (bench.held > 0)
        printf("%u of %u limits met\n", bench.met, bench.held);
    if (bench.csv != NULL && fclose(bench.csv) != 0) {
        perror(options.csv);
        status = 1;
    }
    return status;
}
