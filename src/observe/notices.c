/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

#include "observe/notices.h"

#include <stdatomic.h>
#include <stdio.h>

#include "policy/step/recurrence.h"
#include "util/log.h"

static atomic_bool compressed;
static atomic_ullong said; /* a bit for each reason that was said to keep large sums exact */
_Static_assert(CGX_REASONS <= 64, "a bit for each");
static atomic_ullong blocked[CGX_LOOKS], held[CGX_LOOKS]; /* by what was found */

/* Describes SUM: "sum 3 of the step (position=2, 4096 elements on MPI_COMM_WORLD, 8 ranks)". Rules
 * count positions from 0. */
static void describe(const struct cgx_noticed *sum, char *text, size_t size)
{
    char where[80] = "a sum (", on[CGX_NOTICED_NAME_BYTES + 8] = "";

    if (sum->position != CGX_POSITION_NONE)
        snprintf(where, sizeof where, "sum %zu of the step (position=%zu, ", sum->position + 1,
                 sum->position);
    if (sum->name[0] != '\0')
        snprintf(on, sizeof on, " on %s", sum->name);
    snprintf(text, size, "%s%llu elements%s, %d ranks)", where, (unsigned long long)sum->count, on,
             sum->ranks);
}

bool cgx_notice_was_compressed(void)
{
    return atomic_load_explicit(&compressed, memory_order_relaxed);
}

void cgx_notice_compressed(const struct cgx_noticed *sum, size_t bytes)
{
    char text[CGX_NOTICED_BYTES];

    if (atomic_exchange(&compressed, true))
        return;
    describe(sum, text, sizeof text);
    /* With CGX_LOG=info the line is information, not a warning. */
    cgx_log(cgx_log_level() < CGX_LOG_INFO ? CGX_LOG_WARN : CGX_LOG_INFO,
            sum->observed
                ? "observing: nothing is compressed; the first sum that would be is %s, at about "
                  "%.1f bits an element; CGX_LOG=info says at the end what compression would do, "
                  "CGX_STATS and "
                  "cgx-report say it sum by sum"
                : "compressing from now on, first %s, at about %.1f bits an element. Gradients "
                  "bear that: "
                  "keep activations, solver vectors, densities and moments exact by the hint "
                  "cgx_enable=0 or a rule, see cgx-tuning(7). CGX_ENABLE=0 keeps all sums exact, "
                  "CGX_LOG=info says more, CGX_LOG=error hides this line",
            text, 8 * (double)bytes / (double)sum->count);
}

bool cgx_notice_said(enum cgx_reason reason)
{
    return (atomic_load(&said) >> reason & 1) != 0;
}

void cgx_notice_memory(enum cgx_reason reason)
{
    bool host = reason == CGX_REASON_HOST_MEMORY;

    atomic_fetch_or(&said, 1ULL << reason);
    cgx_log(CGX_LOG_WARN,
            "large sums of floats are in %s memory and stay exact, since CGX_BUFFERS is %s: "
            "'cgxrun --buffers %s', or CGX_BUFFERS=%s, compresses them",
            host ? "host" : "device", host ? "device" : "host", host ? "host" : "device",
            host ? "host" : "device");
}

void cgx_notice_unknown_sum(const struct cgx_noticed *sum)
{
    char text[CGX_NOTICED_BYTES];

    if (atomic_fetch_or(&said, 1ULL << CGX_REASON_UNKNOWN_SUM) >> CGX_REASON_UNKNOWN_SUM & 1)
        return;
    describe(sum, text, sizeof text);
    cgx_log(CGX_LOG_WARN,
            "%s stays exact, since its op is the program's own, on elements of two bytes. If that "
            "sums float16, as Horovod's Compression.fp16 does, say so: a file with the line "
            "'-> op=float16' (or op=bfloat16), named by cgxrun --rules or CGX_RULES",
            text);
}

void cgx_notice_freed(void)
{
    static atomic_uint freed;

    if (atomic_fetch_add(&freed, 1) != CGX_NOTICED_FREED - 1 || cgx_notice_was_compressed())
        return;
    atomic_fetch_or(&said, 1ULL << CGX_REASON_FIRST);
    cgx_log(
        CGX_LOG_WARN,
        "%d communicators with large sums were freed before their step was known, so that all of "
        "these sums stay exact: make the communicator once, and sum on it in every step",
        CGX_NOTICED_FREED);
}

