/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

#include "observe/notices.h"

#include <stdatomic.h>
#include <stdio.h>

#include "mpi/config.h"
#include "mpi/world.h"
#include "util/log.h"

static atomic_bool compressed;
static atomic_ullong said; /* a bit for each reason that was said to keep large sums exact */
_Static_assert(CGX_REASONS <= 64, "a bit for each");
static atomic_ullong blocked[CGX_LOOKS], held[CGX_LOOKS]; /* by what was found */

/* Describes a sum of SITE on COMM: "sum 3 of the step (position=2, 4096 elements on MPI_COMM_WORLD,
 * 8 ranks)". Rules count positions from 0. */
static const char *sum_text(cgx_mpi_comm comm, const struct cgx_callsite_key *site,
                            char text[CGX_NOTICED_BYTES])
{
    char where[80] = "a sum (", name[CGX_MPI_OBJECT_NAME_BYTES] = "";
    int length = 0, ranks = 0;

    if (site->position != CGX_POSITION_NONE)
        snprintf(where, sizeof where, "sum %u of the step (position=%u, ", site->position + 1,
                 site->position);
    if (cgx_mpi()->Comm_get_name(comm, name, &length) != CGX_MPI_SUCCESS)
        length = 0;
    cgx_mpi()->Comm_size(comm, &ranks);
    snprintf(text, CGX_NOTICED_BYTES, "%s%llu elements%s%.*s, %d ranks)", where,
             (unsigned long long)site->count, length > 0 ? " on " : "", length, name, ranks);
    return text;
}

static bool was_compressed(void)
{
    return atomic_load_explicit(&compressed, memory_order_relaxed);
}

/* The first time in this process: says that sums like RECORD's are, or would be, compressed. */
static void say_compressed(const struct cgx_record *record)
{
    char text[CGX_NOTICED_BYTES];

    if (was_compressed() || atomic_exchange(&compressed, true))
        return;
    /* With CGX_LOG=info the line is information, not a warning. */
    cgx_log(cgx_log_level() < CGX_LOG_INFO ? CGX_LOG_WARN : CGX_LOG_INFO,
            cgx_config_observes()
                ? "observing: nothing is compressed; the first sum that would be is %s, at about "
                  "%.1f bits an element; CGX_LOG=info says at the end what compression would do, "
                  "CGX_STATS and cgx-report say it sum by sum"
                : "compressing from now on, first %s, at about %.1f bits an element. Gradients "
                  "bear that: keep activations, solver vectors, densities and moments exact by "
                  "the hint cgx_enable=0 or a rule, see cgx-tuning(7). CGX_ENABLE=0 keeps all "
                  "sums exact, CGX_LOG=info says more, CGX_LOG=error hides this line",
            sum_text(record->request->comm, record->site, text),
            8 * (double)record->plan->sent / (double)record->plan->count);
}

bool cgx_notice_said(enum cgx_reason reason)
{
    return (atomic_load(&said) >> reason & 1) != 0;
}

/* Warns if the process's first large sums are all in memory that CGX_BUFFERS excludes. */
static void follow_memory(const struct cgx_record *record)
{
    enum { FIRST = 3 };
    static atomic_uint sums, refused;
    const bool host = record->memory == CGX_REASON_HOST_MEMORY;

    if (atomic_load_explicit(&sums, memory_order_relaxed) >= FIRST || !cgx_config()->enable ||
        (uint64_t)record->request->count < cgx_config()->minimal_size)
        return;
    atomic_fetch_add(&refused, record->memory != CGX_REASON_NONE);
    if (atomic_fetch_add(&sums, 1) != FIRST - 1 || atomic_load(&refused) != FIRST ||
        cgx_world_rank() != 0)
        return;
    atomic_fetch_or(&said, 1ULL << record->memory);
    cgx_log(CGX_LOG_WARN,
            "large sums of floats are in %s memory and stay exact, since CGX_BUFFERS is %s: "
            "'cgxrun --buffers %s', or CGX_BUFFERS=%s, compresses them",
            host ? "host" : "device", host ? "device" : "host", host ? "host" : "device",
            host ? "host" : "device");
}

