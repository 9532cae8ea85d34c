/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

#include "fuzz/fuzz.h"
#include "util/hash.h"

/* Bytes that say whose turn it is: enough to differ, few enough to take no time. */
#define TELLING 64

static bool by_turns;

/* libFuzzer calls it before all else, replay.c does not. */
int LLVMFuzzerInitialize(int *argc, char ***argv)
{
    (void)argc;
    (void)argv;
    by_turns = true;
    return 0;
}

bool fuzz_has_turn(const uint8_t *data, size_t size, unsigned which, unsigned of)
{
    if (!by_turns)
        return true;
    return cgx_hash(CGX_HASH_START, data, size < TELLING ? size : TELLING) % of == which;
}
