/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

/* The CGX_ variables. One table in settings.c has a row for each: name, type, default, range, one
 * line of documentation, and the slot of the record in which ranks compare it. The man page,
 * cgx-info --settings, the start-up check and the agreement between ranks all come from it. */
#ifndef CGX_UTIL_SETTINGS_H
#define CGX_UTIL_SETTINGS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "util/setting.h"

enum cgx_enable {
    CGX_ENABLE_NO,
    CGX_ENABLE_YES,
    CGX_ENABLE_CHECK,  /* and compare */
    CGX_ENABLE_STRICT, /* a mistake ends the job */
    CGX_ENABLE_OBSERVE /* compress beside exact calls, for the statistics alone */
};
enum cgx_buffers { CGX_BUFFERS_DEVICE, CGX_BUFFERS_HOST, CGX_BUFFERS_ALL };
enum cgx_rounding { CGX_ROUNDING_NEAREST, CGX_ROUNDING_STOCHASTIC };
enum cgx_reduction {
    CGX_REDUCTION_SRA,
    CGX_REDUCTION_RING,
    CGX_REDUCTION_GRID, /* between nodes: SRA in rows of nodes, and between rows */
    CGX_REDUCTION_AUTO  /* between nodes: SRA, or GRID where that takes less time */
};
enum cgx_transport { CGX_TRANSPORT_AUTO, CGX_TRANSPORT_SHM, CGX_TRANSPORT_P2P, CGX_TRANSPORT_MPI };
enum cgx_profile { CGX_PROFILE_CGX, CGX_PROFILE_BYTEGRAD, CGX_PROFILE_TORCH_CGX };
/* How elements are quantised; the table of families (codec/quantiser.h) has this order. */
enum cgx_family {
    CGX_FAMILY_MAXMIN,
    CGX_FAMILY_ROTATED,
    CGX_FAMILY_UNIFORM,
    CGX_FAMILY_AUTO /* as the data says, of the first two */
};
#define CGX_CODECS "maxmin, rotated, uniform, auto" /* their names */
enum cgx_minimal { CGX_MINIMAL_SAID, CGX_MINIMAL_AUTO /* more where that takes less time */ };

enum cgx_history_kept {
    CGX_HISTORY_NEVER,
    CGX_HISTORY_ALWAYS,
    CGX_HISTORY_AUTO /* where it takes little of the memory that is free */
};

#define CGX_FRAGMENT_AUTO 0

/* Of topology; other values are nodes << 32 | ranks per node. */
#define CGX_TOPOLOGY_AUTO 0
#define CGX_TOPOLOGY_FLAT 1

struct cgx_settings {
    enum cgx_enable enable;
    unsigned bits;         /* 1-8 */
    enum cgx_family codec; /* of widths that it has */
    float error_bound;    /* behind CODEC, whose value has both; of uniform quantisation. 0: none */
    unsigned bucket_size; /* elements, a power of two; of max-min quantisation */
    uint64_t minimal_size; /* elements, at least 1024 */
    enum cgx_minimal minimal_kind;
    bool skip_incomplete_buckets;
    enum cgx_buffers buffers;
    unsigned warmup; /* steps */
    enum cgx_rounding rounding;
    double consensus; /* how far ranks are from their mean, squared and relative; 0: not asked */
    uint64_t seed;    /* of stochastic rounding, below 2^63 */
    uint64_t fusion_buffer_bytes;
    unsigned fragment_bytes; /* CGX_FRAGMENT_AUTO: as the network is */
    enum cgx_reduction inner_reduction, cross_reduction;
    uint32_t raw;     /* 1: inside a node elements go as they are to who sums them (RAW) */
    uint32_t leaders; /* 1: between nodes one rank of each exchanges data (LEADERS) */
    enum cgx_transport inner_transport;
    uint64_t topology;
    bool adaptive;
    uint32_t adaptive_bits;   /* 0: auto; for cgx_settings_least, _most */
    double adaptive_budget;   /* squared error allowed, relative to that of bits for all */
    unsigned adaptive_period; /* steps */
    bool error_feedback;
    enum cgx_history_kept history;
    uint32_t rules;           /* cgx_hash_file of rules_path; 0: no file */
    enum cgx_profile profile; /* its defaults are those of the other fields already */
    int log_level;            /* enum cgx_log_level */
    bool valid;               /* false: some value was refused; everything is exact */

    /* As they were written: relative ones are to the working directory. "": not set. */
    char rules_path[CGX_SETTINGS_PATH_BYTES], stats_path[CGX_SETTINGS_PATH_BYTES];
    char trace_path[CGX_SETTINGS_PATH_BYTES];
};

