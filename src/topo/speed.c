/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

#include "topo/machine.h"

#include <dirent.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define PATH_BYTES 512

#define PORT_ACTIVE 4 /* the state file says "4: ACTIVE" */

bool cgx_topo_line(const char *path, char line[CGX_TOPO_LINE_BYTES])
{
    int file = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t got = file >= 0 ? read(file, line, CGX_TOPO_LINE_BYTES - 1) : 0;

    if (file >= 0)
        close(file);
    line[got > 0 ? got : 0] = '\0';
    return got > 0;
}

static unsigned interface_speed(const char *folder, const char *name)
{
    char path[PATH_BYTES], line[CGX_TOPO_LINE_BYTES];
    long speed;

    snprintf(path, sizeof path, "%s/net/%s/operstate", folder, name);
    if (!cgx_topo_line(path, line) || strcmp(line, "up\n") != 0)
        return 0;
    snprintf(path, sizeof path, "%s/net/%s/speed", folder, name);
    if (!cgx_topo_line(path, line))
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
    char path[PATH_BYTES], line[CGX_TOPO_LINE_BYTES];
    unsigned fastest = 0, rate;

    for (unsigned port = 1;; port++) {
        snprintf(path, sizeof path, "%s/infiniband/%s/ports/%u/state", folder, name, port);
        if (!cgx_topo_line(path, line))
            return fastest;
        if (strtol(line, NULL, 10) != PORT_ACTIVE)
            continue;
        snprintf(path, sizeof path, "%s/infiniband/%s/ports/%u/rate", folder, name, port);
        rate = cgx_topo_line(path, line) ? read_rate(line) : 0;
        fastest = rate > fastest ? rate : fastest;
    }
}

/* Whether a device of the machine, or a bond of some, is behind NAME; bridges have neither. */
static bool leaves_machine(const char *folder, const char *class, const char *name)
{
    char device[PATH_BYTES], bonding[PATH_BYTES];

    snprintf(device, sizeof device, "%s/%s/%s/device", folder, class, name);
    snprintf(bonding, sizeof bonding, "%s/%s/%s/bonding", folder, class, name);
    return name[0] != '.' && (access(device, F_OK) == 0 || access(bonding, F_OK) == 0);
}

/* Sets *FASTEST to the fastest device of CLASS in FOLDER, whose speed SPEED reads; of equal ones to
 * the first by name. */
static void find_fastest(const char *folder, const char *class,
                         unsigned (*speed)(const char *folder, const char *name),
                         struct cgx_topo_speed *fastest)
{
    char path[PATH_BYTES];
    const struct dirent *entry;
    DIR *devices;

    snprintf(path, sizeof path, "%s/%s", folder, class);
    devices = opendir(path);
    while (devices && (entry = readdir(devices)) != NULL) {
        unsigned mbits =
            leaves_machine(folder, class, entry->d_name) ? speed(folder, entry->d_name) : 0;

        if (mbits < fastest->mbits || mbits == 0 ||
            (mbits == fastest->mbits && strcmp(entry->d_name, fastest->name) > 0))
            continue;
        fastest->mbits = mbits;
        snprintf(fastest->name, sizeof fastest->name, "%.63s", entry->d_name);
    }
    if (devices)
        closedir(devices);
}

struct cgx_topo_speed cgx_topo_speed(const char *folder)
{
    struct cgx_topo_speed fastest = {0};

    find_fastest(folder, "infiniband", device_speed, &fastest);
    if (fastest.mbits == 0)
        find_fastest(folder, "net", interface_speed, &fastest);
    return fastest;
}

static struct cgx_topo_speed here;

static void find_here(void)
{
    here = cgx_topo_speed("/sys/class");
}

struct cgx_topo_speed cgx_topo_speed_here(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;

    pthread_once(&once, find_here);
    return here;
}
