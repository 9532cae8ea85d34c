/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

#include "fuzz/fuzz.h"

#include "codec/encoding.h"
#include "util/hash.h"

unsigned fuzz_encoding(struct fuzz_input *input)
{
    return 1 + fuzz_take(input, CGX_WIDTHS);
}

/* ---- whose turn it is ---- */

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

/* ---- rules and hints ---- */

static void check_override(const struct cgx_override *override, uint64_t count)
{
    uint64_t total = 0;

    fuzz_require(override->bits <= 8 || override->bits == CGX_BITS_EXACT,
                 "the width is 1 to 8 or exact, or not said");
    fuzz_require(override->bits != CGX_BITS_EXACT || !override->layers,
                 "of what is exact nothing else is said");
    if (!override->layers)
        return;
    for (size_t i = 0; i < override->layers->nlayers; i++) {
        const struct cgx_layer_size *layer = &override->layers->layers[i];

        fuzz_require(layer->count > 0 && (layer->bits <= 8 || layer->bits == CGX_BITS_EXACT),
                     "layers have elements, and widths that there are");
        fuzz_require(!__builtin_add_overflow(total, layer->count, &total), "they add up");
    }
    fuzz_require(total == count && override->layers->total == count, "to the call's count");
}

void fuzz_says(const struct cgx_override *hints, const struct cgx_rules *rules)
{
    static const char *const names[] = {"", "model", "data parallel"};
    static const uint64_t counts[] = {1, 64, 4096, 1049600, UINT64_MAX};

    for (size_t i = 0; i < 3 * 5 * 3; i++) {
        const struct cgx_rules_call call = {.count = counts[i / 9],
                                            .dtype = (enum cgx_dtype)(i % 3),
                                            .communicator = names[i / 3 % 3],
                                            .position = i % 2 == 0 ? UINT64_MAX : i / 9};
        struct cgx_override override = cgx_rules_override(rules, &call);

        check_override(&override, call.count);
        override = cgx_override_merge(hints, &override, call.count);
        check_override(&override, call.count);
    }
    for (size_t i = 0; i < 3; i++)
        cgx_rules_step(rules, hints, names[i]);
}

void fuzz_error(const struct cgx_rules_error *error)
{
    const char *end = memchr(error->message, '\0', sizeof error->message);

    fuzz_require(error->line > 0 && error->column > 0, "an error has its place");
    fuzz_require(end && end > error->message, "an error says what is wrong");
    for (const char *at = error->message; at < end; at++)
        fuzz_require((unsigned char)*at >= ' ' && *at != 0x7F,
                     "messages have no control characters");
}
