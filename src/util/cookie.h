/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

/* Numbers by which a process of this machine tells what it was offered from what may have come to
 * lie in its place. */
#ifndef CGX_UTIL_COOKIE_H
#define CGX_UTIL_COOKIE_H

#include <stdint.h>

/* Not 0, and as good as surely no number that any process was given before. */
uint64_t cgx_cookie(void);

#endif
