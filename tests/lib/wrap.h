/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

/* Functions that the linker puts in the place of others (--wrap). */
#ifndef CGX_TESTS_WRAP_H
#define CGX_TESTS_WRAP_H

/* The head of the function that every caller of NAME comes to; NAME itself is __real_NAME. */
#define WRAPPED(type, name, ...)     \
    type __real_##name(__VA_ARGS__); \
    type __wrap_##name(__VA_ARGS__); \
    type __wrap_##name(__VA_ARGS__)

#endif
