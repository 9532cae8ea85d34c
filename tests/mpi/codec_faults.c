/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

/* Faults on one rank, in every operation of the codec and every slice, and messages that do not
 * follow the schedule. Each call ends well on all ranks, or with an MPI error where it must; none
 * hangs, and the next call works. Linked with the library's objects, with cgx_codec_run wrapped.
 * The argument is the number of slices of a call under the present settings, or "history". */
#include <stdlib.h>
#include <string.h>

#include "../lib/tap.h"
#include "codec/codec.h"
#include "lib/check.h"
#include "lib/sums.h"

/* ---- the codec, with a fault in one operation ---- */

static const char *const names[] = {"encode", "reduce", "decode"};

static enum cgx_operation failing = CGX_OPERATIONS;
static unsigned calls_left; /* of the failing operation before it fails */

WRAPPED(enum cgx_status, cgx_codec_run, const struct cgx_codec *codec, const struct cgx_work *work)
{
    if (work->operation == failing && calls_left-- == 0)
        return CGX_ERR_DEVICE;
    return __real_cgx_codec_run(codec, work);
}

/* ---- messages, with a fault in one header ---- */

static void change_plan(unsigned char *message, size_t bytes)
{
    (void)bytes;
    message[4] ^= 0x55; /* the plan's hash */
}

/* ---- calls ---- */

enum { MOST = 1 << 20 };

static float *input, *exact, *result;
static size_t count;
static unsigned slices;

/* What came of a call on one rank. */
enum end { EXACT, COMPRESSED, ERROR, WRONG };

static enum end reduce_once(MPI_Comm comm)
{
    double worst = 0;

    memcpy(result, input, count * sizeof *result);
    if (MPI_Allreduce(MPI_IN_PLACE, result, (int)count, MPI_FLOAT, MPI_SUM, comm) != MPI_SUCCESS)
        return ERROR;
    if (memcmp(result, exact, count * sizeof *result) == 0)
        return EXACT;
    for (size_t i = 0; i < count; i++) {
        double error = result[i] > exact[i] ? result[i] - exact[i] : exact[i] - result[i];

        worst = error > worst ? error : worst;
    }
    /* Inputs lie in [-1, 1]: at 4 bits each quantisation is off by 1/15 or P/15 at the most. */
    return worst < 0.15 * check_size ? COMPRESSED : WRONG;
}

/* On a communicator of its own: a good call, the one in which the operation NTH, from 0, or the
 * message SEND, from 1, has the fault on rank FAULTY, good ones. */
static enum end faulty_call(enum cgx_operation operation, unsigned nth, int send, int faulty,
                            bool *recovers)
{
    MPI_Comm comm = comms_new();
    enum end end;

    *recovers = reduce_once(comm) == COMPRESSED;
    if (check_rank == faulty) {
        failing = operation;
        calls_left = nth;
        call_faults_spoil(send, change_plan);
    }
    end = reduce_once(comm);
    failing = CGX_OPERATIONS;
    call_faults_spoil(0, change_plan);
    for (int i = 0; i < 6; i++) {
        enum end next = reduce_once(comm);

        *recovers = *recovers && (next == EXACT || next == COMPRESSED);
    }
    *recovers = *recovers && reduce_once(comm) == COMPRESSED;
    MPI_Comm_free(&comm);
    return end;
}

static void test_operation(enum cgx_operation operation, unsigned slice, int faulty)
{
    bool last = slice + 1 == slices, recovers, right;
    enum end end = faulty_call(operation, slice, 0, faulty, &recovers);

    if (operation != CGX_DECODE)
        right = end == (slice == 0 ? EXACT : ERROR);
    else if (last)
        right = end == (check_rank == faulty ? ERROR : COMPRESSED);
    else
        right = end == ERROR;
    check(right && recovers, "%s fails in slice %u on rank %d: %s", names[operation], slice, faulty,
          operation != CGX_DECODE && slice == 0 ? "all redo the call exactly"
          : operation == CGX_DECODE && last     ? "that rank has an error"
                                                : "all have an error");
}

static void test_spoilt_message(int send, int faulty)
{
    bool recovers;
    enum end end = faulty_call(CGX_OPERATIONS, 0, send, faulty, &recovers);

    check(end != WRONG && recovers, "message %d of rank %d is spoilt: no wrong result", send,
          faulty);
}

/* A rank that cannot decode a sum has no history either. */
static void test_history(int faulty)
{
    enum { BEFORE = 12, AFTER = 12 };
    MPI_Comm comm = comms_new();
    bool right = true, same = true;

    comms_hint(comm, "cgx_step", "1");
    for (int i = 0; i < BEFORE; i++)
        reduce_once(comm);
    failing = check_rank == faulty ? CGX_DECODE : CGX_OPERATIONS;
    calls_left = 0;
    right = (reduce_once(comm) == ERROR) == (check_rank == faulty);
    failing = CGX_OPERATIONS;
    for (int i = 0; i < AFTER; i++) {
        right = reduce_once(comm) != ERROR && right;
        same = check_same(result, count * sizeof *result, MPI_COMM_WORLD) && same;
    }
    check(right, "decode fails on rank %d, with history: that rank has an error, once", faulty);
    check(same && reduce_once(comm) != EXACT, "later sums are the same on all ranks, compressed");
    MPI_Comm_free(&comm);
}

int main(int argc, char **argv)
{
    bool history;

    check_begin(&argc, &argv);
    history = argc > 1 && strcmp(argv[1], "history") == 0;
    slices = argc > 1 && !history ? (unsigned)atoi(argv[1]) : 1;
    count = slices > 1 ? MOST : 10007;
    input = check_memory(count * sizeof *input);
    exact = check_memory(count * sizeof *exact);
    result = check_memory(count * sizeof *result);
    srand((unsigned)check_rank + 1);
    for (size_t i = 0; i < count; i++)
        input[i] = (float)rand() / (float)RAND_MAX * 2 - 1;
    PMPI_Allreduce(input, exact, (int)count, MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD);

    for (int faulty = 0; faulty < check_size; faulty += check_size - 1) {
        if (history)
            test_history(faulty);
        for (enum cgx_operation operation = CGX_ENCODE; !history && operation <= CGX_DECODE;
             operation++) {
            for (unsigned slice = 0; slice < slices; slice++)
                test_operation(operation, slice, faulty);
        }
        if (slices == 1 && !history) {
            for (int send = 1; send <= 2 * check_size - 2; send++)
                test_spoilt_message(send, faulty);
        }
    }
    free(result);
    free(exact);
    free(input);
    return check_end();
}
