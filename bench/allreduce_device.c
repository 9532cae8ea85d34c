/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

/* Sums of float32 buffers in GPU memory, compressed against exact, in turn and in one run:
 *
 *     mpiexec -n 4 bench/allreduce_device [--size LIST] [--bits N | --defaults] [--label TEXT]
 * [--leave] [CSV]
 *
 * LIST: sizes in MiB, or with a K in KiB. The file CSV is continued, and TEXT, which may name how
 * payloads go, is in its first column. Ranks share the devices. The library is linked into the
 * program, so that its calls of the driver can be counted; nothing is to be preloaded. Both kinds
 * are MPI_Allreduce of MPI_FLOAT with MPI_SUM: on one communicator the same call recurs, and is
 * compressed; the other one's hint keeps its sums exact, which means staged through the host
 * unless the MPI is CUDA-aware. With --defaults the library has no settings but those of the
 * environment, and sums are exact, with the error 0, where it finds that faster. Times are those of
 * the slowest rank, medians. The sums are checked against their error bound, with --defaults
 * against a mean error of a tenth. Kernel launches and bytes copied over PCIe, of one compressed
 * call and a rank in the mean, stand beside the least that the flat algorithm can do with. In a
 * call of its own the kernels and copies are timed on the device; where ranks share it, each waits
 * for the others' too. With --leave the program ends without MPI_Finalize, in which MPICH may hang
 * over TCP. */

#include <getopt.h>
#include <math.h>
#include <mpi.h>
#include <stdlib.h>
#include <string.h>

#include "driver_calls.h"
#include "models/leave.h"
#include "times.h"

#define KIB ((size_t)1 << 10)
#define MIB ((size_t)1 << 20)
#define BUCKET_SIZE 128
#define BUCKET_HEADER_BYTES 4
enum { REPEATS = 15, WARM_CALLS = 72, LEAST_LAUNCHES = 3, SHIFT = 16, SHIFTS = 61 * SHIFT };

static int rank, ranks;
static struct bench_device device;
static const struct cgx_cuda *driver;

static struct side {
    MPI_Comm comm;
    int shift; /* the first element of the last call: sums that resemble earlier ones are no
                  gradients */
} compressed, exact;

struct bench {
    int count, bits;
    bool defaults, leave;
    CUdeviceptr input, output;
    float *host; /* as many elements */
    const char *label;
    FILE *csv;
};

/* ---- calls ---- */

