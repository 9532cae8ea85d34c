/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

#include "util/settings.h"

#include <stdio.h>
#include <string.h>

#include "util/integers.h"
#include "util/parse.h"

#define PREFIX "CGX_"

/* Longer names are not compared. */
#define NAME_BYTES 64

#define BITS_FOLLOW                                                              \
    "bits follow the data by themselves, layer by layer; CGX_STATS shows them, " \
    "and CGX_ENABLE=observe before anything is compressed"

#define NO_BIAS "uniform quantisation, the default, has no bias"

static const struct retired {
    const char *name, *reason;
} retired[] = {
    {"CGX_DEBUG_ALL_TO_ALL_REDUCTION",
     "it made every rank send its whole buffer to all others, for debugging; "
     "CGX_CROSS_REDUCTION_TYPE chooses the algorithm"},
    {"CGX_DEBUG_DUMMY_COMPRESSION", "it copied data instead of compressing it, for debugging; "
                                    "CGX_ENABLE=0 makes calls exact"},
    {"CGX_COMPRESSION_FAKE_RATIO",
     "it left part of every buffer unreduced, to estimate speed with wrong sums"},
    {"CGX_COMPRESSION_SKIP_INCOMPLETE_BUCKETS", "the last bucket is compressed too"},
    {"CGX_REMOTE_BUF_COMPRESSION",
     "it compressed directly into other ranks' shared memory, which is no choice in this library"},
    {"CGX_CROSS_COMMUNICATOR_TYPE", "data between nodes always goes through the program's own MPI"},
    {"CGX_ADAPTIVE", BITS_FOLLOW},
    {"CGX_ADAPTIVE_BITS", BITS_FOLLOW},
    {"CGX_ADAPTIVE_BUDGET", BITS_FOLLOW},
    {"CGX_ADAPTIVE_PERIOD", BITS_FOLLOW},
    {"CGX_CHECK", "set CGX_ENABLE=observe"},
    {"CGX_COMPRESSION_BUCKET_SIZE", "buckets have 128 elements"},
    {"CGX_CONSENSUS", "for 0, say '-> consensus=off' in the file that CGX_RULES names"},
    {"CGX_ERROR_FEEDBACK", NO_BIAS},
    {"CGX_FRAGMENT_BYTES", "messages through MPI are cut as the network's speed has it"},
    {"CGX_INNER_REDUCTION_TYPE", "ranks of a node sum by scatter-reduce-allgather (SRA)"},
    {"CGX_INTRA_BROADCAST", "for 1, set CGX_CROSS_REDUCTION_TYPE=LEADERS"},
    {"CGX_INTRA_COMPRESS", "data is compressed inside nodes too"},
    {"CGX_PROFILE", "set what it stood for: see torch_cgx and ByteGrad in cgx-tuning(7)"},
    {"CGX_ROUNDING", NO_BIAS},
    {"CGX_SEED", NO_BIAS},
    {"CGX_STATS_INTERVAL", "statistics are written every 10 steps at first, then every 100"},
    {"CGX_SYNC",
     "calls wait for the legacy default stream and the streams that synchronise with it; "
     "synchronise other streams in the program, as for any MPI"},
};

/* Retired values, which are compared up to and with a colon. A value with a SUCCESSOR, another
 * value of the variable, is accepted; others are refused. */
static const struct cgx_retired_value retired_values[] = {
    {"CGX_CODEC", "rotated", .successor = "uniform"},
    {"CGX_CODEC", "uniform:", .successor = "uniform"},
    {"CGX_COMPRESSION_QUANTIZATION_BITS", "32", .instead = "CGX_ENABLE=0"},
    {"CGX_CROSS_REDUCTION_TYPE", "RING", .successor = "SRA"},
    {"CGX_ENABLE", "check", .successor = "observe"},
    {"CGX_INNER_COMMUNICATOR_TYPE", "FUSED", .successor = "P2P"},
    {"CGX_STATS", "-", .successor = "cgx-stats.json"},
};

const char *cgx_names_alias(const char *name)
{
    return strcmp(name, "CGX_COMPRESSION_QUANTIZATION_BITS") == 0 ? "CGX_BITS" : NULL;
}

/* The edit distance (Levenshtein) of A, which has LENGTH characters, and B, ignoring case. Both are
 * shorter than NAME_BYTES. */
static size_t edit_distance(const char *a, size_t length, const char *b)
{
    size_t row[NAME_BYTES];
    size_t width = strlen(b);

    for (size_t j = 0; j <= width; j++)
        row[j] = j;
    for (size_t i = 0; i < length; i++) {
        size_t diagonal = row[0];

        row[0] = i + 1;
        for (size_t j = 0; j < width; j++) {
            bool differ = cgx_parse_lower(a[i]) != cgx_parse_lower(b[j]);
            size_t replaced = diagonal + differ;

            diagonal = row[j + 1];
            row[j + 1] = cgx_smaller(replaced, cgx_smaller(row[j], row[j + 1]) + 1);
        }
    }
    return row[width];
}

static const char *nearest_name(const char *name, size_t length, cgx_names_known *known)
{
    const char *found = NULL;
    /* At most a third of the characters behind the prefix may be wrong. */
    size_t bound = (length - (sizeof PREFIX - 1)) / 3 + 1;
    const struct cgx_setting *row;

    if (length >= NAME_BYTES)
        return NULL;
    for (size_t i = 0; (row = known(i)) != NULL; i++) {
        const char *names[] = {row->name, cgx_names_alias(row->name)};

        for (size_t j = 0; j < 2 && names[j]; j++) {
            size_t edits = edit_distance(name, length, names[j]);

            if (edits < bound) {
                bound = edits;
                found = names[j];
            }
        }
    }
    return found;
}

static bool equals_name(const char *name, size_t length, const char *known)
{
    return strlen(known) == length && strncmp(name, known, length) == 0;
}

bool cgx_names_explain(const char *entry, cgx_names_known *known, char *message, size_t size)
{
    size_t length = strcspn(entry, "=");
    char name[NAME_BYTES + 1], shown[CGX_PRINTABLE_BYTES];
    const char *meant;

    if (strncmp(entry, PREFIX, sizeof PREFIX - 1) != 0 || entry[length] != '=')
        return false;
    meant = nearest_name(entry, length, known);
    if (meant && equals_name(entry, length, meant))
        return false;
    for (size_t i = 0; i < sizeof retired / sizeof retired[0]; i++) {
        if (equals_name(entry, length, retired[i].name)) {
            snprintf(message, size, "%s is retired: %s", retired[i].name, retired[i].reason);
            return true;
        }
    }
    snprintf(name, sizeof name, "%.*s", (int)cgx_smaller(length, NAME_BYTES), entry);
    cgx_printable(name, shown);
    if (meant)
        snprintf(message, size, "%s is not a variable of this library; is %s meant?", shown, meant);
    else
        snprintf(message, size, "%s is not a variable of this library", shown);
    return true;
}

struct cgx_retired_value cgx_names_value(const char *name, const char *text)
{
    size_t before = strcspn(text, ":"), length = before + (text[before] == ':');
    char word[NAME_BYTES];
    uint64_t index;

    snprintf(word, sizeof word, "%.*s", (int)cgx_smaller(length, NAME_BYTES), text);
    for (size_t i = 0; i < sizeof retired_values / sizeof retired_values[0]; i++)
        if (strcmp(name, retired_values[i].name) == 0 &&
            cgx_parse_choice(word, retired_values[i].value, &index))
            return retired_values[i];
    return (struct cgx_retired_value){0};
}
