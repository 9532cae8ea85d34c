/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

/* What fuzzing programs have in common. Each has one function, which is given any bytes, takes
 * apart what it needs of them, and ends the process where what it holds does not. Linked with
 * libFuzzer it is called with bytes that reach more and more of the code, and with replay.c with
 * those of corpus.txt. Blocks are as large as they must be, so that AddressSanitizer sees every
 * step outside. */
#ifndef CGX_TESTS_FUZZ_H
#define CGX_TESTS_FUZZ_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "policy/rules/rules.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerInitialize(int *argc, char ***argv);

static inline void fuzz_require(bool holds, const char *what)
{
    if (holds)
        return;
    fprintf(stderr, "not so: %s\n", what);
    abort();
}

/* What is left of the bytes. */
struct fuzz_input {
    const uint8_t *at;
    size_t left;
};

/* The next byte, modulo BELOW; 0 at the end. */
static inline unsigned fuzz_take(struct fuzz_input *input, unsigned below)
{
    if (input->left == 0)
        return 0;
    input->left--;
    return *input->at++ % below;
}

/* A block of BYTES, not 0, aligned to 16, with what is left of the bytes, over and over; zeros if
 * nothing is. To be freed. */
static inline void *fuzz_block(const struct fuzz_input *input, size_t bytes)
{
    unsigned char *block = aligned_alloc(16, (bytes + 15) / 16 * 16);
    size_t have;

    fuzz_require(block != NULL, "there is memory");
    have = input->left < bytes ? input->left : bytes;
    if (have == 0)
        memset(block, 0, bytes);
    else
        memcpy(block, input->at, have);
    /* What is there doubles: few steps, however short the input is. */
    for (size_t more; have > 0 && have < bytes; have += more) {
        more = have < bytes - have ? have : bytes - have;
        memcpy(block + have, block, more);
    }
    return block;
}

/* Whether these bytes are for check WHICH of those that take turns, from 0 to below OF: costly
 * ones, that need not be made of every input. It is the same for the same bytes; in replays all
 * checks have their turn. */
bool fuzz_has_turn(const uint8_t *data, size_t size, unsigned which, unsigned of);

/* An encoding of either family. */
unsigned fuzz_encoding(struct fuzz_input *input);

/* What HINTS and RULES, which may be NULL, say of some calls is such as can be. */
void fuzz_says(const struct cgx_override *hints, const struct cgx_rules *rules);

/* ERROR has a place and a message. */
void fuzz_error(const struct cgx_rules_error *error);

#endif
