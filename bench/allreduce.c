/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

/* Times all-reduces of float32 sums, plain and compressed in turn; bench/lab runs it on hosts of
 * its own, and makes tables of what it prints. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <getopt.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include <mpi.h>

#include "allreduce_work.h"
#include "models/leave.h"

static const char usage[] =
    "usage: mpiexec -n RANKS cgxrun bench/allreduce [OPTION ...] BYTES ...\n"
    "\n"
    "All-reduces so many bytes of float32. Rank 0 prints a line for each call:\n"
    "\n"
    "  sample,METHOD,BYTES,SECONDS,LINK,LEAST,BUSY\n"
    "\n"
    "SECONDS: of the slowest rank. LINK: bytes that went over the busiest host's interface, in "
    "the\n"
    "direction in which there were more. LEAST: the fewest that any algorithm sends of this "
    "format.\n"
    "BUSY: processors that the busiest rank kept busy.\n"
    "\n"
    "  --methods LIST     of these (plain,compressed,float16):\n"
    "                       plain       PMPI_Allreduce of float32\n"
    "                       compressed  by the library, if it is preloaded: all, after a few\n"
    "                       default     MPI_Allreduce as the library's settings have it\n"
    "                       float16     PMPI_Allreduce of float16, with an op of this program\n"
    "  --repeat N         calls of each method, in turn (5), ...\n"
    "  --warm N           ... after others that do not count (1)\n"
    "  --check            also: is the result the same on all ranks, and within the bound?\n"
    "                       check,METHOD,BYTES,equal|different,ERROR,BOUND\n"
    "\n"
    "The bytes are those of eth0. Ranks leave after a barrier, without MPI_Finalize.\n";

static struct run run = {.warm = 1, .repeat = 5};

/* ---- one call ---- */

struct traffic {
    unsigned long long sent, received;
};

static unsigned long long read_counter(const char *name)
{
    unsigned long long bytes = 0;
    char path[256];
    FILE *file;

    snprintf(path, sizeof path, "/sys/class/net/eth0/statistics/%s", name);
    file = fopen(path, "r");
    if (file) {
        if (fscanf(file, "%llu", &bytes) != 1)
            bytes = 0;
        fclose(file);
    }
    return bytes;
}

static struct traffic read_traffic(void)
{
    return (struct traffic){read_counter("tx_bytes"), read_counter("rx_bytes")};
}

/* The fewest bytes over the busiest interface: each of the hosts has to send all but its own share
 * of the sum's parts, and then its own share. 0: unknown, as the bytes of uniform quantisation
 * depend on the elements. */
static double least(const struct method *method, size_t count)
{
    const char *codec = getenv("CGX_CODEC");

    if (!method->bytes ||
        (method->sum == COMPRESSED_SUM && (!codec || strcmp(codec, "maxmin") != 0)))
        return 0;
    return 2.0 * (run.hosts - 1) / run.hosts * (double)method->bytes(&run, count);
}

/* Short calls are timed many at a time. */
static int calls_at_once(size_t count)
{
    size_t calls = ((size_t)1 << 20) / (count * sizeof(float));

    return calls < 1 ? 1 : calls > 64 ? 64 : (int)calls;
}

static double processor_time(void)
{
    struct rusage used;

    getrusage(RUSAGE_SELF, &used);
    return (double)(used.ru_utime.tv_sec + used.ru_stime.tv_sec) +
           (double)(used.ru_utime.tv_usec + used.ru_stime.tv_usec) * 1e-6;
}

