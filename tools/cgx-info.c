/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

/* cgx-info: how the library was built, what it finds on this machine, and its settings. It is
 * linked with the library's objects and needs no MPI to run; mpi.h only tells the ABI. */

#ifdef HAVE_CONFIG_H
#include <config.h>
#endif
#include <getopt.h>
#include <mpi.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>

#include "info_topology.h"

#include "codec/codec.h"
#include "cuda/memory.h"
#include "topo/machine.h"
#include "util/log.h"
#include "util/settings.h"

extern char **environ;

#define STRING(name) #name
#define EXPANDED(name) STRING(name)

#ifdef OPEN_MPI
#define MPI_FAMILY "Open MPI"
#else
#define MPI_FAMILY "MPICH, Intel MPI, Cray MPICH, MVAPICH"
#endif

static const char usage[] = "usage: cgx-info [--settings | --topology | --help | --version]\n"
                            "without an option: how the library was built and what it finds here\n"
                            "  --settings  the CGX_ variables: values, defaults, and what is set\n"
                            "  --topology  this machine's packages, NUMA nodes and GPUs, and in\n"
                            "              which stages calls are summed\n"
                            "  --help      this text\n"
                            "  --version   the version\n";

static void print_machine(void)
{
    const struct cgx_topo *topo;
    struct cgx_topo_machine machine;

    if (cgx_topo_here(CGX_TOPO_PROCESSORS, &topo) != CGX_OK) {
        printf("machine        unknown: no usable hwloc\n");
        return;
    }
    cgx_topo_machine(topo, &machine);
    printf("machine        packages: %u, NUMA nodes: %u, cores: %u, processing units: %u\n",
           machine.packages, machine.numa_nodes, machine.cores, machine.processing_units);
}

static void print_build(void)
{
    printf("libcgxpmpi     " PACKAGE_VERSION "\n");
    printf("MPI ABI        " MPI_FAMILY
           "; MPI " EXPANDED(MPI_VERSION) "." EXPANDED(MPI_SUBVERSION) "\n");
    printf("CUDA header    %s\n", cgx_cuda_build());
    printf("hwloc header   %s\n", cgx_topo_build());
    printf("kernels        %s\n", cgx_codec_host()->name);
    print_machine();
}

static void print_problem(void *problems, int level, const char *message)
{
    unsigned *count = problems;

    if (++*count == 1)
        printf("\nproblems:\n");
    printf("    %s: %s\n", level == CGX_LOG_ERROR ? "error" : "warn", message);
}

/* The exit status: a job with these settings would not compress. */
static int print_settings(void)
{
    struct cgx_settings settings;
    unsigned problems = 0;

    cgx_settings_print(stdout, environ);
    cgx_settings_parse(environ, print_problem, &problems, &settings);
    return settings.valid ? EXIT_SUCCESS : EXIT_FAILURE;
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
    info_draw_machine();
    info_print_stages(&settings);
    return settings.valid ? EXIT_SUCCESS : EXIT_FAILURE;
}

int main(int argc, char *argv[])
{
    static const struct option options[] = {{"settings", no_argument, NULL, 's'},
                                            {"topology", no_argument, NULL, 't'},
                                            {"help", no_argument, NULL, 'h'},
                                            {"version", no_argument, NULL, 'v'},
                                            {NULL, 0, NULL, 0}};
    int option = getopt_long(argc, argv, "", options, NULL);

    if (option == '?' || optind != argc) {
        fputs(usage, stderr);
        return 2;
    }
    if (option == 's')
        return print_settings();
    if (option == 't')
        return print_topology();
    if (option == 'h')
        fputs(usage, stdout);
    else if (option == 'v')
        printf("cgx-info (libcgxpmpi) " PACKAGE_VERSION "\n");
    else
        print_build();
    return EXIT_SUCCESS;
}
