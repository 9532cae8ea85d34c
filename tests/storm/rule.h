/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

/* What a user says of a job's calls in the file of CGX_RULES, drawn at random, and what of it holds
 * for a call beside its hints. */
#ifndef TESTS_STORM_RULE_H
#define TESTS_STORM_RULE_H

#include "hint.h"
#include "mpi/lib/oracle.h"

/* Before MPI_Init: draws rules, and makes CGX_RULES a file that has them, of this process alone.
 * LIMITS has a count more then. */
void rules_begin(uint64_t seed, struct storm_limits *limits);

/* The lines of the file; none if it was not begun. */
const char *rules_text(void);

/* ORACLE, that of the environment, becomes what rules and hints leave of it, for a call on a
 * communicator of that name. Whether the call is exact; where rules depend on the position, which
 * is not known here, ORACLE is what they all allow. */
bool rules_apply(const struct hint *hint, const struct storm_call *call, const char *communicator,
                 struct oracle *oracle);

#endif
