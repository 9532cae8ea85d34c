/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

/* FNV-1a with 32 bits (Fowler, Noll, Vo), to compare values between ranks; and cookies. */
#ifndef CGX_UTIL_HASH_H
#define CGX_UTIL_HASH_H

#include <stddef.h>
#include <stdint.h>

#define CGX_HASH_START 0x811C9DC5u

/* Continues a hash with SIZE BYTES. HASH is CGX_HASH_START, or the hash of the preceding bytes. */
uint32_t cgx_hash(uint32_t hash, const void *bytes, size_t size);

/* A random number, not 0, that identifies an offer between processes of this machine: practically
 * certain to differ from all others. */
uint64_t cgx_cookie(void);

#endif