static void sample(const struct method *method, const struct work *work, bool print)
{
    int calls = calls_at_once(work->count);
    struct traffic before, after;
    double start, busy, figures[3];

    before = read_traffic();
    MPI_Barrier(MPI_COMM_WORLD);
    busy = processor_time();
    start = MPI_Wtime();
    for (int i = 0; i < calls; i++)
        method->call(work);
    figures[0] = MPI_Wtime() - start;
    figures[1] = processor_time() - busy;
    MPI_Barrier(MPI_COMM_WORLD);
    after = read_traffic();
    figures[2] =
        fmax((double)(after.sent - before.sent), (double)(after.received - before.received));
    PMPI_Allreduce(MPI_IN_PLACE, figures, 3, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
    if (run.rank == 0 && print)
        printf("sample,%s,%zu,%.9f,%.0f,%.0f,%.2f\n", method->name, work->count * sizeof(float),
               figures[0] / calls, figures[2] / calls, least(method, work->count),
               figures[1] / figures[0]);
}

static void check(const struct method *method, const struct work *work)
{
    double error, bound;
    bool equal = work_check(work, method, &error, &bound);

    if (run.rank == 0)
        printf("check,%s,%zu,%s,%.6g,%.6g\n", method->name, work->count * sizeof(float),
               equal ? "equal" : "different", error, bound);
}

/* ---- all of it ---- */

static void measure(size_t bytes)
{
    struct work work;

    work_create(&work, &run, bytes);
    for (int round = -run.warm; round < run.repeat; round++) {
        /* Each method comes first in turn: it finds in the caches what the one before has left. */
        for (int i = 0; i < METHODS; i++) {
            const struct method *method = &methods[(i + round + METHODS * run.warm) % METHODS];

            if (!method->wanted)
                continue;
            sample(method, &work, round >= 0);
            if (method->sum != NO_SUM && run.check && round == 0)
                check(method, &work);
        }
    }
    fflush(stdout);
    work_free(&work);
}

static bool is_preloaded(void)
{
    Dl_info ours, theirs;

    return dladdr(dlsym(RTLD_DEFAULT, "MPI_Allreduce"), &ours) &&
           dladdr(dlsym(RTLD_DEFAULT, "PMPI_Allreduce"), &theirs) &&
           ours.dli_fbase != theirs.dli_fbase;
}

static void choose_methods(char *list)
{
    struct method *method;
    char *name;

    for (method = methods; method->name; method++)
        method->wanted = false;
    while ((name = strsep(&list, ","))) {
        for (method = methods; method->name && strcmp(method->name, name) != 0; method++)
            ;
        if (!method->name) {
            fprintf(stderr, "allreduce: '%s' is no method here\n%s", name, usage);
            exit(2);
        }
        method->wanted = true;
    }
}

static void parse_options(int argc, char **argv)
{
    static const struct option options[] = {{"methods", 1, 0, 'm'},
                                            {"repeat", 1, 0, 'r'},
                                            {"warm", 1, 0, 'w'},
                                            {"check", 0, 0, 'c'},
                                            {0}};
    int option;

    while ((option = getopt_long(argc, argv, "", options, NULL)) != -1) {
        switch (option) {
        case 'm':
            choose_methods(optarg);
            break;
        case 'r':
            run.repeat = atoi(optarg);
            break;
        case 'w':
            run.warm = atoi(optarg);
            break;
        case 'c':
            run.check = true;
            break;
        default:
            fputs(usage, stderr);
            exit(2);
        }
    }
    if (optind == argc || run.repeat < 1 || run.warm < 0) {
        fputs(usage, stderr);
        exit(2);
    }
}

static size_t setting(const char *name, size_t otherwise)
{
    const char *text = getenv(name);

    return text && *text ? strtoul(text, NULL, 10) : otherwise;
}

static int count_hosts(void)
{
    MPI_Comm host;
    int local, leader, hosts;

    MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &host);
    MPI_Comm_rank(host, &local);
    MPI_Comm_free(&host);
    leader = local == 0;
    PMPI_Allreduce(&leader, &hosts, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    return hosts;
}

/* Where hints name bits the times of sums decide nothing. The first sums of a communicator are
 * exact. */
static void make_compressed(void)
{
    float input[1024] = {0}, sum[1024];
    char bits[] = {(char)('0' + run.bits), '\0'};
    MPI_Info hints;

    MPI_Info_create(&hints);
    MPI_Info_set(hints, "cgx_bits", bits);
    MPI_Info_set(hints, "cgx_recurs", "always");
    MPI_Info_set(hints, "cgx_consensus", "off");
    MPI_Comm_dup(MPI_COMM_WORLD, &run.compressed);
    MPI_Comm_set_info(run.compressed, hints);
    MPI_Info_free(&hints);
    for (int i = 0; i < 4; i++)
        MPI_Allreduce(input, sum, 1024, MPI_FLOAT, MPI_SUM, run.compressed);
}

int main(int argc, char **argv)
{
    parse_options(argc, argv);
    MPI_Init(NULL, NULL);
    MPI_Comm_rank(MPI_COMM_WORLD, &run.rank);
    MPI_Comm_size(MPI_COMM_WORLD, &run.ranks);
    run.hosts = count_hosts();
    run.bits = setting("CGX_COMPRESSION_QUANTIZATION_BITS", 4);
    run.bucket = 128;
    MPI_Type_contiguous(2, MPI_BYTE, &run.half);
    MPI_Type_commit(&run.half);
    MPI_Op_create(half_sum, 1, &run.half_sum);
    for (struct method *method = methods; method->name; method++)
        method->wanted &= method->sum != COMPRESSED_SUM || is_preloaded();
    make_compressed();
    if (run.rank == 0)
        printf("run,%d ranks,%d hosts\n", run.ranks, run.hosts);
    for (int i = optind; i < argc; i++)
        measure(strtoul(argv[i], NULL, 10) & ~(size_t)3);
    MPI_Comm_free(&run.compressed);
    MPI_Op_free(&run.half_sum);
    MPI_Type_free(&run.half);
    MPI_Barrier(MPI_COMM_WORLD);
    fflush(stdout);
    leave_job();
    _exit(0);
}
