/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

/* One rule of CGX_RULES, and how its line is read. */
#ifndef CGX_POLICY_RULE_H
#define CGX_POLICY_RULE_H

#include "policy/override_parse.h"
#include "policy/rules.h"

struct cgx_rule_range {
    uint64_t first, last;
};

#define CGX_RULE_EVERY_DTYPE (-1)

/* Conditions that are not there hold for everything. */
struct cgx_rule {
    struct cgx_rule_range count, position;
    int dtype;                /* enum cgx_dtype or CGX_RULE_EVERY_DTYPE */
    const char *communicator; /* owned; NULL: every one */
    bool of_calls;            /* it says something of calls, not of communicators alone */
    struct cgx_actions says;
    unsigned line;
};

/* Conditions and actions by name, in no order that matters; NULL: there are no more. */
const char *cgx_rule_word(size_t index);

/* Reads a line, which is not blank and whose first blanks have been passed over. What RULE owns is
 * to be cleared in any case. */
bool cgx_rule_read(struct cgx_scan *scan, struct cgx_rule *rule);

void cgx_rule_clear(struct cgx_rule *rule);

#endif
