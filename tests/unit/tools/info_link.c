/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

/* Links for cgx-info --measure, as text. */
#include "../../../tools/info.h"

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

int main(void)
{
    test_parse();
    return done_testing();
}
