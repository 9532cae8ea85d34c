/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

/* cgx-info: how the library was built, what it finds on this machine, and its settings. It is
 * linked with the library's objects and needs no MPI to run; mpi.h only tells what built it. */

#ifdef HAVE_CONFIG_H
#include <config.h>
#endif
#include <getopt.h>
#include <mpi.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>

#include "info.h"

#include "codec/codec.h"
#include "cuda/memory.h"
#include "observe/reason.h"
#include "policy/rules/rules.h"
#include "topo/machine.h"
#include "util/log.h"
#include "util/settings.h"

extern char **environ;

#define STRING(name) #name
#define EXPANDED(name) STRING(name)

#ifdef OPEN_MPI
#define MPI_FAMILY "Open MPI"
#else
#define MPI_FAMILY "MPICH"
#endif

#define EXIT_USAGE 2
#define EXIT_REFUSED 2 /* of --check: a sanitizer that ends the program has 1 */
#define LATENCY_US 50  /* of a round of messages, as over Ethernet and TCP */

static const char usage[] =
    "usage: cgx-info [--settings [--all] | --check | --topology | --data | --reasons | --help |\n"
    "                 --version]\n"
    "       cgx-info --measure [LINK] [--latency US]\n"
    "without an option: how the library was built and what it finds here\n"
    "  --settings  the CGX_ variables that are set, and their defaults\n"
    "  --all       with --settings: all CGX_ variables, and their values now\n"
    "  --check     nothing, or what the library will say of these variables;\n"
    "              exit status 2: every call would be exact\n"
    "  --topology  this machine and its network, and in which stages calls\n"
    "              are summed\n"
    "  --data      which sums the library takes for no gradients, and\n"
    "              which you must name\n"
    "  --reasons   why calls are exact, in JSON\n"
    "  --measure   how fast this machine compresses, what that makes of a\n"
    "              link (10gbit, 1.25GB; default: the fastest here) with\n"
    "              a latency of US microseconds, and settings for it\n"
    "  --help      this text\n"
    "  --version   the version\n";

static void print_machine(void)
{
    struct hwloc_topology *topo = cgx_topo_here(CGX_TOPO_PROCESSORS);
    const struct cgx_topo_machine machine = cgx_topo_machine(topo);

    if (!topo) {
        printf("machine        unknown: no usable hwloc\n");
        return;
    }
    printf("machine        packages: %u, NUMA nodes: %u, cores: %u, processing units: %u\n",
           machine.packages, machine.numa_nodes, machine.cores, machine.processing_units);
}

static void print_build(void)
{
    printf("libcgxpmpi     " PACKAGE_VERSION "\n");
    printf("MPI ABIs       MPICH, Intel MPI, Cray MPICH, MVAPICH; Open MPI; the MPI standard's\n");
    printf("MPI header     " MPI_FAMILY
           " " EXPANDED(MPI_VERSION) "." EXPANDED(MPI_SUBVERSION) "\n");
    printf("CUDA header    %s\n", cgx_cuda_build());
    printf("hwloc header   %s\n", cgx_topo_build());
    printf("kernels        %s\n", cgx_codec_name(cgx_codec_host()));
    print_machine();
}

/* Whether the library takes what is set; it would say what REPORT gets. */
static bool check_settings(cgx_settings_report *report, void *context)
{
    struct cgx_settings settings;

    cgx_settings_parse(environ, report, context, &settings);
    if (settings.valid)
        cgx_rules_free(cgx_rules_read(&settings, NULL, report, context));
    return settings.valid;
}

static void print_problem(void *problems, int level, const char *message)
{
    unsigned *count = problems;

    if (++*count == 1)
        printf("\nproblems:\n");
    printf("    %s: %s\n", level == CGX_LOG_ERROR ? "error" : "warn", message);
}

/* The exit status: a job with these settings would not compress. */
static int print_settings(bool all)
{
    unsigned problems = 0;

    info_print_settings(all);
    return check_settings(print_problem, &problems) ? EXIT_SUCCESS : EXIT_FAILURE;
}

static void log_problem(void *context, int level, const char *message)
{
    (void)context;
    cgx_log((enum cgx_log_level)level, "%s", message);
}

/* --settings says what the problem is. */
static void ignore_problem(void *context, int level, const char *message)
{
    (void)context;
    (void)level;
    (void)message;
}

/* The exit status, as above. */
static int print_topology(void)
{
    struct cgx_settings settings;

    cgx_settings_parse(environ, ignore_problem, NULL, &settings);
    cgx_log_set_level(settings.log_level);
    print_machine();
    info_print_network();
    info_print_stages(&settings);
    return settings.valid ? EXIT_SUCCESS : EXIT_FAILURE;
}

