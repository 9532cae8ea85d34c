/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

#include "observe/reason.h"

#include <stdatomic.h>
#include <stddef.h>

#include "mpi/config.h"
#include "util/hash.h"
#include "util/log.h"

const struct cgx_reason_words cgx_reasons[CGX_REASONS] = {
    [CGX_REASON_NONE] = {"compressed", "it is compressed", NULL},
    [CGX_REASON_OP] = {"op", "its op is not MPI_SUM", NULL},
    [CGX_REASON_TYPE] = {"type", "its elements are not float32, float16 or bfloat16",
                         "sum gradients in one of these"},
    [CGX_REASON_SMALL] = {"small", "it has too few elements (CGX_COMPRESSION_MINIMAL_SIZE)", NULL},
    [CGX_REASON_LARGE] = {"large", "it has more than 2^48 elements", NULL},
    [CGX_REASON_NO_COMMUNICATOR] = {"no_communicator",
                                    "it has no communicator, or one that is being freed", NULL},
    [CGX_REASON_INTERCOMMUNICATOR] = {"intercommunicator", "an intercommunicator",
                                      "sum on a communicator of one group"},
    [CGX_REASON_ONE_RANK] = {"one_rank", "one rank",
                             "start more ranks, and see that all are of one MPI job"},
    [CGX_REASON_OUTSIDE_WORLD] = {"outside_world", "a member outside MPI_COMM_WORLD",
                                  "start all ranks by one mpiexec"},
    [CGX_REASON_DIFFER] = {"differ", "ranks differ",
                           "give all ranks the settings and hints that the error line names"},
    [CGX_REASON_SETTING_REFUSED] = {"setting_refused", "a setting was refused",
                                    "correct the value that the error line names"},
    [CGX_REASON_ENABLE] = {"enable", "CGX_ENABLE=0", NULL},
    [CGX_REASON_HINT_REFUSED] = {"hint_refused", "a hint was refused",
                                 "correct the hint that the error line names"},
    [CGX_REASON_HINT_ENABLE] = {"hint_enable", "the hint cgx_enable", NULL},
    [CGX_REASON_FIRST] = {"first", "it is one of the first 3 of its communicator",
                          "make the communicator once, and sum on it in every step"},
    [CGX_REASON_NOT_RECURRING] = {"not_recurring", "it does not recur, or not yet",
                                  "if all large sums are gradients, say so: a file with the line "
                                  "'-> recurs=always', named by CGX_RULES or cgxrun --rules; or "
                                  "'-> step=N', N large sums in a step"},
    [CGX_REASON_STRAY] = {"stray", "it is no part of the program's step",
                          "if it is a gradient, say recurs=always in CGX_RULES"},
    [CGX_REASON_RULE] = {"rule", "a rule of CGX_RULES", NULL},
    [CGX_REASON_HINT] = {"hint", "a hint of its communicator", NULL},
    [CGX_REASON_LOOKED_AT] = {"looked_at", "ranks look at 11 sums like it first",
                              "let the program run for more steps"},
    [CGX_REASON_HELD] = {"held", "this call's sum, or those before it, did not look like gradients",
                         "if these are gradients, say consensus=off in CGX_RULES"},
    [CGX_REASON_SLOWER] =
        {"slower", "exact sums of its size took less time here, or were measured",
         "to compress all the same, set CGX_COMPRESSION_MINIMAL_SIZE to a number"},
    [CGX_REASON_NULL] = {"null", "a buffer is NULL", NULL},
    [CGX_REASON_OVERLAP] = {"overlap", "the buffers overlap", "use MPI_IN_PLACE"},
    [CGX_REASON_UNREACHABLE] = {"unreachable",
                                "a buffer is shorter than the count says, or was freed", NULL},
    [CGX_REASON_HOST_MEMORY] = {"host_memory", "a buffer is in host memory (CGX_BUFFERS=device)",
                                "set CGX_BUFFERS=all or host"},
    [CGX_REASON_DEVICE_MEMORY] = {"device_memory",
                                  "a buffer is in device memory (CGX_BUFFERS=host)",
                                  "set CGX_BUFFERS=all or device"},
    [CGX_REASON_UNKNOWN_SUM] = {"unknown_sum",
                                "its op is the program's own, on two bytes, and no rule has op=, "
                                "or the elements have gaps",
                                "if it sums float16 or bfloat16, say op=float16 or op=bfloat16 in "
                                "CGX_RULES"},
    [CGX_REASON_NO_MEMORY] = {"no_memory", "out of memory", "set CGX_FUSION_BUFFER_SIZE_MB lower"},
    [CGX_REASON_COMMUNICATORS] = {"communicators", "too many communicators with compressed calls",
                                  "free communicators that are no longer used"},
    [CGX_REASON_DEVICE] = {"device", "the device of a buffer, or its memory, cannot be used",
                           "see the lines before this one"},
    [CGX_REASON_DEVICE_LOST] = {"device_lost", "the device of a buffer is lost", NULL},
    [CGX_REASON_PEERS] =
        {"peers", "local peers cannot reach the memory that its buffers have come to lie in",
         "set CGX_INNER_COMMUNICATOR_TYPE=SHM"},
    [CGX_REASON_OTHER_RANK] = {"other_rank", "another rank declines",
                               "set CGX_LOG=debug, and that rank says why"},
    [CGX_REASON_OBSERVED] = {"observed", "CGX_ENABLE=observe, else it would be compressed", NULL},
};

/* ---- the log ---- */

#define KINDS 4096

/* Whether HASH is new; false too if the table is full. */
static bool is_new(uint32_t hash)
{
    static _Atomic uint32_t seen[KINDS];

    if (hash == 0)
        hash = 1;
    for (size_t i = 0; i < KINDS; i++) {
        uint32_t none = 0;
        _Atomic uint32_t *place = &seen[(hash + i) % KINDS];

        if (atomic_compare_exchange_strong(place, &none, hash))
            return true;
        if (none == hash)
            return false;
    }
    return false;
}

void cgx_reason_log(enum cgx_reason reason, const struct cgx_request *request)
{
    uint64_t kind[] = {(uint64_t)request->count, (uintptr_t)request->datatype,
                       (uintptr_t)request->op, reason, 0};
    int ranks = 0;

    cgx_mpi()->Comm_size(request->comm, &ranks);
    kind[4] = (uint64_t)ranks;
    if (is_new(cgx_hash(CGX_HASH_START, kind, sizeof kind)))
        cgx_log(CGX_LOG_DEBUG, "calls of %lld elements on %d ranks: exact: %s",
                (long long)request->count, ranks, cgx_reasons[reason].text);
}