void cgx_notice_undecided(size_t length, size_t times, const uint64_t *counts, size_t ncounts)
{
    static atomic_bool told;
    char list[160] = "";
    size_t used = 0;

    if (cgx_notice_was_compressed() || atomic_load(&said) != 0 || atomic_exchange(&told, true))
        return;
    for (size_t i = 0; i < ncounts; i++)
        used += (size_t)snprintf(list + used, sizeof list - used, "%s%llu", i > 0 ? ", " : "",
                                 (unsigned long long)counts[i]);
    cgx_log(CGX_LOG_WARN,
            "large sums repeat themselves after %zu, %zu times so far, as steps do, but also equal "
            "layers in one pass over a model: they stay exact until that is clear. If all of them "
            "(%s%s elements) are gradients, say so: a file with the line '-> step=%zu', named by "
            "cgxrun --rules or CGX_RULES; if some are not, a line 'count=N -> recurs=always' for "
            "each that is",
            length, times, list, length > ncounts ? ", ..." : "", length);
}

void cgx_notice_way(const struct cgx_noticed *sum, enum cgx_way way, const double seconds[CGX_WAYS],
                    bool young)
{
    static atomic_bool told;
    const double exact = 1e3 * seconds[CGX_WAY_EXACT];
    const double shorter = 1e3 * seconds[CGX_WAY_COMPRESSED];
    char text[CGX_NOTICED_BYTES];

    describe(sum, text, sizeof text);
    if (way == CGX_WAY_COMPRESSED)
        cgx_log(CGX_LOG_DEBUG,
                "%s, and sums of its size, are compressed: that took %.3g ms, exact ones %.3g",
                text, shorter, exact);
    else
        cgx_log(atomic_exchange(&told, true) ? CGX_LOG_DEBUG : CGX_LOG_WARN,
                "%s, and sums of its size, are exact: %scompressed ones took %.3g ms, exact ones "
                "%.3g, as on fast links. Fewer bits do not help; they are tried again now and "
                "then. A number for CGX_COMPRESSION_MINIMAL_SIZE compresses them all the same",
                text, young ? "the first " : "", shorter, exact);
}

/* ---- sums that are looked at ---- */

void cgx_notice_looking(const struct cgx_noticed *sum, unsigned looks)
{
    static atomic_bool told;
    char text[CGX_NOTICED_BYTES];

    if (atomic_exchange(&told, true))
        return;
    describe(sum, text, sizeof text);
    cgx_log(CGX_LOG_INFO,
            "%s: %u of %d sums looked at; then they are compressed if they look like gradients. "
            "To begin at once, say consensus=off in a rule or hint, or set CGX_WARMUP=0",
            text, looks, CGX_LOOK_WINDOW);
}

/* Says that SUM is exact, in the words HOW, because of what LOOK has found. */
static void say_exact(enum cgx_log_level level, const struct cgx_noticed *sum, const char *how,
                      enum cgx_look look)
{
    static const struct cgx_look_words elsewhere = {
        .text = "another rank's part of it does not look like a gradient",
        .kinds = "averages, metrics and other state"};
    const struct cgx_look_words *words = cgx_look_is_state(look) ? &cgx_looks[look] : &elsewhere;
    char text[CGX_NOTICED_BYTES];

    describe(sum, text, sizeof text);
    cgx_log(level,
            "%s %s: %s, as is usual for %s. If these sums are gradients, a file with the line "
            "'count=%llu -> consensus=off', named by cgxrun --rules or CGX_RULES, compresses them",
            text, how, words->text, words->kinds, (unsigned long long)sum->count);
}

void cgx_notice_blocked(const struct cgx_noticed *sum, unsigned calls, enum cgx_look look)
{
    bool is_first = atomic_fetch_add(&blocked[look], 1) == 0;
    char how[64];

    snprintf(how, sizeof how, "%s exact, and so %s the next %u like it",
             sum->observed ? "would stay" : "stays", sum->observed ? "would" : "do", calls);
    say_exact(is_first ? CGX_LOG_WARN : CGX_LOG_DEBUG, sum, how, look);
}

void cgx_notice_held(const struct cgx_noticed *sum, enum cgx_look look)
{
    bool is_first = atomic_fetch_add(&held[look], 1) == 0;

    say_exact(is_first ? CGX_LOG_INFO : CGX_LOG_DEBUG, sum,
              "is done again exactly, this call alone", look);
}

unsigned long long cgx_notice_found(enum cgx_look look)
{
    return atomic_load(&blocked[look]) + atomic_load(&held[look]);
}

void cgx_notice_count(void)
{
    unsigned long long more = 0;

    for (unsigned i = 0; i < sizeof blocked / sizeof blocked[0]; i++) {
        unsigned long long count = atomic_load(&blocked[i]);

        more += count > 1 ? count - 1 : 0;
    }
    if (more > 0)
        cgx_log(CGX_LOG_WARN,
                "%llu more sum%s stayed exact because of their data: CGX_LOG=debug names them",
                more, more == 1 ? "" : "s");
}