static void say_unknown_sum(const struct cgx_record *record)
{
    char text[CGX_NOTICED_BYTES];

    if (atomic_fetch_or(&said, 1ULL << CGX_REASON_UNKNOWN_SUM) >> CGX_REASON_UNKNOWN_SUM & 1)
        return;
    cgx_log(CGX_LOG_WARN,
            "%s stays exact, since its op is the program's own, on elements of two bytes. If that "
            "sums float16, as Horovod's Compression.fp16 does, say so: a file with the line "
            "'-> op=float16' (or op=bfloat16), named by cgxrun --rules or CGX_RULES",
            sum_text(record->request->comm, record->site, text));
}

void cgx_notice_freed(void)
{
    static atomic_uint freed;

    if (atomic_fetch_add(&freed, 1) != CGX_NOTICED_FREED - 1 || was_compressed())
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

    if (was_compressed() || atomic_load(&said) != 0 || atomic_exchange(&told, true))
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

void cgx_notice_way(cgx_mpi_comm comm, const struct cgx_callsite_key *site, enum cgx_way way,
                    const double seconds[CGX_WAYS], bool young)
{
    static atomic_bool told;
    const double exact = 1e3 * seconds[CGX_WAY_EXACT];
    const double shorter = 1e3 * seconds[CGX_WAY_COMPRESSED];
    char text[CGX_NOTICED_BYTES];

    sum_text(comm, site, text);
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

static void say_looking(const struct cgx_record *record)
{
    static atomic_bool told;
    char text[CGX_NOTICED_BYTES];

    if (cgx_log_level() < CGX_LOG_INFO || atomic_exchange(&told, true))
        return;
    cgx_log(CGX_LOG_INFO,
            "%s: %u of %d sums looked at; then they are compressed if they look like gradients. "
            "To begin at once, say consensus=off in a rule or hint, or set CGX_WARMUP=0",
            sum_text(record->request->comm, record->site, text), record->looks, CGX_LOOK_WINDOW);
}

/* Says that a sum of SITE is exact, in the words HOW, because of what LOOK has found. */
static void say_exact(enum cgx_log_level level, cgx_mpi_comm comm,
                      const struct cgx_callsite_key *site, const char *how, enum cgx_look look)
{
    static const struct cgx_look_words elsewhere = {
        .text = "another rank's part of it does not look like a gradient",
        .kinds = "averages, metrics and other state"};
    const struct cgx_look_words *words = cgx_look_is_state(look) ? &cgx_looks[look] : &elsewhere;
    char text[CGX_NOTICED_BYTES];

    if (cgx_log_level() >= level)
        cgx_log(level,
                "%s %s: %s, as is usual for %s. If these sums are gradients, a file with the line "
                "'count=%llu -> consensus=off', named by cgxrun --rules or CGX_RULES, compresses "
                "them",
                sum_text(comm, site, text), how, words->text, words->kinds,
                (unsigned long long)site->count);
}

void cgx_notice_blocked(cgx_mpi_comm comm, const struct cgx_callsite_key *site, unsigned calls,
                        enum cgx_look look)
{
    bool is_first = atomic_fetch_add(&blocked[look], 1) == 0;
    char how[64];

    snprintf(how, sizeof how, "%s exact, and so %s the next %u like it",
             cgx_config_observes() ? "would stay" : "stays", cgx_config_observes() ? "would" : "do",
             calls);
    say_exact(is_first ? CGX_LOG_WARN : CGX_LOG_DEBUG, comm, site, how, look);
}

static void say_held(const struct cgx_record *record)
{
    bool is_first = atomic_fetch_add(&held[record->look], 1) == 0;

    say_exact(is_first ? CGX_LOG_INFO : CGX_LOG_DEBUG, record->request->comm, record->site,
              "is done again exactly, this call alone", record->look);
}

void cgx_notice_record(const struct cgx_record *record)
{
    follow_memory(record);
    if (record->rank != 0)
        return;
    if (record->plan && record->outcome == CGX_OUTCOME_DONE)
        say_compressed(record);
    if (record->plan && record->outcome == CGX_OUTCOME_HELD)
        say_held(record);
    if (record->reason == CGX_REASON_UNKNOWN_SUM && record->recurs)
        say_unknown_sum(record);
    if (record->looks > 0)
        say_looking(record);
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
