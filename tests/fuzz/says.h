/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

/* What holds of rules and hints alike. */
#ifndef CGX_TESTS_FUZZ_SAYS_H
#define CGX_TESTS_FUZZ_SAYS_H

#include "fuzz/fuzz.h"
#include "policy/rules/rules.h"

/* What HINTS and RULES, either of which may be NULL, say of some calls is such as can be. */
void fuzz_says(const struct cgx_hints *hints, const struct cgx_rules *rules);

/* ERROR has a place and a message. */
void fuzz_error(const struct cgx_rules_error *error);

#endif
