/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

/* The memory near a device, in a folder like /sys/bus/pci/devices, and memory that is bound to it.
 */
#include "topo/numa.h"

#include <limits.h>
#include <linux/mempolicy.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "lib/tap.h"

static char folder[] = P_tmpdir "/cgx-numa-XXXXXX";

static void put(const char *device, const char *node)
{
    char path[PATH_MAX];
    FILE *file;

    snprintf(path, sizeof path, "%s/%s", folder, device);
    mkdir(path, 0700);
    snprintf(path, sizeof path, "%s/%s/numa_node", folder, device);
    file = fopen(path, "w");
    if (file == NULL || fputs(node, file) < 0 || fclose(file) != 0)
        bail_out("%s cannot be written", path);
}

static void test_near(void)
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

    put("0000:15:00.0", "0\n");
    put("0000:54:00.0", "1\n");
    put("10000:3b:1f.7", "12\n");
    put("0000:81:00.0", "-1\n");
    put("0000:56:00.0", "");
    ok(cgx_numa_node_near(folder, "0000:15:00.0") == 0 &&
           cgx_numa_node_near(folder, "00000000:54:00.0") == 1 &&
           cgx_numa_node_near(folder, "00010000:3B:1F.7") == 12,
       "a device is near the memory that the system says");
    for (size_t i = 0; i < sizeof none / sizeof none[0]; i++)
        known = known || cgx_numa_node_near(folder, none[i]) != CGX_NUMA_UNKNOWN;
    ok(!known, "what is no bus id, or that of no device, is near no memory");
    ok(cgx_numa_node_near(folder, "0000:81:00.0") == CGX_NUMA_UNKNOWN,
       "nor is a device of which the system does not know it");
}

/* The policy of PAGE, as the kernel has it; -1: it does not say. */
static int policy_of(const void *page)
{
    int policy = -1;

    return syscall(SYS_get_mempolicy, &policy, NULL, 0UL, page, (unsigned long)MPOL_F_ADDR) == 0
               ? policy
               : -1;
}

static void test_bind(void)
{
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    char *memory = mmap(NULL, 4 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

    if (memory == MAP_FAILED)
        bail_out("no memory");
    ok(cgx_numa_bind(memory, page, 999) == CGX_ERR_INVALID &&
           cgx_numa_bind(memory, page, UINT_MAX) == CGX_ERR_INVALID && memory[0] == 0,
       "memory that the system refuses to bind is as good as before");
    if (policy_of(memory) != MPOL_DEFAULT ||
        (cgx_numa_bind(memory, page, 0) != CGX_OK &&
         access("/sys/devices/system/node/node0", F_OK) != 0)) {
        skip("memory is bound", "the system has no NUMA policies");
    } else {
        ok(cgx_numa_bind(memory + page, 2 * page, 0) == CGX_OK &&
               policy_of(memory + page) == MPOL_PREFERRED &&
               policy_of(memory + 2 * page) == MPOL_PREFERRED &&
               policy_of(memory + 3 * page) == MPOL_DEFAULT,
           "memory is bound by a preference, and not what is beside it");
    }
    munmap(memory, 4 * page);
}

int main(void)
{
    char command[64];

    if (mkdtemp(folder) == NULL)
        bail_out("no folder");
    test_near();
    test_bind();
    snprintf(command, sizeof command, "rm -r %s", folder);
    ok(system(command) == 0, "nothing is left");
    return done_testing();
}
