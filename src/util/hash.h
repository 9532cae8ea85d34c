/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

/* FNV-1a with 32 bits (Fowler, Noll, Vo), for comparing values between ranks; and cookies. */
#ifndef CGX_UTIL_HASH_H
#define CGX_UTIL_HASH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define CGX_HASH_START 0x811C9DC5u

/* HASH is CGX_HASH_START or the hash of the bytes before. */
uint32_t cgx_hash(uint32_t hash, const void *bytes, size_t size);

/* Of the content of a regular file; false if it cannot be read whole. */
bool cgx_hash_file(const char *path, uint32_t *hash);

/* A number by which a process of this machine tells what it was offered from what may have come to
 * lie in its place: not 0, and as good as surely none that any process was given before. */
uint64_t cgx_cookie(void);

#endif
