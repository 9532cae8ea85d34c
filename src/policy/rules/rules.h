/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

/* What users say about single calls: the file of CGX_RULES, and the hints that a program attaches
 * to a communicator. Text and logic: no MPI, nothing global.
 *
 * A rule is a line of conditions, "->" and actions; blank lines and what follows a # are ignored.
 * The first rule whose conditions all hold counts; a rule without conditions always does. A rule
 * whose only action is step= is none for calls, and hides no other.
 *
 *   count=1024-65536 -> exact                          # norms and biases of their own
 *   count=25557032 -> layers=4096:exact,1048576,24500000,4360:exact
 *   type=float16 comm="data parallel" -> bits=3:6
 *   position=0-3 -> bits=8
 *   comm=model -> step=24
 *
 * Conditions: count, position: N, N-M, N- (to any); type: float32, float16, bfloat16; comm: the
 * communicator's name, in double quotes if it has blanks. Actions: exact; bits=N or
 * MIN:MAX (widths to choose from; where the library is not adaptive, the base width brought into
 * that range; 1 bit means 2 where rounding is stochastic); codec=, as CGX_CODEC;
 * layers=SIZE[:BITS],... in elements (BITS: 1-8 or exact); recurs=always or never;
 * consensus=off or on; step=N, the calls of a step of a communicator (comm= is its only condition).
 */
#ifndef CGX_POLICY_RULES_RULES_H
#define CGX_POLICY_RULES_RULES_H

#include "codec/format.h"
#include "policy/rules/override.h"

struct cgx_rules;

/* Conditions and actions by name, in no order that matters; NULL: there are no more. */
const char *cgx_rule_word(size_t index);

/* Parses TEXT (LENGTH bytes, any). NULL: *ERROR says why ("out of memory" too). WARN, which may be
 * NULL, is called for a rule that can never be reached, or whose layers cannot add up to any count
 * that its conditions allow. */
typedef void cgx_rules_warn(void *context, unsigned line, const char *message);
struct cgx_rules *cgx_rules_parse(const char *text, size_t length, cgx_rules_warn *warn,
                                  void *context, struct cgx_rules_error *error);
void cgx_rules_free(struct cgx_rules *rules);

/* The same of the file at PATH; *HASH is of its content, if it can be read. */
struct cgx_rules *cgx_rules_read(const char *path, uint32_t *hash, cgx_rules_warn *warn,
                                 void *context, struct cgx_rules_error *error);

/* Whether any rule asks for a communicator's name: ranks must then agree about it. */
bool cgx_rules_name_communicators(const struct cgx_rules *rules);

/* A call as rules see it. */
struct cgx_rules_call {
    uint64_t count;
    enum cgx_dtype dtype;
    const char *communicator; /* name; may be "" */
    uint64_t position;        /* in the step; UINT64_MAX: not known, no condition holds for it */
};

/* What RULES (NULL: none) say of CALL. A rule whose layers do not add up to the call's count says
 * all but them. Valid until RULES are freed. */
struct cgx_override cgx_rules_override(const struct cgx_rules *rules,
                                       const struct cgx_rules_call *call);

/* Calls of a step of the communicator of that name, as the first rule has it that says so; 0: none
 * does. */
size_t cgx_rules_step(const struct cgx_rules *rules, const char *communicator);

/* Calls WARN for each rule that has said nothing of any call, and of no communicator's step, if
 * they have been looked at for any call. */
void cgx_rules_unused(const struct cgx_rules *rules, cgx_rules_warn *warn, void *context);

/* ---- hints: MPI_Comm_set_info ---- */

/* The key of HINT in an info: "cgx_enable" and so on. */
const char *cgx_hint_key(enum cgx_hint hint);

struct cgx_hints;

/* VALUES[hint] is the value of its key; empty: what was said before is taken back; NULL: the key is
 * not there, what was said before stays. HINTS are what was said before, or NULL, and are freed in
 * any case but an error. NULL: *ERROR says why; the message names the key, line is 1. */
struct cgx_hints *cgx_hints_parse(struct cgx_hints *hints, const char *const values[CGX_HINTS],
                                  struct cgx_rules_error *error);
void cgx_hints_free(struct cgx_hints *hints);

/* Of their content, for ranks to compare; 0 for NULL. */
uint32_t cgx_hints_hash(const struct cgx_hints *hints);

/* False: the program has switched compression off. */
bool cgx_hints_enable(const struct cgx_hints *hints);

/* What HINTS and RULES, either of which may be NULL, say together: a rule's word counts where both
 * have one, for the user knows more than the program. */
struct cgx_override cgx_override_merge(const struct cgx_hints *hints, const struct cgx_rules *rules,
                                       const struct cgx_rules_call *call);

/* Calls of a step of the communicator of that name; 0: neither says. */
size_t cgx_override_step(const struct cgx_hints *hints, const struct cgx_rules *rules,
                         const char *communicator);

#endif
