/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

/* What the environment as a whole comes to: fields, words, messages, names. */

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "unit/lib/settings_messages.h"

static bool said(unsigned errors, unsigned warnings, const char *text)
{
    bool equal = messages.errors == errors && messages.warnings == warnings &&
                 strcmp(messages.text, text) == 0;

    if (!equal)
        diag("%u errors, %u warnings: %s", messages.errors, messages.warnings, messages.text);
    return equal;
}

static bool same_words(const char *a, const char *b)
{
    uint32_t words[2][CGX_SETTINGS_WORDS];
    struct cgx_settings settings = parse(a);

    cgx_settings_words(&settings, words[0]);
    settings = parse(b);
    cgx_settings_words(&settings, words[1]);
    return memcmp(words[0], words[1], sizeof words[0]) == 0;
}

static void test_fields(void)
{
    struct cgx_settings s = parse("CGX_ENABLE=0\nCGX_COMPRESSION_QUANTIZATION_BITS=7\n"
                                  "CGX_COMPRESSION_MINIMAL_SIZE=5000000000\n"
                                  "CGX_FUSION_BUFFER_SIZE_MB=8192");

    ok(!s.enable && s.bits == 7 && s.minimal_size == 5000000000u &&
           s.fusion_buffer_bytes == (uint64_t)8 << 30 && silent(),
       "numbers reach their fields");
    s = parse("CGX_BUFFERS=host\n"
              "CGX_CROSS_REDUCTION_TYPE=GRID\nCGX_WARMUP=0\nCGX_LOG=debug");
    ok(s.buffers == CGX_BUFFERS_HOST && s.cross_reduction == CGX_REDUCTION_GRID && s.warmup == 0 &&
           s.log_level == CGX_LOG_DEBUG && silent(),
       "words reach their fields");
    ok(parse("CGX_BUFFERS=all").buffers == CGX_BUFFERS_ALL, "CGX_BUFFERS=all means both kinds");
    s = parse("CGX_ENABLE=observe\nCGX_CODEC=maxmin");
    ok(s.enable == CGX_ENABLE_OBSERVE && s.codec == CGX_FAMILY_MAXMIN && silent(),
       "the policy's settings reach their fields");
    s = parse("CGX_TOPOLOGY=4x2\nCGX_INNER_COMMUNICATOR_TYPE=P2P\n"
              "CGX_CROSS_REDUCTION_TYPE=LEADERS");
    ok(s.topology == ((uint64_t)4 << 32 | 2) && s.inner_transport == CGX_TRANSPORT_P2P &&
           s.cross_reduction == CGX_REDUCTION_LEADERS && silent(),
       "those of nodes reach their fields");
    ok(parse("CGX_TOPOLOGY=flat").topology == CGX_TOPOLOGY_FLAT, "CGX_TOPOLOGY=flat is told apart");
    ok(parse("CGX_COMPRESSION_MINIMAL_SIZE=5").minimal_size == 1024,
       "a minimal size below 1024 means 1024");
    s = parse("CGX_WARMUP=5\nCGX_WARMUP=6");
    ok(s.warmup == 5, "of two entries with one name the first counts, as in getenv");
    s = parse("CGX_WARMUP=x\nCGX_LOG=debug");
    ok(!s.valid && s.warmup == 2 && s.log_level == CGX_LOG_DEBUG,
       "a refused value leaves the default");
}

static void test_words(void)
{
    uint32_t words[CGX_SETTINGS_WORDS];
    struct cgx_settings s = parse("CGX_COMPRESSION_MINIMAL_SIZE=7777\nCGX_WARMUP=9");
    bool known = true;

    cgx_settings_words(&s, words);
    for (size_t i = 0; i < CGX_SETTINGS_WORDS; i++) {
        const char *name = cgx_settings_slot_name(i);

        if (name == NULL)
            known = known && words[i] == 0;
        else if (strcmp(name, "CGX_COMPRESSION_MINIMAL_SIZE") == 0)
            known = known && words[i] == 7777 && i == 4;
        else if (strcmp(name, "CGX_WARMUP") == 0)
            known = known && words[i] == 9 && i == 7;
    }
    ok(known, "small numbers are their own words in their own slots, free slots are 0");
    ok(cgx_settings_slot_name(0) != NULL && cgx_settings_slot_name(CGX_SETTINGS_WORDS) == NULL,
       "slots have names as far as there are any");
    ok(same_words("CGX_COMPRESSION_MINIMAL_SIZE=1", "CGX_COMPRESSION_MINIMAL_SIZE=1024"),
       "values that mean the same have the same word");
    ok(same_words("CGX_CODEC=auto", "CGX_CODEC=uniform") && !same_words("CGX_CODEC=maxmin", "A=B"),
       "so have words for one family, and each family has its own");
    ok(same_words("CGX_BITS=8\nCGX_HISTORY=yes",
                  "CGX_COMPRESSION_QUANTIZATION_BITS=8\nCGX_HISTORY=1") &&
           silent(),
       "so have two names of a variable, and two words for a boolean");
    ok(same_words("CGX_LOG=debug\nCGX_STATS=-\nCGX_TRACE=t", "A=B"),
       "settings that change no results have no word");
}

