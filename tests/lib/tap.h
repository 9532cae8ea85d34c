/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

/* Results of tests in the Test Anything Protocol, on stdout, each line flushed: a crash loses none.
 * One thread and, in an MPI program, one rank calls these. */
#ifndef CGX_TESTS_TAP_H
#define CGX_TESTS_TAP_H

#include <stdbool.h>

/* Announces TESTS results; to be called first, or not at all. */
void plan(unsigned tests);

/* A result. The name says what behaviour holds; neither '#' nor a newline is in it. */
void ok(bool holds, const char *name, ...) __attribute__((format(printf, 2, 3)));

/* A result that could not be had here, and why. */
void skip(const char *name, const char *why);

/* How many cases one is tried of: USUAL, or 1 with TEST_ALL=yes. */
unsigned one_of(unsigned usual);

/* A remark for the reader, of one or more lines. */
void diag(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* Ends the program as failed: no further test makes sense. */
void bail_out(const char *why, ...) __attribute__((format(printf, 1, 2), noreturn));

/* Prints the plan if none was announced. The program's exit status: 0 if there were results, as
 * many as announced, and all held. */
int done_testing(void);

/* The head of a function that the linker puts in the place of NAME for every caller (--wrap); NAME
 * itself is __real_NAME. */
#define WRAPPED(type, name, ...)     \
    type __real_##name(__VA_ARGS__); \
    type __wrap_##name(__VA_ARGS__); \
    type __wrap_##name(__VA_ARGS__)

#endif
