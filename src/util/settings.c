/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

#include "util/settings.h"

#include <stdio.h>
#include <string.h>

#include "util/hash.h"
#include "util/log.h"
#include "util/parse.h"

/* clang-format off */
#define FIELD(member) \
    .offset = offsetof(struct cgx_settings, member), \
    .size = sizeof(((struct cgx_settings *)NULL)->member)
#define PATH(member) .path = offsetof(struct cgx_settings, member)

/* A new variable takes the next free slot. The slot of a removed variable stays empty. */
static const struct cgx_key rows[] = {
    {{"CGX_HISTORY", "0, 1, auto", "auto",
      "1: elements are quantised relative to earlier sums at the same position of the step; "
      "auto: in host memory, and on devices where it takes little of the free memory", 28},
     cgx_value_choice, FIELD(history)},
    {{"CGX_ENABLE", "0, 1, strict, observe", "1",
      "0: every call is exact; strict: a refused value ends the job; observe: every call is exact, and "
      "statistics show what compression would do", 1},
     cgx_value_choice, FIELD(enable)},
    {{"CGX_COMPRESSION_QUANTIZATION_BITS", "1-8", "4",
      "bits per element; uniform quantisation takes fewer or more, for the error of as many", 2},
     cgx_value_integer, 1, 8, FIELD(bits)},
    {{"CGX_CODEC", CGX_CODECS, "auto",
      "how elements are quantised; uniform (auto): with one step for all, in as many bits as each "
      "layer needs; maxmin: in buckets with a scale each", 26},
     cgx_value_codec, FIELD(codec)},
    {{"CGX_COMPRESSION_MINIMAL_SIZE", "auto, or a number of elements", "auto",
      "smaller calls are exact; values below 1024 mean 1024; auto: 16384, and more if "
      "smaller calls are faster exact", 4},
     cgx_value_elements, 1024, 16384, FIELD(minimal)},
    {{"CGX_BUFFERS", "device, host, all", "device",
      "which buffers are compressed; both buffers of a call must be of this kind", 6},
     cgx_value_choice, FIELD(buffers)},
    {{"CGX_WARMUP", "0-1000000", "2",
      "repeats of the program's step before its calls are compressed; 0: all calls are compressed at once", 7},
     cgx_value_integer, 0, 1000000, FIELD(warmup)},
    {{"CGX_RULES", "a file that can be read", "",
      "rules: what recurs, what is exact, steps, layers and their widths", 14},
     cgx_value_content, FIELD(rules), PATH(rules_path)},
    {{"CGX_FUSION_BUFFER_SIZE_MB", "1-1048576", "64",
      "MiB: upper bound on the staging memory of one call; larger calls are cut into slices", 15},
     cgx_value_mebibytes, 1, 1048576, FIELD(fusion_buffer_bytes)},
    {{"CGX_INNER_COMMUNICATOR_TYPE", "AUTO, SHM, P2P, MPI", "AUTO",
      "transport inside a node: host shared memory, CUDA IPC, or MPI", 16},
     cgx_value_choice, FIELD(inner_transport)},
    {{"CGX_CROSS_REDUCTION_TYPE", "SRA, GRID, AUTO, LEADERS", "AUTO",
      "algorithm between nodes: scatter-reduce-allgather; GRID: SRA along rows and columns of "
      "nodes; AUTO: SRA, or GRID for small sums on many nodes; LEADERS: AUTO, by one rank per node", 18},
     cgx_value_choice, FIELD(cross_reduction)},
    {{"CGX_TOPOLOGY", "auto, flat, or NxL", "auto",
      "nodes: by host, every rank its own, or N nodes of L ranks each, in the order of ranks", 21},
     cgx_value_topology, 1, INT32_MAX, FIELD(topology)},
    {{"CGX_LOG", "error, warn, info, debug", "warn",
      "how much is written to stderr", 0},
     cgx_value_choice, FIELD(log_level)},
    {{"CGX_STATS", "a file", "", "statistics for cgx-report: JSON, written regularly and at the end", 0},
     cgx_value_path, PATH(stats_path)},
    {{"CGX_TRACE", "a file", "",
      "timeline in Chrome's trace-event format", 0},
     cgx_value_path, PATH(trace_path)},
};
/* clang-format on */
#define NROWS (sizeof rows / sizeof rows[0])

const struct cgx_setting *cgx_settings_row(size_t index)
{
    return index < NROWS ? &rows[index].about : NULL;
}

/* The value of NAME in ENVIRONMENT, the first of several, as in getenv; NULL: unset or empty. */
static const char *find_variable(char *const environment[], const char *name)
{
    size_t length = strlen(name);

    for (size_t i = 0; environment[i]; i++)
        if (strncmp(environment[i], name, length) == 0 && environment[i][length] == '=')
            return environment[i][length + 1] != '\0' ? environment[i] + length + 1 : NULL;
    return NULL;
}