/* Writes CONTENT into a new file and returns the setting that names it. */
static const char *rules_file(const char *content, char entry[64])
{
    int file;

    strcpy(entry, "CGX_RULES=" P_tmpdir "/cgx-rules-XXXXXX");
    file = mkstemp(strchr(entry, '/'));
    if (file < 0 || write(file, content, strlen(content)) != (ssize_t)strlen(content))
        bail_out("no temporary file");
    close(file);
    return entry;
}

static void test_rules(void)
{
    char entries[3][64];
    char *path;

    rules_file("count=4096 -> bits=8\n", entries[0]);
    rules_file("count=4096 -> bits=8\n", entries[1]);
    rules_file("count=4096 -> bits=7\n", entries[2]);
    ok(parse(entries[0]).valid && parse(entries[0]).rules != 0, "CGX_RULES takes a file");
    ok(same_words(entries[0], entries[1]), "rules of the same content in two files are the same");
    ok(!same_words(entries[0], entries[2]), "rules are compared by content");
    ok(strcmp(parse(entries[0]).rules_path, strchr(entries[0], '/')) == 0,
       "the path of the rules is kept");
    for (int i = 0; i < 3; i++) {
        path = strchr(entries[i], '/');
        unlink(path);
    }
}

static void test_paths(void)
{
    char entry[] = "CGX_STATS=out/stats.json", path[CGX_SETTINGS_PATH_BYTES + 16] = "CGX_STATS=";
    char *environment[] = {entry, NULL}, *longest[] = {path, NULL};
    struct cgx_settings settings;
    size_t begin = strlen(path);

    cgx_settings_parse(environment, collect, &messages, &settings);
    memset(entry, 'x', sizeof entry - 1);
    ok(strcmp(settings.stats_path, "out/stats.json") == 0,
       "the path of the statistics is kept when the environment changes");
    ok(strcmp(parse("CGX_TRACE=t.json").trace_path, "t.json") == 0,
       "so is that of the timeline, which is written");
    memset(path + begin, 'x', CGX_SETTINGS_PATH_BYTES - 1);
    cgx_settings_parse(longest, collect, &messages, &settings);
    ok(settings.valid && strcmp(settings.stats_path, path + begin) == 0,
       "a path may be as long as there is room");
    path[begin + CGX_SETTINGS_PATH_BYTES - 1] = 'x';
    messages.settings = &settings;
    cgx_settings_parse(longest, collect, &messages, &settings);
    ok(!settings.valid && *settings.stats_path == '\0', "a longer one is refused, not cut");
}

/* Each is accepted, means what the other says, and has one warning. */
static const struct {
    const char *retired, *meant, *said;
} retired[] = {
    {"CGX_INNER_COMMUNICATOR_TYPE=fused", "CGX_INNER_COMMUNICATOR_TYPE=P2P", "P2P is used"},
    {"CGX_ENABLE=check", "CGX_ENABLE=observe", "retired value, observe is used"},
    {"CGX_CROSS_REDUCTION_TYPE=ring", "CGX_CROSS_REDUCTION_TYPE=SRA", "SRA is used"},
    {"CGX_CODEC=uniform:0.1", "CGX_CODEC=uniform", "uniform is used"},
    {"CGX_CODEC=ROTATED", "CGX_CODEC=uniform", "uniform is used"},
    {"CGX_ADAPTIVE=bits=3:8", "A=B", "CGX_ADAPTIVE is retired: bits follow the data"},
    {"CGX_CONSENSUS=0", "A=B", "'-> consensus=off'"},
    {"CGX_DEBUG_ALL_TO_ALL_REDUCTION=1", "A=B", "CGX_DEBUG_ALL_TO_ALL_REDUCTION is retired: "},
    {"CGX_DEBUG_DUMMY_COMPRESSION=1", "A=B", "CGX_DEBUG_DUMMY_COMPRESSION is retired: "},
    {"CGX_COMPRESSION_FAKE_RATIO=0.5", "A=B", "CGX_COMPRESSION_FAKE_RATIO is retired: "},
    {"CGX_REMOTE_BUF_COMPRESSION=1", "A=B", "CGX_REMOTE_BUF_COMPRESSION is retired: "},
    {"CGX_CROSS_COMMUNICATOR_TYPE=NCCL", "A=B", "CGX_CROSS_COMMUNICATOR_TYPE is retired: "},
};

