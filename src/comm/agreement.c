/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

#include "comm/ballot.h"

#include <stdio.h>
#include <string.h>

#include "codec/format.h"
#include "mpi/config.h"
#include "mpi/errors.h"
#include "mpi/stall.h"
#include "observe/record.h"
#include "util/hash.h"
#include "util/log.h"

/* The record never changes its size, and the words before the settings never change their meaning,
 * so that every version of the library can compare itself with every other. */
#define RECORD_VERSION 1
enum { WORD_RECORD, WORD_LIBRARY, WORD_READY, WORD_TOPOLOGY, WORD_SETTINGS };
#define RECORD_WORDS (WORD_SETTINGS + CGX_SETTINGS_WORDS)
/* The last slots are for other words than settings. */
#define WORD_HINTS (RECORD_WORDS - 1)
#define WORD_NAME (RECORD_WORDS - 2)
/* The format of messages. */
#define WORD_FORMAT (RECORD_WORDS - 4)

/* One reduction finds the least of each word and, from the complements, the greatest. */
struct record {
    uint32_t words[RECORD_WORDS];
    uint32_t complements[RECORD_WORDS];
};

static void fill_record(struct record *record, const struct cgx_terms *terms, bool ready)
{
    memset(record, 0, sizeof *record);
    record->words[WORD_RECORD] = RECORD_VERSION;
    record->words[WORD_LIBRARY] = cgx_hash(CGX_HASH_START, PACKAGE_VERSION, sizeof PACKAGE_VERSION);
    record->words[WORD_READY] = ready;
    cgx_settings_words(cgx_config(), record->words + WORD_SETTINGS);
    record->words[WORD_HINTS] = terms->hints_agreed;
    record->words[WORD_NAME] = terms->name_agreed;
    record->words[WORD_FORMAT] = CGX_FORMAT_VERSION;
    for (size_t i = 0; i < RECORD_WORDS; i++)
        record->complements[i] = ~record->words[i];
}

static const char *word_name(size_t word)
{
    const char *name;

    if (word == WORD_HINTS)
        return "hints (MPI_Comm_set_info)";
    if (word == WORD_NAME)
        return "the communicator's name";
    if (word == WORD_FORMAT)
        return "the format of messages";
    if (word >= WORD_SETTINGS) {
        name = cgx_settings_slot_name(word - WORD_SETTINGS);
        return name ? name : "a setting of another version";
    }
    return word == WORD_READY ? "free memory" : "the version of this library";
}

static bool differs(const struct record *record, size_t word)
{
    return record->words[word] != ~record->complements[word];
}

static void name_differences(const struct record *record)
{
    char names[512] = "", versions[64];
    size_t length = 0;

    for (size_t i = 0; i < RECORD_WORDS && length < sizeof names; i++) {
        const char *also = cgx_names_alias(word_name(i));

        if (!differs(record, i))
            continue;
        if (i == WORD_FORMAT) {
            snprintf(versions, sizeof versions, "CGX_FORMAT_VERSION %u to %u", record->words[i],
                     ~record->complements[i]);
            also = versions;
        }
        length += (size_t)snprintf(names + length, sizeof names - length, "%s%s%s%s%s",
                                   length ? ", " : "", word_name(i), also ? " (" : "",
                                   also ? also : "", also ? ")" : "");
    }
    cgx_log(
        CGX_LOG_ERROR,
        "ranks differ in %s: %s everywhere; until then every call on this communicator is exact",
        names,
        differs(record, WORD_LIBRARY) || differs(record, WORD_FORMAT) ? "install the same library"
                                                                      : "set the same");
}

static int reduce_record(cgx_mpi_comm comm, struct record *record, cgx_mpi_op op)
{
    return cgx_mpi_reduce(comm, record, 2 * RECORD_WORDS, op);
}

/* ---- whether all ranks have this library ---- */

/* A hash of RANK. The sum of all ranks' hashes hardly ever equals a sum in which ranks are missing
 * or counted more than once. */
static uint32_t rank_hash(uint32_t rank)
{
    uint32_t hash = rank + 0x9E3779B9u;

    hash = (hash ^ hash >> 16) * 0x85EBCA6Bu;
    hash = (hash ^ hash >> 13) * 0xC2B2AE35u;
    return hash ^ hash >> 16;
}

/* Fills as many words as the record has, so that MPI moves them in the same way. */
static void fill_multiples(struct record *record, uint32_t sum)
{
    for (uint32_t i = 0; i < RECORD_WORDS; i++) {
        record->words[i] = sum * (4 * i + 1);
        record->complements[i] = sum * (4 * i + 3);
    }
}

/* Sums a hash of each rank. A rank without this library takes the messages for parts of its own
 * sum, and sends such parts. MPI then finds messages that are too long, or misses the error and
 * adds up what it has. *ALL_HERE: every rank was counted exactly once. */
static int check_preloaded(const struct cgx_comm *state, bool *all_here)
{
    struct record sum, expected;
    uint32_t all = 0;
    int code;

    for (int i = 0; i < state->size; i++)
        all += rank_hash((uint32_t)i);
    fill_multiples(&sum, rank_hash((uint32_t)state->rank));
    fill_multiples(&expected, all);
    code = reduce_record(state->comm, &sum, cgx_mpi()->SUM);
    *all_here = memcmp(&sum, &expected, sizeof sum) == 0;
    return code;
}

/* ---- settings ---- */

int cgx_agree_settings(struct cgx_comm *state, bool ready, bool *equal)
{
    const struct cgx_mpi *mpi = cgx_mpi();
    struct record record;
    bool all_here = false, final = false;
    int code;

    *equal = state->terms.final = false;
    code = check_preloaded(state, &all_here);
    fill_record(&record, &state->terms, ready);
    if (code == CGX_MPI_SUCCESS && all_here)
        code = reduce_record(state->comm, &record, mpi->MIN);
    if (code != CGX_MPI_SUCCESS) {
        cgx_mpi_log_error(
            mpi,
            "ranks could not compare their settings; is every rank of this communicator "
            "preloaded with this library?",
            code);
        return code;
    }
    if (!all_here) {
        cgx_log(CGX_LOG_ERROR, "an all-reduce failed: a rank of this communicator is not preloaded "
                               "with this library");
        return cgx_errors_code(CGX_MPI_SUCCESS);
    }
    *equal = true;
    for (size_t i = 0; i < RECORD_WORDS; i++) {
        bool counts = differs(&record, i);

        *equal = *equal && !counts;
        final = final || (counts && i != WORD_HINTS);
    }
    cgx_timeline_begin();
    if (!*equal && state->rank == 0)
        name_differences(&record);
    state->terms.final = final || (*equal && !ready);
    *equal = *equal && ready;
    return CGX_MPI_SUCCESS;
}
