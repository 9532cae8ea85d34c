/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

/* Links for cgx-info --measure, as text. What it makes of a link and of speeds: figures worked out
 * by hand, for 4 ranks. Real numbers. */
#include "../../../tools/info.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/tap.h"

static void test_positive(void)
{
    static const char *const junk[] = {"",   " 1",  "1 ",   "+1",  "-1",    "-0",  ".",  "e5",
                                       "1e", "1,5", "0x10", "inf", "1e999", "nan", "1.."};
    static const char *const zeros[] = {"0", "0.0", ".0", "0e7", "00"};
    bool refused = true, zero = true;
    double value = 7;

    ok(info_positive_parse("2.5e-3", &value) && value == 2.5e-3, "positive numbers are taken");
    value = 7;
    for (size_t i = 0; i < sizeof zeros / sizeof zeros[0]; i++)
        zero = zero && !info_positive_parse(zeros[i], &value) && value == 7;
    ok(zero, "zero is not positive");
    for (size_t i = 0; i < sizeof junk / sizeof junk[0]; i++)
        refused = refused && !info_positive_parse(junk[i], &value);
    ok(refused && value == 7, "anything else is not, and changes nothing");
}

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

/* ---- a model: a link of 1 byte/ns is one of 8 Gbit/s ---- */

static const struct info_model model = {
    .bytes_per_ns = 1.0, .latency_ns = 50e3, .header_bytes = 4.0 / 512};

static bool near(double value, double expected)
{
    return fabs(value - expected) < 1e-9 * expected;
}

/* The codec's time is 2 x encode for speeds that are all alike. */
static void set_all(struct info_speed speeds[INFO_WIDTHS], double time)
{
    for (unsigned i = 0; i < INFO_WIDTHS; i++)
        speeds[i] = (struct info_speed){time / 2, time / 2, time / 2};
}

static void test_times(void)
{
    const struct info_model fast = {.bytes_per_ns = 12.5, .header_bytes = 4.0 / 64};
    const struct info_speed speed = {.encode = 4, .decode = 10, .reduce = 8};

    ok(near(info_exact_time(&model), 6), "an exact element has 1.5 times 4 bytes on the wire");
    ok(near(info_wire_time(&model, 4), 1.5 * (0.5 + 4.0 / 512)),
       "a compressed one its bits and its part of a header");
    ok(near(info_wire_time(&fast, 8), 1.5 * (1 + 4.0 / 64) / 12.5),
       "headers are those of the buckets, bytes those of the link");
    ok(near(info_codec_time(&speed), 3 + 2 + 10),
       "three quarters are encoded, one is summed, all are decoded");
    ok(info_codec_time(NULL) == 0, "a codec that is not measured is free");
}

/* At 4 bits the wire takes 0.7617 ns, at 8 bits 1.5117. */
static void test_width(void)
{
    struct info_speed speeds[INFO_WIDTHS];

    ok(info_width(&model, NULL) == 4, "with a free codec the width is 4");
    set_all(speeds, 0.76);
    ok(info_width(&model, speeds) == 4, "... and where the wire takes longer than the codec");
    speeds[4] = (struct info_speed){0};
    ok(info_width(&model, speeds) == 4, "... even if another width is encoded in no time");
    set_all(speeds, 0.77);
    ok(info_width(&model, speeds) == 4, "... and where the codec does, but more bits cost time");
    set_all(speeds, 5.0);
    ok(info_width(&model, speeds) == 5, "a bit that costs less than a twentieth is taken");
    set_all(speeds, 50.0);
    ok(info_width(&model, speeds) == 8, "... and all of them where they cost nothing");
    speeds[7].encode = 60;
    ok(info_width(&model, speeds) == 7, "... but those that are slow to encode");
}

/* Compression saves 5.2383 ns an element at 4 bits, and costs 100 us. */
static void test_minimal_size(void)
{
    struct info_model other = model;
    struct info_speed speed = {0, 4, 0};
    uint64_t elements = 1;

    ok(info_minimal_size(&model, 4, NULL, &elements) && elements == 32768,
       "19090 elements save what two rounds cost: 32768");
    ok(info_minimal_size(&model, 4, &speed, &elements) && elements == 131072,
       "with a codec it is 80758: 131072");
    other.latency_ns = 1;
    ok(info_minimal_size(&other, 4, NULL, &elements) && elements == 1024, "it is at least 1024");
    speed.decode = 5.3;
    elements = 1;
    ok(!info_minimal_size(&model, 4, &speed, &elements) && elements == 1,
       "a codec that takes longer than it saves never pays");
    other.latency_ns = 1e300;
    ok(!info_minimal_size(&other, 4, NULL, &elements), "nor does it with endless latency");
}

int main(void)
{
    test_positive();
    test_parse();
    test_times();
    test_width();
    test_minimal_size();
    return done_testing();
}
