/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

/* What values each variable takes, and what they come to. */

#include "unit/lib/settings_messages.h"

static const struct cgx_setting *row(const char *name)
{
    const struct cgx_setting *setting;

    for (size_t i = 0; (setting = cgx_settings_row(i)) != NULL; i++)
        if (strcmp(setting->name, name) == 0)
            return setting;
    bail_out("%s has no row", name);
}

/* Whether the two differ for ranks in no word but that of SLOT. */
static bool differ_in(const struct cgx_settings *a, const struct cgx_settings *b, size_t slot)
{
    uint32_t words[2][CGX_SETTINGS_WORDS];
    bool alone = true;

    cgx_settings_words(a, words[0]);
    cgx_settings_words(b, words[1]);
    for (size_t i = 0; i < CGX_SETTINGS_WORDS; i++)
        alone = alone && (words[0][i] != words[1][i]) == (i == slot);
    return alone;
}

static const struct variable {
    const char *name;
    const char *good[10]; /* none of them means the default; files are tested elsewhere */
    const char *bad[20];
} variables[] = {
    {"CGX_ENABLE",
     {"0", "no", "FALSE", "off", "check", "strict", "observe"},
     {"2", "y", "01", "-0", " 1", "1 ", "observed"}},
    {"CGX_COMPRESSION_QUANTIZATION_BITS",
     {"1", "2", "3", "5", "6", "7", "8"},
     {"0", "9", "16", "31", "33", "+4", "-4", "4x", "4.0", "0x4"}},
    {"CGX_CODEC",
     {"maxmin", "MaxMin"},
     {"rotate", "maxmin,uniform", "max-min", "rotated:1", "auto:0.1"}},
    {"CGX_COMPRESSION_MINIMAL_SIZE",
     {"0", "1024", "1025", "4294967296", "18446744073709551615"},
     {"18446744073709551616", "99999999999999999999", "-1", "16k", "1e6", "automatic"}},
    {"CGX_BUFFERS", {"host", "all", "HOST", "All"}, {"gpu", "hos", "hosts", "host,all", "device,"}},
    {"CGX_WARMUP", {"0", "1", "3", "1000000"}, {"1000001", "-1", "two"}},
    {"CGX_RULES", {NULL}, {"/nonexistent/rules", "/dev/null", "/"}},
    {"CGX_FUSION_BUFFER_SIZE_MB", {"1", "1048576"}, {"0", "1048577", "64M", "64.0"}},
    {"CGX_INNER_COMMUNICATOR_TYPE", {"SHM", "P2P", "MPI", "shm"}, {"NCCL", "AUT", "SHM, P2P"}},
    {"CGX_CROSS_REDUCTION_TYPE", {"SRA", "GRID", "grid", "LEADERS"}, {"TREE", "SRAGRID", "RAW"}},
    {"CGX_TOPOLOGY",
     {"flat", "4x2", "1x1", "2147483647x1"},
     {"0x4", "4x0", "4x", "x4", "4X2", "4x2x2", "-4x2", "2147483648x1", "1x2147483648", "ring"}},
    {"CGX_HISTORY", {"0", "1"}, {"2", "never"}},
    {"CGX_LOG", {"error", "info", "debug"}, {"warning", "3", "trace"}},
    {"CGX_STATS", {"stats.json"}, {NULL}},
    {"CGX_TRACE", {"trace.json"}, {NULL}},
};

#define NVARIABLES (sizeof variables / sizeof variables[0])
#define LIST(member) (sizeof variables[0].member / sizeof variables[0].member[0])

static bool takes(const struct variable *variable, const char *value)
{
    char entry[256];
    struct cgx_settings settings, plain = parse("");
    unsigned slot = row(variable->name)->slot;

    snprintf(entry, sizeof entry, "%s=%s", variable->name, value);
    settings = parse(entry);
    if (messages.errors == 0 && settings.valid &&
        differ_in(&settings, &plain, slot == 0 ? CGX_SETTINGS_WORDS : slot))
        return true;
    diag("%s: %s", entry, messages.text);
    return false;
}

/* The message has variable, value, what is allowed, and what happens now. */
static bool refuses(const struct variable *variable, const char *value)
{
    const struct cgx_setting *setting = row(variable->name);
    char entry[256], expected[512];
    struct cgx_settings settings, plain = parse("");

    snprintf(entry, sizeof entry, "%s=%s", variable->name, value);
    snprintf(expected, sizeof expected, "%s=\"%s\" refused: allowed: %s; every call is exact\n",
             variable->name, value, setting->values);
    settings = parse(entry);
    if (!settings.valid && messages.errors == 1 && messages.warnings == 0 &&
        strcmp(messages.text, expected) == 0 && differ_in(&settings, &plain, 0))
        return true;
    diag("%s: %s", entry, messages.text);
    return false;
}

static void test_variable(const struct variable *variable)
{
    bool taken = true, refused = true;

    for (size_t i = 0; i < LIST(good) && variable->good[i] != NULL; i++)
        taken = takes(variable, variable->good[i]) && taken;
    for (size_t i = 0; i < LIST(bad) && variable->bad[i] != NULL; i++)
        refused = refuses(variable, variable->bad[i]) && refused;
    if (variable->good[0] != NULL)
        ok(taken, "%s takes what is allowed, and ranks see it", variable->name);
    ok(refused, "%s refuses anything else by name, and ranks see it", variable->name);
}

static void test_defaults(void)
{
    struct cgx_settings s = parse("");

    ok(silent() && s.valid, "nothing is said of an empty environment");
    ok(s.enable == CGX_ENABLE_YES && s.bits == 4 && s.codec == CGX_FAMILY_UNIFORM &&
           s.minimal_size == 16384 && s.minimal == (16384 | CGX_MINIMAL_AUTO) &&
           s.buffers == CGX_BUFFERS_DEVICE && s.warmup == 2 &&
           s.fusion_buffer_bytes == (uint64_t)64 << 20 && s.cross_reduction == CGX_REDUCTION_AUTO &&
           s.log_level == CGX_LOG_WARN && *s.stats_path == '\0',
       "the settings in effect have their defaults");
    ok(s.rules == 0 && *s.rules_path == '\0', "there are no rules");
    ok(s.inner_transport == CGX_TRANSPORT_AUTO && s.topology == CGX_TOPOLOGY_AUTO,
       "the settings not in effect have their defaults");
}

static void test_dependent_defaults(void)
{
    struct cgx_settings s = parse("CGX_HISTORY=1\nCGX_CODEC=maxmin");

    ok(s.valid && messages.warnings == 1, "a history for max-min quantisation is none");
    s = parse("CGX_PROFILE=bytegrad\nCGX_ROUNDING=stochastic:7\n"
              "CGX_INNER_REDUCTION_TYPE=RAW\nCGX_ERROR_FEEDBACK=1\n"
              "CGX_COMPRESSION_BUCKET_SIZE=64\nCGX_FRAGMENT_BYTES=1024");
    ok(s.valid && s.bits == 4 && messages.warnings == 6, "retired variables change nothing");
}

int main(void)
{
    size_t rows = 0;

    test_defaults();
    test_dependent_defaults();
    for (size_t i = 0; i < NVARIABLES; i++)
        test_variable(&variables[i]);
    while (cgx_settings_row(rows) != NULL)
        rows++;
    ok(rows == NVARIABLES, "every row of the table is tested");
    return done_testing();
}
