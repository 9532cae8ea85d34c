/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

/* Errors that a call detects when it begins, on one rank: in the call that ranks agree on, and
 * in one that was agreed long before.
 *   device_input buffers   freed, of another process, or too short
 *   device_input counts    beyond any buffer
 *   device_input memory    device or pinned memory is lacking; software driver only
 *   device_input pins      memory that the driver refuses to pin; software driver only
 *   device_input reset     a communicator whose contexts were destroyed; software driver only */
#define _GNU_SOURCE /* MAP_ANONYMOUS */

#include <limits.h>
#include <stdlib.h>
#include <sys/mman.h>

#include "lib/check.h"
#include "lib/device.h"
#include "lib/sums.h"

enum { COUNT = 4096 + 5 };

static struct device_sum sum;

/* ---- buffers ---- */

enum bad { FREED, FOREIGN, SHORT, BADS };
static const char *const bad_names[] = {"freed", "of another process", "too short"};

/* Stands for a buffer of another process: nothing is mapped at this address. It lies far below what
 * mmap gives, which would be given again, and below the software driver's arena of a TiB. */
static char *make_bad(enum bad bad)
{
    size_t bytes = COUNT * sizeof(float);
    char *buffer;

    /* A real driver may round sizes up. */
    if (bad == SHORT)
        return device_alloc(device_is_soft() ? bytes - sizeof(float) : bytes / 2);
    if (bad == FREED) {
        buffer = device_alloc(bytes);
        device_free(buffer);
        return buffer;
    }
    buffer = mmap(NULL, bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    munmap(buffer, bytes);
    return buffer - ((size_t)1 << 42);
}

/* GOOD calls, then one with a bad buffer on rank FAULTY. */
static void test_buffer(enum bad bad, int good, bool send, int faulty)
{
    MPI_Comm comm = comms_new();
    bool compressed, right = device_sum_right(&sum, good, comm, &compressed);
    struct device_sum spoilt = sum;
    char *buffer = NULL;
    int code;

    device_sum_upload(&sum);
    if (check_rank == faulty) {
        buffer = make_bad(bad);
        *(send ? &spoilt.send : &spoilt.receive) = buffer;
    }
    code = device_sum_call(&spoilt, false, comm);
    check(right && code != MPI_SUCCESS,
          "a %s buffer %s on rank %d, after %d calls: an error on all", send ? "send" : "receive",
          bad_names[bad], faulty, good);
    if (check_rank == faulty && bad == SHORT)
        device_free(buffer);
    right = device_sum_right(&sum, 6, comm, &compressed);
    check(right && compressed, "then calls are right, and compressed again");
    MPI_Comm_free(&comm);
}

static void test_buffers(void)
{
    for (enum bad bad = FREED; bad < BADS; bad++) {
        for (int good = 0; good <= 2; good += 2) {
            test_buffer(bad, good, true, 0);
            test_buffer(bad, good, false, check_size - 1);
        }
    }
}

/* ---- counts ---- */

static void test_count(MPI_Comm comm, const char *when)
{
    bool right, compressed;
    int code = MPI_Allreduce(MPI_IN_PLACE, sum.receive, INT_MAX, MPI_FLOAT, MPI_SUM, comm);

    check(code != MPI_SUCCESS, "%s INT_MAX elements that are not there: an error", when);
    code = MPI_Allreduce(sum.send, sum.receive, INT_MAX, MPI_FLOAT, MPI_SUM, comm);
    check(code != MPI_SUCCESS, "%s and again", when);
#if MPI_VERSION >= 4
    /* Their bytes, in 64 bits, are as few as those of COUNT. */
    code = MPI_Allreduce_c(MPI_IN_PLACE, sum.receive, ((MPI_Count)1 << 62) + COUNT, MPI_FLOAT,
                           MPI_SUM, comm);
    check(code != MPI_SUCCESS, "%s more elements than an address space has: an error", when);
#endif
    /* Refused for buffers that overlap, calls of this kind may wait for four. */
    right = device_sum_right(&sum, 6, comm, &compressed);
    check(right && compressed, "%s then calls are right, and compressed", when);
}

static void test_counts(void)
{
    MPI_Comm comm = comms_new();

    test_count(comm, "at first,");
    test_count(comm, "later,");
    MPI_Comm_free(&comm);
}

/* ---- memory ---- */

/* Rank FAULTY is refused every allocation in so many calls. They are asked for at doubling
 * intervals: in calls 1, 6 and 15. */
static void test_memory(int faulty)
{
    unsigned long long live = device_count().live, asked = 0;
    MPI_Comm comm = comms_new();
    bool exact = true, compressed;

    for (int i = 1; i <= 14; i++) {
        unsigned long long before;
        enum device_end end;
        int code;

        device_sum_upload(&sum);
        before = device_count().operations[SOFTCUDA_ALLOC];
        device_fail(SOFTCUDA_ALLOC, check_rank == faulty ? 1 : 0, true);
        code = device_sum_call(&sum, true, comm);
        device_fail(SOFTCUDA_ALLOC, 0, false);
        end = device_sum_look(&sum, true, code);
        exact = device_sum_alike(&sum, end) && end == DEVICE_EXACT && exact;
        if (device_count().operations[SOFTCUDA_ALLOC] != before)
            asked = asked << 4 | (unsigned)i;
    }
    check(exact, "no memory of the device on rank %d: calls are exact on all ranks", faulty);
    check(check_rank != faulty || asked == 0x16,
          "no memory of the device on rank %d: it is asked "
          "again, ever less often",
          faulty);
    exact = device_sum_right(&sum, 1, comm, &compressed);
    check(exact && compressed, "when rank %d has memory again, calls are compressed", faulty);
    MPI_Comm_free(&comm);
    check(device_count().live == live, "nothing is lost");
}

/* Rank FAULTY is refused to pin memory, but for the first PINNED times. */
static void test_pins(int faulty, unsigned pinned)
{
    unsigned long long live = device_count().live;
    MPI_Comm comm = comms_new();
    bool right, compressed;

    device_fail(SOFTCUDA_PIN, check_rank == faulty ? pinned + 1 : 0, true);
    right = device_sum_right(&sum, 4, comm, &compressed);
    device_fail(SOFTCUDA_PIN, 0, false);
    check(right && compressed,
          "memory is not pinned on rank %d but %u times: calls are right, and compressed", faulty,
          pinned);
    MPI_Comm_free(&comm);
    check(device_count().live == live, "nothing is lost");
}

/* ---- contexts ---- */

/* Contexts go before a communicator that was used in them. */
static void test_reset(void)
{
    unsigned long long live = device_count().live;
    MPI_Comm comm = comms_new();
    bool compressed, right = device_sum_right(&sum, 2, comm, &compressed);

    device_reset(check_rank);
    MPI_Comm_free(&comm);
    device_open(check_rank);
    device_sum_renew(&sum);
    check(device_count().live == live, "a communicator may be freed after its contexts");
    comm = comms_new();
    right &= device_sum_right(&sum, 2, comm, &compressed);
    check(right && compressed, "calls on another are compressed");
    MPI_Comm_free(&comm);
}

int main(int argc, char **argv)
{
    const char *mode = argc > 1 ? argv[1] : "buffers";
    bool soft =
        strcmp(mode, "memory") == 0 || strcmp(mode, "pins") == 0 || strcmp(mode, "reset") == 0;

    check_begin(&argc, &argv);
    if (!place_begin(mode, soft))
        return check_end();
    device_sum_begin(&sum, COUNT);
    if (strcmp(mode, "memory") == 0) {
        test_memory(0);
        test_memory(check_size - 1);
    } else if (strcmp(mode, "pins") == 0) {
        for (unsigned pinned = 0; pinned < 2; pinned++) {
            test_pins(0, pinned);
            test_pins(check_size - 1, pinned);
        }
    } else if (strcmp(mode, "reset") == 0) {
        test_reset();
    } else if (strcmp(mode, "counts") == 0) {
        test_counts();
    } else {
        test_buffers();
    }
    device_sum_end(&sum);
    return check_end();
}
