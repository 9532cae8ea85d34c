/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

/* Machines that hwloc is told of: descriptions, and files in tests/data/topo, of which
 * tests/unit/tools/cgx_info.test draws two:
 *     dgx      per package two PCI switches with two GPUs and an InfiniBand adapter each; a
 *              management processor with a screen, and Ethernet, on the first package
 *     dual8    per package four GPUs on ports of the processor; Ethernet on the first package
 *     desktop  one GPU, graphics of another maker, a disk controller of NVIDIA, no network
 *     cluster  per package two NUMA nodes, fast memory beside each, and far memory for all; a
 *              GPU near NUMA node 1, one near package 1, one near the machine
 *     broken   a file cut short */

#define _GNU_SOURCE /* CPU_SET */
#include <limits.h>
#include <linux/mempolicy.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "lib/tap.h"
#include "topo/machine.h"
#include "util/log.h"

static struct cgx_topo *topo; /* of the test that runs; another takes its place */

/* Of a description, or of the file in tests/data/topo that TEXT names. */
static enum cgx_status load(enum cgx_topo_source source, const char *text,
                            enum cgx_topo_detail detail, struct cgx_topo **loaded)
{
    const char *folder = getenv("top_srcdir");
    char path[PATH_MAX];

    snprintf(path, sizeof path, "%s/tests/data/topo/%s.xml", folder ? folder : ".", text);
    return cgx_topo_load(source, source == CGX_TOPO_XML ? path : text, detail, loaded);
}

static void replace(enum cgx_topo_source source, const char *text, enum cgx_topo_detail detail)
{
    cgx_topo_free(topo);
    if (load(source, text, detail, &topo) != CGX_OK)
        bail_out("hwloc does not understand \"%s\"", text);
}

static void describe(const char *description)
{
    replace(CGX_TOPO_SYNTHETIC, description, CGX_TOPO_PROCESSORS);
}

static void read_recorded(const char *name, enum cgx_topo_detail detail)
{
    replace(CGX_TOPO_XML, name, detail);
}

static bool counts(const char *description, struct cgx_topo_machine expected)
{
    struct cgx_topo_machine machine;

    describe(description);
    cgx_topo_machine(topo, &machine);
    diag("%s: %u %u %u %u", description, machine.packages, machine.numa_nodes, machine.cores,
         machine.processing_units);
    return memcmp(&machine, &expected, sizeof machine) == 0;
}

static bool numa_node_is(unsigned place, unsigned number, int package, unsigned cores)
{
    struct cgx_topo_numa_node node;

    return cgx_topo_numa_node(topo, place, &node) == CGX_OK && node.number == number &&
           node.package == package && node.cores == cores && node.bytes > 0;
}

static void test_processors(void)
{
    struct cgx_topo_package package;
    struct cgx_topo_numa_node node;

    ok(counts("pack:2 numa:2 core:4 pu:2", (struct cgx_topo_machine){2, 4, 16, 32}),
       "a server of two packages is counted");
    ok(counts("numa:1 core:3 pu:1", (struct cgx_topo_machine){0, 1, 3, 3}),
       "a kind that hwloc does not see counts 0");
    ok(counts("pack:1 numa:1 core:1 pu:1", (struct cgx_topo_machine){1, 1, 1, 1}),
       "a machine of one core is counted");
    describe("pack:2 numa:2(indexes=3,1,7,5) core:4 pu:2");
    ok(cgx_topo_package(topo, 1, &package) == CGX_OK && package.cores == 8 &&
           package.processing_units == 16,
       "a package has its own cores alone");
    ok(numa_node_is(0, 3, 0, 4) && numa_node_is(3, 5, 1, 4),
       "NUMA nodes have the system's numbers, and the package that they are in");
    ok(cgx_topo_package(topo, 2, &package) == CGX_ERR_INVALID &&
           cgx_topo_numa_node(topo, 4, &node) == CGX_ERR_INVALID,
       "there is nothing behind the last package and NUMA node");
    describe("numa:2 pack:2 core:1 pu:1");
    ok(numa_node_is(1, 1, CGX_TOPO_UNKNOWN, 2), "a NUMA node of two packages is in neither");
}

static bool gpu_is(const char *bus_id, int package, int numa_node, const char *pci_switch,
                   const char *network)
{
    struct cgx_topo_gpu gpu;

    if (cgx_topo_gpu_at(topo, bus_id, &gpu) != CGX_OK) {
        diag("%s: no such device", bus_id);
        return false;
    }
    diag("%s: package %d, NUMA node %d, switch \"%s\", network \"%s\"", gpu.bus_id, gpu.package,
         gpu.numa_node, gpu.pci_switch, gpu.network);
    return strcmp(gpu.bus_id, bus_id) == 0 && gpu.package == package &&
           gpu.numa_node == numa_node && strcmp(gpu.pci_switch, pci_switch) == 0 &&
           strcmp(gpu.network, network) == 0;
}