static double time_sum(const struct bench *bench, struct side *side)
{
    double start, mine, slowest;

    side->shift = (side->shift + SHIFT) % SHIFTS;
    MPI_Barrier(MPI_COMM_WORLD);
    start = MPI_Wtime();
    MPI_Allreduce((void *)(bench->input + (CUdeviceptr)side->shift * 4), (void *)bench->output,
                  bench->count, MPI_FLOAT, MPI_SUM, side->comm);
    mine = MPI_Wtime() - start;
    PMPI_Allreduce(&mine, &slowest, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
    return slowest;
}

/* ---- data: near enough to Gaussian, from a hash of its place ---- */

static float value(int from, size_t i)
{
    uint64_t z = ((uint64_t)from << 40 ^ i) * 0x9E3779B97F4A7C15u;
    float sum = -2;

    z = (z ^ z >> 30) * 0xBF58476D1CE4E5B9u;
    z = (z ^ z >> 27) * 0x94D049BB133111EBu;
    z ^= z >> 31;
    for (int k = 0; k < 4; k++)
        sum += (float)(z >> 16 * k & 0xFFFF) * 0x1p-16f;
    return sum;
}

static void fill(const struct bench *bench)
{
    size_t count = (size_t)bench->count + SHIFTS;

    for (size_t i = 0; i < count; i++)
        bench->host[i] = value(rank, i);
    bench_must(driver->cuMemcpyHtoD(bench->input, bench->host, count * 4), "cuMemcpyHtoD");
}

/* The largest error of a bucket, from element FIRST on, over its bound: half a step of each rank's
 * values and of their sum. A step is at most 1.0079 of the range over the levels less one, and half
 * of it is meant with a factor of 1 + 2^-8. */
static double bucket_error(const struct bench *bench, size_t first, size_t end, size_t shift)
{
    double levels = (1u << bench->bits) - 1, bound = 0, error = 0, least = 1e30, most = -1e30;
    double sums[BUCKET_SIZE] = {0};

    for (int from = 0; from < ranks; from++) {
        float low = INFINITY, high = -INFINITY;

        for (size_t i = first; i < end; i++) {
            float x = value(from, i + shift);

            low = fminf(low, x);
            high = fmaxf(high, x);
            sums[i - first] += x;
        }
        bound += 0.5 * 1.0079 * (high - low) / levels;
    }
    for (size_t i = first; i < end; i++) {
        least = fmin(least, sums[i - first]);
        most = fmax(most, sums[i - first]);
        error = fmax(error, fabs(bench->host[i] - sums[i - first]));
    }
    bound += 0.5 * 1.0079 * (most - least + 2 * bound) / levels;
    return error / (bound * (1 + 0x1p-8) + 1e-5);
}

/* The error of the sums over half of them, in the mean square: settings are not known here, so only
 * errors that no family makes are found. */
static double mean_error(const struct bench *bench, size_t count, size_t shift)
{
    double error = 0, power = 0;

    for (size_t i = 0; i < count; i++) {
        double sum = 0;

        for (int from = 0; from < ranks; from++)
            sum += value(from, i + shift);
        error += (bench->host[i] - sum) * (bench->host[i] - sum);
        power += sum * sum;
    }
    return sqrt(error / power) / 0.5;
}

/* Of the sums at hand, the last ones of SIDE, over all ranks. */
static double largest_error(const struct bench *bench, const struct side *side)
{
    size_t count = (size_t)bench->count;
    double mine = 0, all;

    bench_must(driver->cuMemcpyDtoH(bench->host, bench->output, count * 4), "cuMemcpyDtoH");
    if (bench->defaults)
        mine = mean_error(bench, count, (size_t)side->shift);
    for (size_t first = 0; first < count && !bench->defaults; first += BUCKET_SIZE) {
        size_t end = first + BUCKET_SIZE < count ? first + BUCKET_SIZE : count;

        mine = fmax(mine, bucket_error(bench, first, end, (size_t)side->shift));
    }
    PMPI_Allreduce(&mine, &all, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
    return all;
}

/* ---- a size ---- */

struct figures {
    double exact[REPEATS], compressed[REPEATS]; /* seconds */
    struct bench_calls calls, timed;            /* of a compressed call, all ranks */
    double exact_error, error;
};

/* A compressed sum: what all ranks ask of the driver. */
static struct bench_calls count_sum(const struct bench *bench, bool timed)
{
    struct bench_calls mine, all;

    bench_calls_reset(timed);
    time_sum(bench, &compressed);
    mine = bench_calls_end();
    PMPI_Allreduce(&mine, &all, sizeof all / sizeof(double), MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    return all;
}

static void measure(const struct bench *bench, struct figures *figures)
{
    MPI_Info hint;

    MPI_Comm_dup(MPI_COMM_WORLD, &compressed.comm);
    MPI_Comm_dup(MPI_COMM_WORLD, &exact.comm);
    MPI_Info_create(&hint);
    MPI_Info_set(hint, "cgx_consensus", "off"); /* sums of one size for ever are no gradients */
    MPI_Comm_set_info(compressed.comm, hint);
    MPI_Info_set(hint, "cgx_enable", "0");
    MPI_Comm_set_info(exact.comm, hint);
    MPI_Info_free(&hint);
    fill(bench);
    for (int i = 0; i < WARM_CALLS; i++)
        time_sum(bench, &compressed);
    figures->calls = count_sum(bench, false);
    figures->error = largest_error(bench, &compressed);
    figures->timed = count_sum(bench, true);
    time_sum(bench, &exact);
    figures->exact_error = largest_error(bench, &exact);
    for (int r = 0; r < (device.soft ? 1 : REPEATS); r++) {
        figures->exact[r] = time_sum(bench, &exact);
        figures->compressed[r] = time_sum(bench, &compressed);
    }
    MPI_Comm_free(&exact.comm);
    MPI_Comm_free(&compressed.comm);
}

/* False if a sum is wrong, or is not of the kind that it should be: by default the library may find
 * exact sums faster. */
static bool is_right(const struct bench *bench, const struct figures *figures)
{
    bool are_right =
        figures->error <= 1 && figures->exact_error<1e-4, are_compressed = figures->error> 1e-4 ||
        bench->defaults;

    if (rank == 0 && !are_compressed)
        printf("the sums of %d elements were not compressed\n", bench->count);
    if (rank == 0 && !are_right)
        printf("the sums are wrong: exact %.3g, compressed %.3g of the bound\n",
               figures->exact_error, figures->error);
    return are_right && are_compressed;
}

static void print(const struct bench *bench, struct figures *figures)
{
    double buckets = ceil((double)bench->count / BUCKET_SIZE), mib = 1.0 / MIB;
    double size = 4 * mib * bench->count;
    /* Down: what others own, and the own sums; up: what others sent of the own, and their sums. */
    double down = buckets * (BUCKET_SIZE * bench->bits / 8.0 + BUCKET_HEADER_BYTES);
    double up = 2 * down * (ranks - 1) / ranks;
    double plain = bench_median(figures->exact, REPEATS);
    double ours = bench_median(figures->compressed, REPEATS);
    char times[96] = "  not timed   not timed    ---       ---      ---";

    if (!device.soft)
        snprintf(times, sizeof times, "%11.3f %11.3f %6.2f %9.3f %8.3f", plain * 1e3, ours * 1e3,
                 plain / ours, figures->timed.kernels / ranks * 1e3,
                 figures->timed.copies / ranks * 1e3);
    printf("%8.3f %4d %s %9.1f %5d %9.3f %8.3f %9.3f %8.3f %9.3f %6.2f\n", size, bench->bits, times,
           figures->calls.launches / ranks, LEAST_LAUNCHES, figures->calls.down / ranks * mib,
           down * mib, figures->calls.up / ranks * mib, up * mib,
           figures->calls.across / ranks * mib, figures->error);
    if (bench->csv != NULL)
        fprintf(bench->csv,
                "%s,%s,%d,%g,%d,%.4f,%.4f,%.3f,%.1f,%d,%.0f,%.0f,%.0f,%.0f,%.0f,%.4f,%.4f,%.3f\n",
                bench->label, device.name, ranks, size, bench->bits, plain * 1e3, ours * 1e3,
                plain / ours, figures->calls.launches / ranks, LEAST_LAUNCHES,
                figures->calls.down / ranks, down, figures->calls.up / ranks, up,
                figures->calls.across / ranks, figures->timed.kernels / ranks * 1e3,
                figures->timed.copies / ranks * 1e3, figures->error);
}

static bool measure_size(struct bench *bench, size_t bytes)
{
    static struct figures figures;
    bool right;

    bench->count = (int)(bytes / 4);
    bench->input = bench_allocate(&device, bytes + SHIFTS * sizeof(float));
    bench->output = bench_allocate(&device, bytes);
    bench->host = malloc(bytes + SHIFTS * sizeof(float));
    if (bench->host == NULL) {
        MPI_Abort(MPI_COMM_WORLD, 1);
        return false;
    }
    measure(bench, &figures);
    right = is_right(bench, &figures);
    if (rank == 0 && right)
        print(bench, &figures);
    free(bench->host);
    driver->cuMemFree(bench->output);
    driver->cuMemFree(bench->input);
    return right;
}

/* ---- the program ---- */

static void print_heads(const struct bench *bench)
{
    bench_device_print(&device, stdout);
    printf("%d ranks%s%s; least: what cannot be avoided\n%8s %4s %11s %11s %6s %9s %8s %9s %5s %9s "
           "%8s %9s %8s %9s %6s\n",
           ranks, bench->label[0] != '\0' ? ", " : "", bench->label, "MiB", "bits", "exact ms",
           "compr. ms", "ratio", "kernels", "copies", "launches", "least", "MiB down", "least",
           "MiB up", "least", "across", "error");
}

static bool parse(int argc, char *argv[], struct bench *bench, const char **sizes, const char **csv)
{
    static const struct option table[] = {
        {"size", required_argument, NULL, 's'},  {"bits", required_argument, NULL, 'b'},
        {"defaults", no_argument, NULL, 'd'},    {"leave", no_argument, NULL, 'e'},
        {"label", required_argument, NULL, 'l'}, {NULL, 0, NULL, 0}};
    int c;

    while ((c = getopt_long(argc, argv, "", table, NULL)) != -1) {
        if (c == 's')
            *sizes = optarg;
        else if (c == 'b')
            bench->bits = atoi(optarg);
        else if (c == 'd')
            bench->defaults = true;
        else if (c == 'e')
            bench->leave = true;
        else if (c == 'l')
            bench->label = optarg;
        else
            return false;
    }
    *csv = argv[optind];
    return bench->bits >= 1 && bench->bits <= 8;
}

/* The software driver takes a second for a MiB. */
static int run(struct bench *bench, const char *sizes, const char *csv)
{
    bool right = true;

    if (device.soft) {
        sizes = "256K";
        csv = NULL;
    }
    if (rank == 0 && csv != NULL)
        bench->csv =
            bench_table(csv, true,
                        "label,device,ranks,mib,bits,exact_ms,compressed_ms,ratio,launches,"
                        "least_launches,bytes_down,least_down,bytes_up,least_up,"
                        "bytes_across,kernels_ms,copies_ms,error_of_bound\n");
    if (rank == 0)
        print_heads(bench);
    for (const char *at = sizes; at != NULL && right;) {
        char *end;
        size_t bytes = strtoul(at, &end, 10);

        bytes *= *end == 'K' ? KIB : MIB;
        if (bytes >= 4 * KIB && bytes <= 4096 * MIB)
            right = measure_size(bench, bytes);
        at = strchr(at, ',');
        at = at == NULL ? NULL : at + 1;
    }
    if (bench->csv != NULL && fclose(bench->csv) != 0)
        perror(csv);
    return right ? 0 : 1;
}

int main(int argc, char *argv[])
{
    const char *sizes = "64,1,4,16,256", *csv = NULL;
    struct bench bench = {.bits = 4, .label = ""};
    int here, everywhere, status = 2;
    char bits[2] = "";

    if (!parse(argc, argv, &bench, &sizes, &csv)) {
        fprintf(stderr,
                "usage: %s [--size LIST] [--bits N | --defaults] [--label TEXT] [--leave] [CSV]\n",
                argv[0]);
        return 2;
    }
    bits[0] = (char)('0' + bench.bits);
    if (!bench.defaults) {
        setenv("CGX_COMPRESSION_QUANTIZATION_BITS", bits, 1);
        setenv("CGX_CODEC", "maxmin", 0);
        setenv("CGX_HISTORY", "0", 0);
        setenv("CGX_WARMUP", "0", 0);
        setenv("CGX_COMPRESSION_MINIMAL_SIZE", "1024", 0);
    }
    setvbuf(stdout, NULL, _IOLBF, BUFSIZ);
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    here = bench_device_open(&device, rank);
    PMPI_Allreduce(&here, &everywhere, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD);
    if (ranks < 2 && rank == 0)
        fprintf(stderr, "at least two ranks are needed\n");
    if (everywhere && ranks >= 2) {
        driver = bench_calls_begin(&device);
        status = run(&bench, sizes, csv);
    } else if (!everywhere) {
        status = 77;
    }
    if (bench.leave) {
        MPI_Barrier(MPI_COMM_WORLD);
        leave_job();
        return status;
    }
    MPI_Finalize();
    return status;
}
