/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

/* The network's speed: interfaces and devices in a folder like /sys/class. */

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "lib/tap.h"
#include "topo/machine.h"

static char folder[] = P_tmpdir "/cgx-speed-XXXXXX";

/* Writes TEXT into the file NAME of the folder, whose own folders are made. */
static void put(const char *name, const char *text)
{
    char path[PATH_MAX];
    FILE *file;

    snprintf(path, sizeof path, "%s/%s", folder, name);
    for (char *end = strchr(path + strlen(folder) + 1, '/'); end; end = strchr(end + 1, '/')) {
        *end = '\0';
        mkdir(path, 0700);
        *end = '/';
    }
    file = fopen(path, "w");
    if (file == NULL || fputs(text, file) < 0 || fclose(file) != 0)
        bail_out("%s cannot be written", path);
}

static void put_interface(const char *name, const char *state, const char *speed)
{
    char path[64];

    snprintf(path, sizeof path, "net/%s/device/vendor", name);
    put(path, "");
    snprintf(path, sizeof path, "net/%s/operstate", name);
    put(path, state);
    snprintf(path, sizeof path, "net/%s/speed", name);
    put(path, speed);
}

static void put_port(const char *device, unsigned port, const char *state, const char *rate)
{
    char path[64];

    snprintf(path, sizeof path, "infiniband/%s/device/vendor", device);
    put(path, "");
    snprintf(path, sizeof path, "infiniband/%s/ports/%u/state", device, port);
    put(path, state);
    snprintf(path, sizeof path, "infiniband/%s/ports/%u/rate", device, port);
    put(path, rate);
}

static bool finds(const char *name, unsigned mbits)
{
    struct cgx_topo_speed speed = cgx_topo_speed(folder);

    diag("%s: %u", speed.name, speed.mbits);
    return speed.mbits == mbits && strcmp(speed.name, name) == 0;
}

static void test_interfaces(void)
{
    ok(finds("", 0), "a machine without interfaces has no speed");
    put_interface("eth0", "up\n", "-1\n");
    put_interface("ib1", "up\n", "4294967295\n");
    put_interface("ib2", "down\n", "56000\n");
    put("net/br0/operstate", "up\n");
    put("net/br0/speed", "400000\n");
    ok(finds("", 0), "nor has one whose interfaces are down, tell none, or are virtual");
    put_interface("eth0", "up\n", "1000\n");
    ok(finds("eth0", 1000), "one that is up and tells its speed has it");
    put_interface("ib3", "up\n", "25000\n");
    put_interface("ib0", "up\n", "10000\n");
    put_interface("ib4", "up\n", "25000\n");
    ok(finds("ib3", 25000), "the fastest counts, of equal ones the first by name");
    put("net/bond0/bonding/slaves", "ib3 ib4\n");
    put("net/bond0/operstate", "up\n");
    put("net/bond0/speed", "50000\n");
    ok(finds("bond0", 50000), "a bond counts");
}

static void test_ports(void)
{
    put_port("mlx5_0", 1, "1: DOWN\n", "100 Gb/sec (4X EDR)\n");
    put_port("mlx5_1", 1, "2: INIT\n", "100 Gb/sec (4X EDR)\n");
    put("infiniband/rxe0/ports/1/state", "4: ACTIVE\n");
    put("infiniband/rxe0/ports/1/rate", "400 Gb/sec (4X NDR)\n");
    ok(finds("bond0", 50000), "ports that are not active, or virtual, have none");
    put_port("mlx5_2", 1, "4: ACTIVE\n", "2.5 Gb/sec (1X SDR)\n");
    ok(finds("mlx5_2", 2500), "an active port counts before faster interfaces");
    put_port("mlx5_1", 2, "4: ACTIVE\n", "10 Gb/sec (4X SDR)\n");
    put_port("mlx5_3", 1, "4: ACTIVE\n", "nonsense\n");
    ok(finds("mlx5_1", 10000), "the fastest active port counts, even a second one");
    put_port("mlx5_3", 1, "4: ACTIVE\n", "200 Gb/sec (4X HDR)\n");
    ok(finds("mlx5_3", 200000), "... on any device");
}

int main(void)
{
    struct cgx_topo_speed here = cgx_topo_speed_here(), again = cgx_topo_speed_here();
    char command[64];

    ok((here.mbits > 0) == (here.name[0] != '\0') && memcmp(&here, &again, sizeof here) == 0,
       "this machine has a network of known speed and name, or none");
    if (mkdtemp(folder) == NULL)
        bail_out("no folder");
    test_interfaces();
    test_ports();
    snprintf(command, sizeof command, "rm -r %s", folder);
    ok(system(command) == 0, "nothing is left");
    return done_testing();
}