/* What ENVIRONMENT has for a row. */
struct given {
    const char *name;  /* the variable, or its alias */
    const char *text;  /* NULL: unset or empty */
    const char *taken; /* that, or the successor of a retired value */
};

static struct given find_given(const struct cgx_key *row, char *const environment[])
{
    const char *name = row->about.name, *alias = cgx_names_alias(name);
    struct given given = {.name = name, .text = find_variable(environment, name)};

    if (!given.text && alias)
        given = (struct given){.name = alias, .text = find_variable(environment, alias)};
    if (given.text)
        given.taken = cgx_names_value(name, given.text).successor;
    if (!given.taken)
        given.taken = given.text;
    return given;
}

/* Sets the fields of ROW from TEXT, or to its default if TEXT is NULL or refused. False if it is
 * refused. */
static bool read_row(const struct cgx_key *row, const char *text, struct cgx_settings *settings)
{
    cgx_key_read(row, row->about.initial, settings); /* this leaves 0 if the default is "" */
    if (!text)
        return true;
    if (!cgx_key_read(row, text, settings))
        return false;
    if (row->path != 0)
        strcpy((char *)settings + row->path, text);
    return true;
}

const char *cgx_settings_consequence(const struct cgx_settings *settings, const char *otherwise)
{
    return settings->enable == CGX_ENABLE_STRICT ? "the job ends (CGX_ENABLE=strict)" : otherwise;
}

static void report_refused(const struct cgx_setting *about, const struct given *given,
                           const char *then, cgx_settings_report *report, void *context)
{
    char copy[CGX_PRINTABLE_BYTES], message[512];
    const char *instead = cgx_names_value(about->name, given->text).instead;

    snprintf(message, sizeof message, "%s=\"%s\" refused: allowed: %s; %s%s%s", given->name,
             cgx_printable(given->text, copy), about->values, then,
             instead ? "; this value is retired: set " : "", instead ? instead : "");
    report(context, CGX_LOG_ERROR, message);
}

void cgx_settings_parse(char *const environment[], cgx_settings_report *report, void *context,
                        struct cgx_settings *settings)
{
    static char *const empty[] = {NULL};
    struct given given[NROWS];
    bool good[NROWS];
    const char *then;
    char message[512];

    if (!environment) /* clearenv sets environ to NULL */
        environment = empty;
    memset(settings, 0, sizeof *settings);
    settings->valid = true;
    for (size_t i = 0; i < NROWS; i++) {
        given[i] = find_given(&rows[i], environment);
        good[i] = read_row(&rows[i], given[i].taken, settings);
        settings->valid = settings->valid && good[i];
    }
    settings->minimal_size = settings->minimal & ~CGX_MINIMAL_AUTO;
    then = cgx_settings_consequence(settings, "every call is exact");
    for (size_t i = 0; i < NROWS; i++) {
        if (!good[i]) {
            report_refused(&rows[i].about, &given[i], then, report, context);
        } else if (given[i].taken != given[i].text) {
            snprintf(message, sizeof message, "%s: retired value, %s is used", given[i].name,
                     given[i].taken);
            report(context, CGX_LOG_WARN, message);
        }
    }
    if (settings->history == CGX_HISTORY_ALWAYS && settings->codec == CGX_FAMILY_MAXMIN)
        report(context, CGX_LOG_WARN,
               "CGX_HISTORY=1: sums with CGX_CODEC=maxmin keep no history, those with uniform do");
    for (size_t i = 0; environment[i]; i++)
        if (cgx_names_explain(environment[i], cgx_settings_row, message, sizeof message))
            report(context, CGX_LOG_WARN, message);
}

void cgx_settings_words(const struct cgx_settings *settings, uint32_t words[CGX_SETTINGS_WORDS])
{
    memset(words, 0, CGX_SETTINGS_WORDS * sizeof words[0]);
    words[0] = !settings->valid;
    for (size_t i = 0; i < NROWS; i++) {
        uint64_t value = 0;

        memcpy(&value, (const unsigned char *)settings + rows[i].offset, rows[i].size);
        if (rows[i].about.slot != 0)
            words[rows[i].about.slot] = value <= UINT32_MAX
                                            ? (uint32_t)value
                                            : cgx_hash(CGX_HASH_START, &value, sizeof value);
    }
}

const char *cgx_settings_slot_name(size_t slot)
{
    if (slot == 0)
        return "whether all values are accepted";
    for (size_t i = 0; i < NROWS; i++)
        if (rows[i].about.slot == slot)
            return rows[i].about.name;
    return NULL;
}

bool cgx_settings_text(size_t index, char *const environment[], const char **text)
{
    struct cgx_settings tried;

    *text = find_given(&rows[index], environment).taken;
    return !*text || cgx_key_read(&rows[index], *text, &tried);
}
