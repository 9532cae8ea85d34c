/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

#define _GNU_SOURCE /* getrandom */

#include "util/hash.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/random.h>
#include <sys/stat.h>
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

bool cgx_hash_file(const char *path, uint32_t *hash)
{
    char block[4096];
    uint32_t sum = CGX_HASH_START;
    struct stat status;
    ssize_t got = -1;
    /* O_NONBLOCK, since opening a FIFO must not wait for a writer. Devices are not read, since they
     * may never end. */
    int file = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);

    if (file < 0)
        return false;
    if (fstat(file, &status) == 0 && S_ISREG(status.st_mode)) {
        do {
            got = read(file, block, sizeof block);
            if (got > 0)
                sum = cgx_hash(sum, block, (size_t)got);
        } while (got > 0 || (got < 0 && errno == EINTR));
    }
    close(file);
    if (got == 0)
        *hash = sum;
    return got == 0;
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
