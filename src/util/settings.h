/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

/* The CGX_ variables. The table in settings.c has a row for each: name, type, default, range, one
 * line of documentation, and the slot in which ranks compare its value. cgx-info --settings, the
 * start-up check and the agreement between ranks read this table, and a test compares the man page
 * with it. */
#ifndef CGX_UTIL_SETTINGS_H
#define CGX_UTIL_SETTINGS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "util/settings_values.h"

enum cgx_enable {
    CGX_ENABLE_NO,
    CGX_ENABLE_YES,
    CGX_ENABLE_STRICT, /* a refused value ends the job */
    CGX_ENABLE_OBSERVE /* calls are exact, and also compressed for the statistics alone */
};
enum cgx_buffers { CGX_BUFFERS_DEVICE, CGX_BUFFERS_HOST, CGX_BUFFERS_ALL };
enum cgx_reduction {
    CGX_REDUCTION_SRA,
    CGX_REDUCTION_GRID,   /* SRA along the rows and columns of a grid of nodes */
    CGX_REDUCTION_AUTO,   /* SRA, or GRID if it is predicted to be faster */
    CGX_REDUCTION_LEADERS /* AUTO, by one rank of each node */
};
enum cgx_transport { CGX_TRANSPORT_AUTO, CGX_TRANSPORT_SHM, CGX_TRANSPORT_P2P, CGX_TRANSPORT_MPI };

enum cgx_history_kept {
    CGX_HISTORY_NEVER,
    CGX_HISTORY_ALWAYS,
    CGX_HISTORY_AUTO /* in host memory, and on devices with ample free memory */
};

/* Values of topology; others are nodes << 32 | ranks per node. */
#define CGX_TOPOLOGY_AUTO 0
#define CGX_TOPOLOGY_FLAT 1

struct cgx_settings {
    enum cgx_enable enable;
    unsigned bits; /* 1-8 */
    enum cgx_family codec;
    uint64_t minimal;      /* MINIMAL_SIZE, perhaps with CGX_MINIMAL_AUTO */
    uint64_t minimal_size; /* elements, at least 1024 */
    enum cgx_buffers buffers;
    unsigned warmup; /* steps before calls are compressed */
    uint64_t fusion_buffer_bytes;
    enum cgx_reduction cross_reduction;
    enum cgx_transport inner_transport;
    uint64_t topology;
    enum cgx_history_kept history;
    uint32_t rules; /* the hash of what is in rules_path; 0: no file */
    int log_level;  /* enum cgx_log_level */
    bool valid;     /* false: a value was refused, and every call is exact */

    /* Paths as the user wrote them, perhaps relative to the working directory. "": not set. */
    char rules_path[CGX_SETTINGS_PATH_BYTES], stats_path[CGX_SETTINGS_PATH_BYTES];
    char trace_path[CGX_SETTINGS_PATH_BYTES];
};

/* The rows of the table in order; NULL behind the last. */
const struct cgx_setting *cgx_settings_row(size_t index);

/* Receives the messages of cgx_settings_parse, one per call, without a newline. LEVEL is an enum
 * cgx_log_level: error for a refused value, warn otherwise. At the first message *SETTINGS is
 * already complete, including the log level. */
typedef void cgx_settings_report(void *context, int level, const char *message);

/* Reads every "CGX_NAME=value" of ENVIRONMENT, which is NULL-terminated like environ, or NULL. If a
 * name occurs twice, the first counts, as with getenv. Always fills *SETTINGS: absent and refused
 * variables have their defaults, and a refused value also sets valid = false. Uses no global state;
 * reads the file that CGX_RULES names. */
void cgx_settings_parse(char *const environment[], cgx_settings_report *report, void *context,
                        struct cgx_settings *settings);

/* The consequence of a mistake, for the end of its message: OTHERWISE, or that the job ends if
 * CGX_ENABLE=strict. */
const char *cgx_settings_consequence(const struct cgx_settings *settings, const char *otherwise);

/* Ranks compare settings as an array of words with fixed slots. Slots are never reused, so that
 * different versions of the library can compare theirs; an unused slot is 0. Settings that do not
 * change results, such as CGX_LOG, have no slot. Slot 0 is 1 if a value was refused. A value below
 * 2^32 is its own word; others are hashed. */
#define CGX_SETTINGS_WORDS 60
void cgx_settings_words(const struct cgx_settings *settings, uint32_t words[CGX_SETTINGS_WORDS]);

/* The variable in SLOT, or NULL; for slot 0 a phrase. */
const char *cgx_settings_slot_name(size_t slot);

/* Sets *TEXT to what ENVIRONMENT, not NULL, has for the row of INDEX; NULL: nothing. False: that is
 * refused. */
bool cgx_settings_text(size_t index, char *const environment[], const char **text);

/* ---- CGX_ variables that are no settings, and retired values (names.c) ----
 *
 * Such variables are mistyped, or retired ones of torch_cgx and of this library. */

/* Is cgx_settings_row. */
typedef const struct cgx_setting *cgx_names_known(size_t index);

/* A variable with the same meaning as NAME, or NULL. */
const char *cgx_names_alias(const char *name);

/* ENTRY is "NAME=value". If NAME begins with CGX_ and is not KNOWN, returns true with a MESSAGE of
 * at most SIZE bytes: why it is retired, or the nearest known name. */
bool cgx_names_explain(const char *entry, cgx_names_known *known, char *message, size_t size);

/* What is known of TEXT if it is a retired value of the variable NAME: what to set INSTEAD if it is
 * refused, or the value that is taken for it, its SUCCESSOR. NULL otherwise. */
struct cgx_retired_value {
    const char *name, *value, *instead, *successor;
};
struct cgx_retired_value cgx_names_value(const char *name, const char *text);

#endif