/* The GPUs are these, in this order. */
static bool gpus_are(const char *const bus_ids[], unsigned gpus)
{
    struct cgx_topo_gpu gpu;
    bool same = cgx_topo_gpu(topo, gpus, &gpu) == CGX_ERR_INVALID;

    for (unsigned i = 0; i < gpus; i++)
        same = same && cgx_topo_gpu(topo, i, &gpu) == CGX_OK && strcmp(gpu.bus_id, bus_ids[i]) == 0;
    return same;
}

static void test_dual8(void)
{
    static const char *const gpus[] = {"0000:21:00.0", "0000:31:00.0", "0000:41:00.0",
                                       "0000:51:00.0", "0000:a1:00.0", "0000:b1:00.0",
                                       "0000:c1:00.0", "0000:d1:00.0"};

    read_recorded("dual8", CGX_TOPO_DEVICES);
    ok(gpus_are(gpus, 8), "dual8: its eight GPUs are found");
    for (int i = 0; i < 4; i++)
        ok(gpu_is(gpus[i], 0, 0, "", "eth0"),
           "dual8: GPU %d hangs on no switch and is near the network of its package", i);
    for (int i = 4; i < 8; i++)
        ok(gpu_is(gpus[i], 1, 1, "", ""),
           "dual8: GPU %d is not near the network of the other package", i);
}

static void test_desktop(void)
{
    static const char *const gpus[] = {"0000:01:00.0"};

    read_recorded("desktop", CGX_TOPO_DEVICES);
    ok(gpus_are(gpus, 1),
       "desktop: its GPU is found; other graphics, and a disk controller of NVIDIA, are none");
    ok(gpu_is(gpus[0], 0, 0, "", ""), "desktop: there is no network to be near to");
}

static void test_bus_ids(void)
{
    static const char *const bad[] = {"",
                                      "54:00.0",
                                      "0000:54:00",
                                      "0000:54:00.0 ",
                                      "0000:54:00.00",
                                      "000000000:54:00.0",
                                      "0000:g4:00.0",
                                      "0001:54:00.0",
                                      "0000:54:00.1",
                                      "0000:54:01.0",
                                      "0000:56:00.0"};
    struct cgx_topo_gpu gpu, untouched;
    bool refused = true;

    read_recorded("dual8", CGX_TOPO_DEVICES);
    ok(cgx_topo_gpu_at(topo, "00000000:A1:00.0", &gpu) == CGX_OK &&
           strcmp(gpu.bus_id, "0000:a1:00.0") == 0,
       "a bus id may have upper-case digits and more of them");
    read_recorded("dgx", CGX_TOPO_DEVICES);
    memset(&gpu, 'x', sizeof gpu);
    untouched = gpu;
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++)
        if (cgx_topo_gpu_at(topo, bad[i], &gpu) != CGX_ERR_INVALID ||
            memcmp(&gpu, &untouched, sizeof gpu) != 0) {
            diag("\"%s\" is taken", bad[i]);
            refused = false;
        }
    ok(refused, "what is no bus id, or that of no device, is refused and sets nothing");
    read_recorded("dgx", CGX_TOPO_PROCESSORS);
    ok(cgx_topo_gpu(topo, 0, &gpu) == CGX_ERR_INVALID &&
           cgx_topo_gpu_at(topo, "0000:54:00.0", &gpu) == CGX_ERR_INVALID,
       "there are no GPUs where none were asked for");
}

/* How many lines it takes on stderr, with all logging on, to load that. */
static int count_lines(enum cgx_topo_source source, const char *text, enum cgx_status *status,
                       struct cgx_topo **loaded)
{
    FILE *log = tmpfile();
    int lines = 0, saved = dup(STDERR_FILENO);

    if (log == NULL || saved < 0 || dup2(fileno(log), STDERR_FILENO) < 0)
        bail_out("stderr could not be caught");
    cgx_log_set_level(CGX_LOG_DEBUG);
    *status = load(source, text, CGX_TOPO_DEVICES, loaded);
    cgx_log_set_level(CGX_LOG_WARN);
    dup2(saved, STDERR_FILENO);
    close(saved);
    rewind(log);
    for (int c; (c = getc(log)) != EOF;)
        lines += c == '\n';
    fclose(log);
    return lines;
}

static void test_failures(void)
{
    static const struct {
        const char *name;
        enum cgx_topo_source source;
        const char *text;
    } cases[] = {{"a broken file", CGX_TOPO_XML, "broken"},
                 {"a missing file", CGX_TOPO_XML, "missing"},
                 {"a description that means nothing", CGX_TOPO_SYNTHETIC, "pack:none"}};

    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct cgx_topo *loaded = NULL;
        enum cgx_status status;
        int lines = count_lines(cases[i].source, cases[i].text, &status, &loaded);

        diag("status %d, %d lines", (int)status, lines);
        ok(status == CGX_ERR_INVALID && loaded == NULL && lines == 1,
           "%s gives an error, one line in the log, and no machine", cases[i].name);
    }
}