/* LINK: NULL for the fastest. The exit status. */
static int print_measure(const char *link, double latency)
{
    struct cgx_settings settings;
    struct cgx_topo_speed fastest = {.name = "given"};
    double bytes_per_second;

    if (link != NULL && !info_link_parse(link, &bytes_per_second)) {
        fprintf(stderr, "cgx-info: --measure %s: " INFO_LINK_ALLOWED "\n", link);
        return EXIT_USAGE;
    }
    if (link == NULL) {
        fastest = cgx_topo_speed_here();
        bytes_per_second = fastest.mbits * 1e6 / 8;
        if (fastest.mbits == 0) {
            fprintf(stderr,
                    "cgx-info: no network interface that is up tells its speed: give one, as in "
                    "cgx-info --measure 10gbit\n");
            return EXIT_FAILURE;
        }
    }
    cgx_settings_parse(environ, ignore_problem, NULL, &settings);
    if (!settings.valid) {
        fprintf(stderr, "cgx-info: a setting is refused: see cgx-info --settings\n");
        return EXIT_FAILURE;
    }
    if (!info_measure(&settings, fastest.name, bytes_per_second, latency)) {
        fprintf(stderr, "cgx-info: no memory\n");
        return EXIT_FAILURE;
    }
    return EXIT_SUCCESS;
}

/* What the command line asks for: a letter, 0 for the build, '?' for what is none of it, or
 * '!' where it has been said what is wrong. */
struct request {
    int option;
    bool all; /* settings */
    const char *link;
    double latency; /* in us; 0: not said */
};

/* Prints for each reason its text, as in logs, and what to do, as an object of JSON. */
static int print_reasons(void)
{
    for (unsigned i = CGX_REASON_NONE + 1; i < CGX_REASONS; i++) {
        const struct cgx_reason_words *words = &cgx_reasons[i];
        const char *quote = words->advice != NULL ? "\"" : "";

        printf("%s\n  \"%s\": {\"text\": \"%s\", \"advice\": %s%s%s}",
               i == CGX_REASON_NONE + 1 ? "{" : ",", words->name, words->text, quote,
               words->advice != NULL ? words->advice : "null", quote);
    }
    printf("\n}\n");
    return EXIT_SUCCESS;
}

/* Says what is wrong with WORD; returns the option of a request that has been answered. */
static int refuse(const char *word, const char *why)
{
    fprintf(stderr, "cgx-info: %s: %s (see cgx-info --help)\n", word, why);
    return '!';
}

static struct request read_arguments(int argc, char *argv[])
{
    static const struct option options[] = {{"settings", no_argument, NULL, 's'},
                                            {"all", no_argument, NULL, 'a'},
                                            {"check", no_argument, NULL, 'c'},
                                            {"topology", no_argument, NULL, 't'},
                                            {"measure", no_argument, NULL, 'm'},
                                            {"latency", required_argument, NULL, 'l'},
                                            {"data", no_argument, NULL, 'd'},
                                            {"reasons", no_argument, NULL, 'r'},
                                            {"help", no_argument, NULL, 'h'},
                                            {"version", no_argument, NULL, 'v'},
                                            {NULL, 0, NULL, 0}};
    struct request request = {.latency = 0};
    const char *latency = NULL;
    int option;
    bool sound = true;

    while ((option = getopt_long(argc, argv, "", options, NULL)) != -1) {
        if (option == 'l' && latency == NULL) {
            latency = optarg;
        } else if (option == 'a') {
            request.all = true;
        } else {
            sound = option != 'l' && option != '?' && request.option == 0 && sound;
            request.option = option;
        }
    }
    if (request.option == 'm' && optind < argc)
        request.link = argv[optind++];
    if (!sound || (request.all && request.option != 's') ||
        (latency != NULL && request.option != 'm'))
        request.option = '?';
    else if (latency != NULL && !info_positive_parse(latency, &request.latency))
        request.option = refuse(latency, "--latency is a number of microseconds, as 2.5");
    else if (optind < argc)
        request.option = refuse(argv[optind], "one word too many; LINK is one word, as 25gbit");
    return request;
}

int main(int argc, char *argv[])
{
    struct request request = read_arguments(argc, argv);

    switch (request.option) {
    case 's':
        return print_settings(request.all);
    case 'c':
        return check_settings(log_problem, NULL) ? EXIT_SUCCESS : EXIT_REFUSED;
    case 't':
        return print_topology();
    case 'm':
        return print_measure(request.link, request.latency > 0 ? request.latency : LATENCY_US);
    case 'd':
        info_print_data();
        return EXIT_SUCCESS;
    case 'r':
        return print_reasons();
    case 'h':
        fputs(usage, stdout);
        return EXIT_SUCCESS;
    case 'v':
        printf("cgx-info (libcgxpmpi) " PACKAGE_VERSION "\n");
        return EXIT_SUCCESS;
    case '!':
        return EXIT_USAGE;
    case 0:
        print_build();
        return EXIT_SUCCESS;
    default:
        fputs(usage, stderr);
        return EXIT_USAGE;
    }
}
