/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

/* Links for cgx-info --measure: as text, and in a folder like /sys/class/net. */
#include "../../../tools/info.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "lib/tap.h"

static void test_parse(void)
{
    static const struct {
        const char *text;
        double bytes;
    } good[] = {{"1gbit", 0.125e9},   {"10gbit", 1.25e9},  {"100Gbit/s", 12.5e9},
                {"2.5GBIT", 312.5e6}, {"100mbit", 12.5e6}, {"1.25GB", 1.25e9},
                {"1.25GB/s", 1.25e9}, {"125MB", 125e6},    {"10", 1.25e9}};
    static const char *const bad[] = {
        "",         "0",       "gbit",
        "10 gbit",  "10gb",    "10Gb",
        "1.25gB",   "-1gbit",  "0gbit",
        "1e3gbit",  "10gbits", "/s",
        "10/s",     "10gbit/", "10gbit/s/s",
        "1..2gbit", "0x1gbit", "1gbit1",
        "infgbit",  "10kbit",  "1000000000000000000000000000000000000000gbit"};
    double bytes;

    for (size_t i = 0; i < sizeof good / sizeof good[0]; i++) {
        bytes = 0;
        ok(info_link_parse(good[i].text, &bytes) && bytes == good[i].bytes, "%s is a link",
           good[i].text);
    }
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        bytes = 7;
        ok(!info_link_parse(bad[i], &bytes) && bytes == 7, "\"%s\" is none", bad[i]);
    }
}

/* ---- a folder ---- */

static char folder[] = P_tmpdir "/cgx-info-link-XXXXXX";

static void put(const char *interface, const char *file, const char *text)
{
    char path[256];
    FILE *stream;

    snprintf(path, sizeof path, "%s/%s/%s", folder, interface, file);
    stream = fopen(path, "w");
    if (stream == NULL || fputs(text, stream) < 0 || fclose(stream) != 0)
        bail_out("%s cannot be written", path);
}

/* KIND: "device", "bonding", or NULL for what has neither. */
static void add(const char *interface, const char *kind, const char *state, const char *speed)
{
    char path[256];

    snprintf(path, sizeof path, "%s/%s", folder, interface);
    if (mkdir(path, 0700) != 0)
        bail_out("%s cannot be made", path);
    if (kind != NULL)
        put(interface, kind, "");
    put(interface, "operstate", state);
    if (speed != NULL)
        put(interface, "speed", speed);
}

static bool finds(const char *expected, double expected_bytes)
{
    char name[INFO_LINK_NAME_BYTES] = "";
    double bytes = 0;

    if (expected == NULL)
        return !info_link_find(folder, name, &bytes) && bytes == 0;
    return info_link_find(folder, name, &bytes) && strcmp(name, expected) == 0 &&
           bytes == expected_bytes;
}

static void test_find(void)
{
    char command[64];

    if (mkdtemp(folder) == NULL)
        bail_out("no folder");
    ok(finds(NULL, 0), "a machine without interfaces has no link");
    add("lo", NULL, "unknown\n", "100000\n");
    add("veth0", NULL, "up\n", "10000\n");
    add("br0", NULL, "up\n", "10000\n");
    add("eth9", "device", "up\n", "-1\n");
    add("wlan0", "device", "up\n", NULL);
    ok(finds(NULL, 0), "nor has one whose interfaces are virtual or tell no speed");
    add("eth0", "device", "up\n", "1000\n");
    ok(finds("eth0", 0.125e9), "one that is up and tells its speed is a link");
    add("eth1", "device", "down\n", "40000\n");
    ok(finds("eth0", 0.125e9), "one that is down is none");
    add("eth2", "device", "up\n", "10000\n");
    add("eth3", "device", "up\n", "2500\n");
    ok(finds("eth2", 1.25e9), "the fastest counts");
    add("bond0", "bonding", "up\n", "20000\n");
    ok(finds("bond0", 2.5e9), "a bond is a link");
    snprintf(command, sizeof command, "rm -r %s", folder);
    ok(system(command) == 0 && finds(NULL, 0), "without the folder there is no link");
}

int main(void)
{
    test_parse();
    test_find();
    return done_testing();
}