static bool place_is(unsigned least, unsigned most, int package, int numa_node, unsigned cores)
{
    struct cgx_topo_place place;
    cpu_set_t set;

    CPU_ZERO(&set);
    for (unsigned cpu = least; cpu <= most; cpu++)
        CPU_SET(cpu, &set);
    if (sched_setaffinity(0, sizeof set, &set) != 0 || cgx_topo_place(topo, &place) != CGX_OK)
        return false;
    diag("processors %u-%u: package %d, NUMA node %d, cores: %u, processing units: %u", least, most,
         place.package, place.numa_node, place.cores, place.processing_units);
    return place.package == package && place.numa_node == numa_node && place.cores == cores &&
           place.processing_units == most - least + 1;
}

/* Two processors of this machine are given out as what we like. */
static void test_place(void)
{
    struct cgx_topo_place place;
    cpu_set_t before, beyond;

    if (sched_getaffinity(0, sizeof before, &before) != 0 || !CPU_ISSET(0, &before) ||
        !CPU_ISSET(1, &before)) {
        skip("a thread is where it is bound", "it may not use processors 0 and 1");
        return;
    }
    describe("pack:2 numa:1(indexes=4,6) core:1 pu:1");
    ok(place_is(1, 1, 1, 6, 1), "a thread bound to a package is there");
    ok(place_is(0, 1, CGX_TOPO_UNKNOWN, CGX_TOPO_UNKNOWN, 2),
       "a thread that may use two packages is in neither");
    describe("numa:1 core:1 pu:2");
    ok(place_is(0, 1, CGX_TOPO_UNKNOWN, 0, 1),
       "a thread that may use both halves of a core has one core");
    describe("numa:1 core:1 pu:1");
    CPU_ZERO(&beyond);
    CPU_SET(1, &beyond);
    ok(sched_setaffinity(0, sizeof beyond, &beyond) == 0 &&
           cgx_topo_place(topo, &place) == CGX_ERR_INVALID,
       "a thread that is on no processor of the machine is nowhere");
    sched_setaffinity(0, sizeof before, &before);
}

/* Of the page, as the kernel has it; -1: it does not say. */
static int policy_of(const void *page)
{
    int policy = -1;

    return syscall(SYS_get_mempolicy, &policy, NULL, 0UL, page, (unsigned long)MPOL_F_ADDR) == 0
               ? policy
               : -1;
}

/* This machine is given out as one with NUMA nodes 999 and 0; the kernel knows better. */
static void test_bind(void)
{
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    char *memory = mmap(NULL, 4 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

    if (memory == MAP_FAILED)
        bail_out("no memory");
    ok(cgx_topo_bind(memory, page, 1) == CGX_ERR_INVALID && memory[0] == 0,
       "memory is not bound to a NUMA node that there is not");
    ok(cgx_topo_bind(memory, page, 999) == CGX_ERR_INVALID && memory[page] == 0,
       "memory that the system refuses to bind is as good as before");
    if (policy_of(memory) != MPOL_DEFAULT ||
        (cgx_topo_bind(memory, page, 0) != CGX_OK &&
         access("/sys/devices/system/node/node0", F_OK) != 0)) {
        skip("memory is bound", "the system has no NUMA policies");
    } else {
        ok(cgx_topo_bind(memory + page, 2 * page, 0) == CGX_OK &&
               policy_of(memory + page) != MPOL_DEFAULT &&
               policy_of(memory + 2 * page) != MPOL_DEFAULT &&
               policy_of(memory + 3 * page) == MPOL_DEFAULT,
           "memory is bound, and not what is beside it");
        ok(policy_of(memory + page) != MPOL_BIND, "where a NUMA node is full another one serves");
    }
    munmap(memory, 4 * page);
}

int main(void)
{
    unsetenv("HWLOC_XMLFILE");
    setenv("HWLOC_SYNTHETIC", "numa:2(indexes=999,0) core:2 pu:1", 1);
    setenv("HWLOC_THISSYSTEM", "1", 1);
    setenv("HWLOC_LIBXML", "0", 1); /* libxml2 complains on stderr of what is broken */
    if (cgx_topo_load(CGX_TOPO_SYNTHETIC, "core:1 pu:1", CGX_TOPO_PROCESSORS, &topo) != CGX_OK) {
        skip("machines are understood", "no hwloc");
        return done_testing();
    }
    test_processors();
    test_dual8();
    test_desktop();
    test_bus_ids();
    test_failures();
    test_place();
    test_bind();
    cgx_topo_free(topo);
    return done_testing();
}