static void test_retired(void)
{
    for (size_t i = 0; i < sizeof retired / sizeof retired[0]; i++)
        ok(same_words(retired[i].meant, retired[i].retired) && messages.errors == 0 &&
               messages.warnings == 1 && strstr(messages.text, retired[i].said),
           "%s is accepted, with what takes its place", retired[i].retired);
    ok(strcmp(parse("CGX_STATS=-").stats_path, "cgx-stats.json") == 0 && messages.warnings == 1,
       "a table on stderr is a file");
    ok(!parse("CGX_COMPRESSION_QUANTIZATION_BITS=32").valid && messages.errors == 1 &&
           strstr(messages.text, "every call is exact") &&
           strstr(messages.text, "set CGX_ENABLE=0"),
       "a retired value without one is refused, with what to set instead");
    parse("CGX_BUFFERS=cpu\nCGX_ENABLE=strict");
    ok(messages.errors == 1 && strstr(messages.text, "the job ends (CGX_ENABLE=strict)"),
       "with CGX_ENABLE=strict the line says that the job ends");
    parse("CGX_BUFFERS=cpu\nCGX_ENABLE=stric");
    ok(messages.errors == 2 && !strstr(messages.text, "the job ends"),
       "a value of CGX_ENABLE that is refused is not strict");
    parse("CGX_INNER_COMMUNICATOR_TYPE=fast");
    ok(messages.errors == 1 && !strstr(messages.text, "retired"), "others were never allowed");
}

static void test_messages(void)
{
    static const char with_controls[] = "CGX_WARMUP=1\t2\033[31m";
    char entry[512];

    parse("CGX_LOG=error\nCGX_LOGS=1");
    ok(messages.log_level == CGX_LOG_ERROR, "the log level is known before the first message");
    parse("CGX_WARMUP=x\nCGX_TOPOLOGY=y\nCGX_LOGS=1");
    ok(messages.errors == 2 && messages.warnings == 1, "each problem has its message");
    parse(with_controls);
    ok(strstr(messages.text, "\"1?2?[31m\"") != NULL, "control characters are not repeated");
    parse("CGX_BITS=9");
    ok(strncmp(messages.text, "CGX_BITS=\"9\" refused: allowed: 1-8", 34) == 0,
       "a refused variable has the name that the user set");
    parse("CGX_BITS=9\nCGX_COMPRESSION_QUANTIZATION_BITS=10");
    ok(strstr(messages.text, "CGX_COMPRESSION_QUANTIZATION_BITS=\"10\" refused") != NULL &&
           messages.errors == 1,
       "where both are set it is the one that counts");
    memset(entry, '9', sizeof entry);
    memcpy(entry, "CGX_BITS=", 9);
    entry[sizeof entry - 1] = '\0';
    parse(entry);
    ok(strstr(messages.text, "99...\" refused") != NULL && strlen(messages.text) < 200,
       "a long value is cut");
}

static void test_names(void)
{
    parse("CGX_ENABEL=1");
    ok(said(0, 1, "CGX_ENABEL is not a variable of this library; is CGX_ENABLE meant?\n"),
       "a mistyped name is warned of with the nearest one");
    parse("CGX_COMPRESSION_QUANTISATION_BIT=4");
    ok(strstr(messages.text, "is CGX_COMPRESSION_QUANTIZATION_BITS meant?") != NULL,
       "two letters of a long name may be wrong");
    parse("CGX_BITZ=8");
    ok(strstr(messages.text, "is CGX_BITS meant?") != NULL, "the short name of a variable is near");
    parse("CGX_warmup=4");
    ok(strstr(messages.text, "is CGX_WARMUP meant?") != NULL, "lower case is a misspelling");
    parse("CGX_COLOUR=red");
    ok(said(0, 1, "CGX_COLOUR is not a variable of this library\n"),
       "no name is suggested where none is near");
    parse("CGXRUN_LIBRARY=x\nCGX=1\nXCGX_ENABLE=2\ncgx_enable=3\nPATH=/bin\nCGX_ENABEL");
    ok(silent(), "only names that begin with CGX_ are looked at");
    parse("CGX_ENABLE=1\nCGX_ENABLE2=1\nCGX_ENABL=1");
    ok(messages.warnings == 2, "a known name with more or less behind it is unknown");
}

static void test_surroundings(void)
{
    struct cgx_settings s;

    setenv("CGX_ENABLE", "0", 1);
    setenv("CGX_WARMUP", "x", 1);
    s = parse("A=B");
    ok(s.enable && s.valid, "only the environment that is passed is read");
    cgx_settings_parse(NULL, collect, &messages, &s);
    ok(s.enable && s.valid && silent(), "an environment that was cleared is empty");
    ok(cgx_log_level() == CGX_LOG_WARN && parse("CGX_LOG=debug").log_level == CGX_LOG_DEBUG &&
           cgx_log_level() == CGX_LOG_WARN,
       "parsing sets no log level");
}

int main(void)
{
    test_fields();
    test_words();
    test_rules();
    test_paths();
    test_retired();
    test_messages();
    test_names();
    test_surroundings();
    return done_testing();
}
