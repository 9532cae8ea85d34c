/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

/* The user's settings for single calls: the file of CGX_RULES, and the hints that a program
 * attaches to a communicator. cgx-rules(5) has their grammar. Text and logic: no MPI, no globals.
 */
#ifndef CGX_POLICY_RULES_RULES_H
#define CGX_POLICY_RULES_RULES_H

#include "codec/format.h"
#include "policy/rules/override.h"
#include "util/settings.h"

struct cgx_rules;

/* Parses TEXT (LENGTH bytes, any). NULL: *ERROR says why ("out of memory" too). WARN, if not NULL,
 * is called for each rule that has a retired value, or whose layers add up to no count that its
 * conditions allow. */
typedef void cgx_rules_warn(unsigned line, const char *message);
struct cgx_rules *cgx_rules_parse(const char *text, size_t length, cgx_rules_warn *warn,
                                  struct cgx_rules_error *error);
void cgx_rules_free(struct cgx_rules *rules);

/* Parses the file that SETTINGS name, and sets their hash of it to that of what it read. NULL:
 * there is none; or it is refused, then REPORT gets the reason, and SETTINGS are no longer valid.
 */
struct cgx_rules *cgx_rules_read(struct cgx_settings *settings, cgx_rules_warn *warn,
                                 cgx_settings_report *report, void *context);

/* Whether a rule has a communicator's name; ranks must then agree on it. */
bool cgx_rules_name_communicators(const struct cgx_rules *rules);

/* A call, as matched by rules. */
struct cgx_rules_call {
    uint64_t count;
    enum cgx_dtype dtype;
    const char *communicator; /* its name; may be "" */
    uint64_t position;        /* in the step; UINT64_MAX: unknown, matches no condition */
};

/* The override of RULES (NULL: none) for CALL. Layers that do not add up to its count are left out.
 * Valid until RULES are freed. */
struct cgx_override cgx_rules_override(const struct cgx_rules *rules,
                                       const struct cgx_rules_call *call);

/* The calls in a step of the communicator of that name, by the first of RULES that sets them or
 * else by its HINTS; 0: none. */
size_t cgx_rules_step(const struct cgx_rules *rules, const struct cgx_override *hints,
                      const char *communicator);

/* Calls WARN for each rule that matched no call and no communicator's step, if any call was matched
 * at all. */
void cgx_rules_unused(const struct cgx_rules *rules, cgx_rules_warn *warn);

#endif
