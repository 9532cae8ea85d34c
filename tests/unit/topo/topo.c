/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

/* The machine that this process runs on, and those that hwloc is told of: descriptions, and files
 * in tests/data/topo: dgx      per package two PCI switches with two GPUs and an InfiniBand adapter
 * each; a management processor with a screen, and Ethernet, on the first package desktop  one GPU,
 * graphics of another maker, a disk controller of NVIDIA, no network cluster  per package two NUMA
 * nodes, fast memory beside each, and far memory for all; a GPU near NUMA node 1, one near package
 * 1, one near the machine */

#include <dlfcn.h>
#include <limits.h>
#include <linux/mempolicy.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "lib/tap.h"
#include "topo/machine.h"
#include "util/log.h"

static struct hwloc_topology *topo; /* of the test that runs; another takes its place */

static void replace(enum cgx_topo_detail detail)
{
    cgx_topo_free(topo);
    topo = cgx_topo_load(detail);
    if (!topo)
        bail_out("hwloc does not understand this machine");
}

static void describe(const char *description)
{
    setenv("HWLOC_SYNTHETIC", description, 1);
    replace(CGX_TOPO_PROCESSORS);
    unsetenv("HWLOC_SYNTHETIC");
}

/* The file NAME of tests/data/topo. */
static void read_recorded(const char *name, enum cgx_topo_detail detail)
{
    const char *folder = getenv("top_srcdir");
    char path[PATH_MAX];

    snprintf(path, sizeof path, "%s/tests/data/topo/%s.xml", folder ? folder : ".", name);
    setenv("HWLOC_XMLFILE", path, 1);
    replace(detail);
    unsetenv("HWLOC_XMLFILE");
}

static bool counts(const char *description, struct cgx_topo_machine expected)
{
    struct cgx_topo_machine machine;

    describe(description);
    machine = cgx_topo_machine(topo);
    diag("%s: %u %u %u %u", description, machine.packages, machine.numa_nodes, machine.cores,
         machine.processing_units);
    return memcmp(&machine, &expected, sizeof machine) == 0;
}

static void test_processors(void)
{
    ok(counts("pack:2 numa:2 core:4 pu:2", (struct cgx_topo_machine){2, 4, 16, 32}),
       "a server of two packages is counted");
    ok(counts("numa:1 core:3 pu:1", (struct cgx_topo_machine){0, 1, 3, 3}),
       "a kind that hwloc does not see counts 0");
    ok(counts("pack:1 numa:1 core:1 pu:1", (struct cgx_topo_machine){1, 1, 1, 1}),
       "a machine of one core is counted");
}

static void test_nodes(void)
{
    static const char *const none[] = {"",
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
    bool known = false;

    read_recorded("dgx", CGX_TOPO_DEVICES);
    ok(cgx_topo_node_near(topo, "0000:15:00.0") == 0 &&
           cgx_topo_node_near(topo, "0000:54:00.0") == 1 &&
           cgx_topo_node_near(topo, "00000000:74:00.0") == 1,
       "each GPU is near the memory of its package");
    for (size_t i = 0; i < sizeof none / sizeof none[0]; i++)
        known = known || cgx_topo_node_near(topo, none[i]) != CGX_TOPO_UNKNOWN;
    ok(!known, "what is no bus id, or that of no device, is near no memory");
    read_recorded("dgx", CGX_TOPO_PROCESSORS);
    ok(cgx_topo_node_near(topo, "0000:54:00.0") == CGX_TOPO_UNKNOWN,
       "there are no devices where none were asked for");
    read_recorded("cluster", CGX_TOPO_DEVICES);
    ok(cgx_topo_node_near(topo, "0000:31:00.0") == 1,
       "of several kinds of memory ordinary memory is nearest");
    ok(cgx_topo_node_near(topo, "0000:C1:00.0") == CGX_TOPO_UNKNOWN &&
           cgx_topo_node_near(topo, "0000:81:00.0") == CGX_TOPO_UNKNOWN,
       "a GPU that is as near to several nodes is near none");
}

/* How many lines it takes on stderr, with all logging on, to examine a machine. */
static int count_lines(struct hwloc_topology **loaded)
{
    FILE *log = tmpfile();
    int lines = 0, saved = dup(STDERR_FILENO);

    if (log == NULL || saved < 0 || dup2(fileno(log), STDERR_FILENO) < 0)
        bail_out("stderr could not be caught");
    cgx_log_set_level(CGX_LOG_DEBUG);
    *loaded = cgx_topo_load(CGX_TOPO_DEVICES);
    cgx_log_set_level(CGX_LOG_WARN);
    dup2(saved, STDERR_FILENO);
    close(saved);
    rewind(log);
    for (int c; (c = getc(log)) != EOF;)
        lines += c == '\n';
    fclose(log);
    return lines;
}

/* hwloc asks nothing for processors. */
static void test_failure(void)
{
    struct hwloc_topology *loaded;
    int lines;

    setenv("HWLOC_COMPONENTS", "stop", 1);
    lines = count_lines(&loaded);
    unsetenv("HWLOC_COMPONENTS");
    diag("%d lines", lines);
    ok(loaded == NULL && lines == 1, "a failure gives one line in the log, and no machine");
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

/* ---- the machine that this process runs on ---- */

#define THREADS 8

static void *see(void *seen)
{
    *(struct hwloc_topology **)seen = cgx_topo_here(CGX_TOPO_DEVICES);
    return NULL;
}

/* All at once, and the one after them, have the same view. */
static bool is_seen_once(void)
{
    struct hwloc_topology *seen[THREADS] = {NULL}, *again;
    pthread_t threads[THREADS];
    bool same = true;

    for (int i = 0; i < THREADS; i++)
        if (pthread_create(&threads[i], NULL, see, &seen[i]) != 0)
            bail_out("no thread could be started");
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    again = cgx_topo_here(CGX_TOPO_DEVICES);
    for (int i = 0; i < THREADS; i++)
        same = same && seen[i] != NULL && seen[i] == again;
    return same;
}

static void test_here(void)
{
    struct hwloc_topology *here = cgx_topo_here(CGX_TOPO_PROCESSORS);
    const struct cgx_topo_machine machine = cgx_topo_machine(here);
    char memory[16];

    if (!here) {
        ok(machine.processing_units == 0 &&
               cgx_topo_bind(memory, sizeof memory, 0) == CGX_ERR_INVALID,
           "without hwloc the machine is unknown and memory is not bound");
        return;
    }
    ok(machine.processing_units >= 1 &&
           machine.processing_units <= (unsigned)sysconf(_SC_NPROCESSORS_CONF),
       "this machine has the processing units that the system counts");
    ok(cgx_topo_here(CGX_TOPO_PROCESSORS) == here, "a machine is looked at once");
    ok(is_seen_once(), "threads that ask at the same time get the same answer");
    ok(dlopen("libhwloc.so.15", RTLD_NOLOAD | RTLD_LAZY) != NULL, "hwloc stays open");
}

int main(void)
{
    unsetenv("HWLOC_XMLFILE");
    unsetenv("HWLOC_SYNTHETIC");
    test_here();
    topo = cgx_topo_load(CGX_TOPO_PROCESSORS);
    if (!topo) {
        skip("machines are understood", "no hwloc");
        return done_testing();
    }
    test_processors();
    test_nodes();
    test_failure();
    setenv("HWLOC_SYNTHETIC", "numa:2(indexes=999,0) core:2 pu:1", 1);
    setenv("HWLOC_THISSYSTEM", "1", 1);
    test_bind();
    cgx_topo_free(topo);
    return done_testing();
}
