/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

#include "topo/machine.h"

#include <limits.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define LINE_BYTES 64
#define PATH_BYTES 512

#define PORT_ACTIVE 4 /* the state file says "4: ACTIVE" */

static bool read_line(const char *path, char line[LINE_BYTES])
{
    FILE *file = fopen(path, "re");
    bool ok;

    if (!file)
        return false;
    ok = fgets(line, LINE_BYTES, file) != NULL;
    fclose(file);
    return ok;
}

static unsigned interface_speed(const char *folder, const char *name)
{
    char path[PATH_BYTES], line[LINE_BYTES];
    long speed;

    snprintf(path, sizeof path, "%s/net/%s/operstate", folder, name);
    if (!read_line(path, line) || strcmp(line, "up\n") != 0)
        return 0;
    snprintf(path, sizeof path, "%s/net/%s/speed", folder, name);
    if (!read_line(path, line))
        return 0;
    speed = strtol(line, NULL, 10);
    /* An unknown speed is -1; some drivers omit the sign. */
    return speed > 0 && speed < INT_MAX ? (unsigned)speed : 0;
}

/* Reads a rate such as "2.5 Gb/sec (1X SDR)", in Mbit/s. Linux writes no other fraction than .5.
 * The program's locale does not matter. */
static unsigned read_rate(const char *line)
{
    char *end;
    unsigned long gbits = strtoul(line, &end, 10);

    if (gbits > UINT_MAX / 1000 - 1)
        return 0;
    return (unsigned)gbits * 1000 + (strncmp(end, ".5", 2) == 0 ? 500 : 0);
}

/* The speed of the device's fastest active port. Ports are numbered from 1. */
static unsigned device_speed(const char *folder, const char *name)
{
    char path[PATH_BYTES], line[LINE_BYTES];
    unsigned fastest = 0, rate;

    for (unsigned port = 1;; port++) {
        snprintf(path, sizeof path, "%s/infiniband/%s/ports/%u/state", folder, name, port);
        if (!read_line(path, line))
            return fastest;
        if (strtol(line, NULL, 10) != PORT_ACTIVE)
            continue;
        snprintf(path, sizeof path, "%s/infiniband/%s/ports/%u/rate", folder, name, port);
        rate = read_line(path, line) ? read_rate(line) : 0;
        fastest = rate > fastest ? rate : fastest;
    }
}

struct cgx_topo_speed cgx_topo_speed(const struct cgx_topo *topo, const char *folder)
{
    struct cgx_topo_speed interface = {0}, device = {0};
    struct cgx_topo_network network;

    for (unsigned i = 0; cgx_topo_network(topo, i, &network) == CGX_OK; i++) {
        struct cgx_topo_speed *fastest = network.fabrics ? &device : &interface;
        unsigned mbits = network.fabrics ? device_speed(folder, network.name)
                                         : interface_speed(folder, network.name);

        if (mbits <= fastest->mbits)
            continue;
        fastest->mbits = mbits;
        memcpy(fastest->name, network.name, sizeof fastest->name);
    }
    return device.mbits > 0 ? device : interface;
}

struct cgx_topo_speed cgx_topo_speed_here(void)
{
    static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
    static struct cgx_topo_speed here;
    static bool queried;
    const struct cgx_topo *topo;

    pthread_mutex_lock(&lock);
    if (!queried && cgx_topo_here(CGX_TOPO_DEVICES, &topo) == CGX_OK)
        here = cgx_topo_speed(topo, "/sys/class");
    queried = true;
    pthread_mutex_unlock(&lock);
    return here;
}