/* Widths that may be chosen where the library is adaptive: if nothing is said, from one bit below
 * the base width on; stochastic rounding has no grid of 1 bit. */
static inline unsigned cgx_settings_least(const struct cgx_settings *settings)
{
    unsigned least = settings->rounding == CGX_ROUNDING_STOCHASTIC ? 2 : 1;

    if (settings->adaptive_bits != 0)
        return settings->adaptive_bits >> 16;
    return settings->bits > least ? settings->bits - 1 : least;
}

static inline unsigned cgx_settings_most(const struct cgx_settings *settings)
{
    return settings->adaptive_bits != 0 ? settings->adaptive_bits & 0xFFFF : 8;
}

/* Whether calls have history (codec/history.h). What is left of elements that are relative to one
 * is no error that feedback could use, and where rounding is by chance there is none. Unless it is
 * asked for, it is not had by those whose overflows it would hide: sums of FLOAT16 that are
 * quantised in turn, on the way that is set. By its scales errors are multiplied. */
static inline bool cgx_settings_history(const struct cgx_settings *settings, bool float16)
{
    bool in_turn = settings->inner_reduction == CGX_REDUCTION_RING ||
                   settings->cross_reduction == CGX_REDUCTION_RING ||
                   settings->cross_reduction == CGX_REDUCTION_GRID;

    return settings->history != CGX_HISTORY_NEVER && !settings->error_feedback &&
           settings->error_bound == 0 && settings->rounding == CGX_ROUNDING_NEAREST &&
           (settings->history == CGX_HISTORY_ALWAYS || !float16 || !in_turn);
}

/* The rows of the table in order, NULL behind the last. */
const struct cgx_setting *cgx_settings_row(size_t index);

/* The value of a setting that is refused, unless another one has a value that is allowed with it.
 */
struct cgx_settings_pair {
    const char *name, *value;
    const char *with, *allowed; /* for people */
};

/* All pairs, NULL behind the last. */
#define CGX_SETTINGS_PAIRS 6
const struct cgx_settings_pair *cgx_settings_pair(size_t index);

/* The default of a row of the table. */
const char *cgx_settings_initial(size_t index, enum cgx_defaults defaults);

/* "CGX_PROFILE=bytegrad", say; NULL for the usual ones. */
const char *cgx_defaults_name(enum cgx_defaults defaults);

/* Gives each setting that another one excludes its usual default, and says by which pair it is
 * REFUSED. True if nothing is. */
bool cgx_settings_together(struct cgx_settings *settings, bool refused[CGX_SETTINGS_PAIRS]);

/* True if the widths to choose from do not have the base width, with a MESSAGE that says so. */
bool cgx_settings_override(const struct cgx_settings *settings, char *message, size_t size);

/* Sink for messages of cgx_settings_parse, one call a message, no newline. LEVEL is an enum
 * cgx_log_level: error for a refused value, warn for names unknown or retired. When
 * the first message comes, *SETTINGS is complete, the log level in it too. */
typedef void cgx_settings_report(void *context, int level, const char *message);

/* Reads every "CGX_NAME=value" of ENVIRONMENT (NULL-terminated or NULL, as environ; of two with one
 * name the first counts, as in getenv). Always fills *SETTINGS: a variable that is absent has its
 * default, and so has one whose value is refused, with valid = false. No global
 * state is read or written; the file that CGX_RULES names is read. */
void cgx_settings_parse(char *const environment[], cgx_settings_report *report, void *context,
                        struct cgx_settings *settings);

/* What comes of a mistake, for the end of a line about it: OTHERWISE, but with CGX_ENABLE=strict.
 */
const char *cgx_settings_consequence(const struct cgx_settings *settings, const char *otherwise);

/* Ranks compare settings as an array of words with fixed slots. Slots are never reused, so that
 * different versions of the library can compare theirs; a slot without a setting is 0. Settings
 * that do not change results (logging and the like) have no slot. Slot 0 is 1 where a value was
 * refused. A value below 2^32 is its own word, any other is hashed. */
#define CGX_SETTINGS_WORDS 60
void cgx_settings_words(const struct cgx_settings *settings, uint32_t words[CGX_SETTINGS_WORDS]);

/* The variable compared in SLOT, or NULL; for slot 0 a phrase that says what it is. */
const char *cgx_settings_slot_name(size_t slot);

/* Writes what ENVIRONMENT sets to other values than the defaults, each with its default and
 * documentation; or ALL of the table: name, values, defaults, documentation and value now. */
void cgx_settings_print(FILE *out, char *const environment[], bool all);

#endif
