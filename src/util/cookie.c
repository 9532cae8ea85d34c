/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

#define _GNU_SOURCE /* getrandom */

#include "util/cookie.h"

#include <sys/random.h>
#include <sys/types.h>
#include <time.h>
#include <unistd.h>

uint64_t cgx_cookie(void)
{
    uint64_t cookie;
    struct timespec now;

    if (getrandom(&cookie, sizeof cookie, GRND_NONBLOCK) == (ssize_t)sizeof cookie && cookie != 0)
        return cookie;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return ((uint64_t)now.tv_sec << 30 ^ (uint64_t)now.tv_nsec ^ (uint64_t)getpid() << 40) | 1;
}
