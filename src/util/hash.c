/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

#define _GNU_SOURCE /* getrandom */

#include "util/hash.h"

#include <sys/random.h>
#include <sys/types.h>
#include <time.h>
#include <unistd.h>

uint32_t cgx_hash(uint32_t hash, const void *bytes, size_t size)
{
    const unsigned char *byte = bytes;

    for (size_t i = 0; i < size; i++)
        hash = (hash ^ byte[i]) * 0x01000193u;
    return hash;
}

uint64_t cgx_cookie(void)
{
    uint64_t cookie;
    struct timespec now;

    if (getrandom(&cookie, sizeof cookie, GRND_NONBLOCK) == (ssize_t)sizeof cookie && cookie != 0)
        return cookie;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return ((uint64_t)now.tv_sec << 30 ^ (uint64_t)now.tv_nsec ^ (uint64_t)getpid() << 40) | 1;
}
