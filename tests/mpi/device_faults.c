/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

/* Each device operation of compressed calls with SLICES slices fails once, on one rank, from an
 * agreement to the first compressed calls and to a steady state:
 *   device_faults once SLICES      allocations (on the host too), copies and launches are refused
 *   device_faults sticky SLICES    copies and kernels fail when they are executed
 *   device_faults lost SLICES      every driver call fails, from one on
 *   device_faults kernels RANK     the device of the "first" or "last" rank cannot run the kernels
 * A third argument is the number of elements.
 * Linked with the library's objects. */
#include <stdlib.h>

#include "../lib/tap.h"
#include "coll/slice.h"
#include "cuda/driver.h"
#include "lib/check.h"
#include "lib/device.h"
#include "lib/slices.h"
#include "lib/sums.h"

enum { COUNT = 2048 + 77, CALLS = 2 };

static struct device_sum sum;
static unsigned stride; /* of several slices every other operation fails on a rank */

/* ---- the library ---- */

static bool can_load = true;

static CUresult load_nothing(CUmodule *module, const void *image)
{
    (void)module, (void)image;
    return CUDA_ERROR_NO_BINARY_FOR_GPU;
}

/* The library finds this one before its own. */
WRAPPED(const struct cgx_cuda *, cgx_cuda, void)
{
    static struct cgx_cuda without;
    const struct cgx_cuda *driver = __real_cgx_cuda();

    if (can_load || driver == NULL)
        return driver;
    without = *driver;
    without.cuModuleLoadData = load_nothing;
    return &without;
}

/* ---- one fault ---- */

/* An operation of the device, or an allocation on the host. */
#define HOST SOFTCUDA_KINDS

static struct {
    enum softcuda_kind kind;
    unsigned left; /* operations in calls up to the one that fails; 0: there was none, or it was */
    unsigned long long before;
    struct device_thread thread; /* before */
    bool decoding; /* it came as the last sums were copied to the device, or after that */
    bool pulling;  /* from other devices: local peers may fail too */
} fault;

static unsigned long long host_allocations;
static unsigned host_left;

static bool host_fails(void)
{
    host_allocations++;
    return host_left > 0 && --host_left == 0;
}

WRAPPED(void *, malloc, size_t bytes)
{
    return host_fails() ? NULL : __real_malloc(bytes);
}

WRAPPED(void *, calloc, size_t count, size_t bytes)
{
    return host_fails() ? NULL : __real_calloc(count, bytes);
}

WRAPPED(void *, cgx_pages_map, size_t bytes, int file)
{
    return host_fails() ? NULL : __real_cgx_pages_map(bytes, file);
}

static unsigned long long operations(void)
{
    return fault.kind == HOST ? host_allocations : device_count().operations[fault.kind];
}

/* 0: none; a lost device is found again. */
static void fail_nth(unsigned nth)
{
    if (fault.kind == HOST)
        host_left = nth;
    else
        device_fail(fault.kind, nth, false);
}

static void arm(void)
{
    fault.thread = device_thread();
    fault.before = operations();
    fault.decoding = fault.pulling = false;
    fail_nth(fault.left);
}

/* Returns whether the fault came about. *KEPT: false, where the thread is not as it was. */
static bool disarm(bool *kept)
{
    unsigned long long done = operations() - fault.before;
    bool hit = fault.left > 0 && done >= fault.left;

    fail_nth(0);
    *kept &= device_thread_is(&fault.thread);
    fault.left = hit || fault.left == 0 ? 0 : fault.left - (unsigned)done;
    return hit;
}

/* Whether it is still to come. */
static bool is_ahead(void)
{
    return operations() - fault.before < fault.left;
}

WRAPPED(enum cgx_status, cgx_slice_decode, struct cgx_slice *slice)
{
    if (slice->number + 1 == slices)
        fault.decoding = fault.decoding || is_ahead();
    return __real_cgx_slice_decode(slice);
}

WRAPPED(enum cgx_status, cgx_slice_post, struct cgx_slice *slice)
{
    if (slice->number + 1 == slices && !cgx_slice_is_early(slice))
        fault.decoding = fault.decoding || is_ahead();
    fault.pulling = fault.decoding && slice->pull == CGX_PULL_DEVICE;
    return __real_cgx_slice_post(slice);
}

static bool anywhere(bool here)
{
    return !check_everywhere(!here, MPI_COMM_WORLD);
}

/* ---- operations that are refused ---- */

/* What came of many faults: of calls with one, and whether all went as it should. */
struct tally {
    unsigned hits, alone, ends[DEVICE_ENDS];
    bool alike, told, recovers, again, kept;
};
static const struct tally no_tally = {
    .alike = true, .told = true, .recovers = true, .again = true, .kept = true};

static bool is_good(const struct tally *tally)
{
    return tally->alike && tally->told && tally->recovers && tally->again && tally->kept;
}

/* The NTH operation fails on rank FAULTY in one of CALLS calls on a new communicator.
 * Returns whether there were as many. */
static bool fail_once(unsigned nth, int faulty, struct tally *tally)
{
    unsigned long long live = device_live();
    MPI_Comm comm = comms_new();
    bool hit = false, right, compressed = false, was_good = is_good(tally);

    fault.left = check_rank == faulty ? nth : 0;
    for (int i = 0; i < CALLS; i++) {
        bool hit_now, in_place = i % 2 == 0;
        enum device_end end;
        int code;

        device_sum_upload(&sum);
        arm();
        code = device_sum_call(&sum, in_place, comm);
        hit_now = anywhere(disarm(&tally->kept));
        end = device_sum_look(&sum, in_place, code);
        right = device_sum_alike(&sum, end);
        if (hit_now) {
            tally->ends[end]++;
            tally->alike &= right;
        } else {
            tally->recovers &= right && end != DEVICE_ERROR;
        }
        hit |= hit_now;
    }
    right = device_sum_right(&sum, 5, comm, &compressed);
    tally->recovers &= right;
    /* A communicator whose state was not to be had stays exact. */
    tally->again &= compressed || fault.kind == HOST;
    MPI_Comm_free(&comm);
    tally->kept &= device_live() == live;
    if (was_good && !is_good(tally))
        check_note("the first that ends badly: number %u", nth);
    return hit;
}

static void test_once(enum softcuda_kind kind, const char *name, int faulty)
{
    struct tally tally = no_tally;
    unsigned nth = faulty > 0 ? stride : 1;

    fault.kind = kind;
    while (fail_once(nth, faulty, &tally))
        nth += stride;
    check_note("%u %s on rank %d: %u calls compressed, %u exact, %u errors", nth - 1, name, faulty,
               tally.ends[DEVICE_COMPRESSED], tally.ends[DEVICE_EXACT], tally.ends[DEVICE_ERROR]);
    /* Memory of the device is a communicator's, whatever its slices. */
    check(nth > (kind == SOFTCUDA_ALLOC ? 5 : 5 * slices), "%s of rank %d fail", name, faulty);
    check(tally.alike, "%s of rank %d fail: the call ends alike on all ranks", name, faulty);
    check(tally.recovers, "%s of rank %d fail: the next calls are right", name, faulty);
    check(tally.again, "%s of rank %d fail: later calls are compressed", name, faulty);
    check(tally.kept, "%s of rank %d fail: all is put back", name, faulty);
    if (slices == 1 || kind == SOFTCUDA_ALLOC || kind == HOST)
        check(tally.ends[DEVICE_ERROR] == 0, "%s of rank %d fail: no call is an error", name,
              faulty);
}

/* ---- a device that does not come back ---- */

/* What came of the call with the fault, which was on rank FAULTY. */
static void judge(struct tally *tally, int faulty, MPI_Comm comm, int code, bool in_place)
{
    bool here = check_rank == faulty;
    bool decoding = anywhere(here && fault.decoding);
    bool pulling = anywhere(here && fault.pulling);
    bool error = anywhere(here && code != MPI_SUCCESS), right;

    tally->hits++;
    if (!decoding || !error) {
        /* A device that is lost when all is done does no harm. */
        enum device_end end = here && fault.kind == SOFTCUDA_ASYNC && code == MPI_SUCCESS
                                  ? DEVICE_WRONG
                                  : device_sum_look(&sum, in_place, code);

        right = device_sum_alike(&sum, end);
        tally->alike &= right && (decoding || end == DEVICE_ERROR);
        return;
    }
    tally->alone++;
    if (code != MPI_SUCCESS)
        right = here || pulling;
    else
        right = !here && device_sum_look(&sum, in_place, code) == DEVICE_COMPRESSED;
    tally->alike &= check_everywhere(right, MPI_COMM_WORLD);
    if (!here)
        device_sum_upload(&sum);
    else if (fault.kind == SOFTCUDA_LOST)
        device_fail(SOFTCUDA_LOST, 1, false);
    code = device_sum_call(&sum, in_place, comm);
    tally->told &= check_everywhere(code != MPI_SUCCESS, MPI_COMM_WORLD);
}

/* The NTH operation of call CALL fails; the rank then gets a new context. Whether there was one. */
static bool fail_for_good(unsigned nth, int call, int faulty, struct tally *tally)
{
    unsigned long long live = device_live();
    MPI_Comm comm = comms_new();
    bool hit, compressed = false, in_place = nth % 2 == 0, was_good = is_good(tally);
    int code;

    if (call > 1)
        tally->recovers &= device_sum_right(&sum, call - 1, comm, &compressed);
    device_sum_upload(&sum);
    fault.left = check_rank == faulty ? nth : 0;
    arm();
    code = device_sum_call(&sum, in_place, comm);
    hit = anywhere(disarm(&tally->kept));
    if (hit) {
        judge(tally, faulty, comm, code, in_place);
        if (check_rank == faulty) {
            fail_nth(0);
            device_reset(check_rank);
            device_open(check_rank);
            device_sum_renew(&sum);
        }
    }
    tally->recovers &= device_sum_right(&sum, 6, comm, &compressed);
    tally->again &= compressed;
    MPI_Comm_free(&comm);
    tally->kept &= device_live() == live;
    if (was_good && !is_good(tally))
        check_note("the first that ends badly: number %u", nth);
    return hit;
}

static void test_for_good(enum softcuda_kind kind, const char *name, int call, int faulty)
{
    struct tally tally = no_tally;

    fault.kind = kind;
    for (unsigned nth = faulty > 0 ? stride : 1; fail_for_good(nth, call, faulty, &tally);)
        nth += stride;
    check_note("call %d, %s of rank %d: %u, of them %u errors of that rank alone", call, name,
               faulty, tally.hits, tally.alone);
    check(tally.hits * stride >= 3 * slices, "call %d, rank %d, %s", call, faulty, name);
    check(tally.alike,
          "call %d, rank %d, %s: an error on all ranks, or on that one in the last decode", call,
          faulty, name);
    check(tally.told, "call %d, rank %d, %s: then the next call is an error on all", call, faulty,
          name);
    check(tally.recovers, "call %d, rank %d, %s: with a new context calls are right", call, faulty,
          name);
    check(tally.again, "call %d, rank %d, %s: and compressed", call, faulty, name);
    check(tally.kept, "call %d, rank %d, %s: all is put back", call, faulty, name);
}

/* ---- a device that is too old or too new ---- */

static void test_kernels(int faulty)
{
    unsigned long long live = device_live();
    MPI_Comm comm = comms_new();
    bool exact = true;

    can_load = check_rank != faulty;
    for (int i = 0; i < 7; i++) {
        enum device_end end = device_sum_once(&sum, i % 2 == 0, comm);

        exact = device_sum_alike(&sum, end) && end == DEVICE_EXACT && exact;
    }
    check(exact, "kernels do not run on rank %d: calls are exact", faulty);
    can_load = true;
    MPI_Comm_free(&comm);
    check(device_live() == live, "kernels do not run on rank %d: nothing is lost", faulty);
}

int main(int argc, char **argv)
{
    const char *mode = argc > 1 ? argv[1] : "once", *which = argc > 2 ? argv[2] : "1";
    bool last = strcmp(which, "last") == 0;

    slices = strcmp(mode, "kernels") != 0 ? (unsigned)atoi(which) : 1;
    stride = slices > 1 ? 2 : 1;
    check_begin(&argc, &argv);
    if (!place_begin(mode, true))
        return check_end();
    device_set_capture_mode(1); /* not the default */
    device_sum_begin(&sum, argc > 3 ? (size_t)atoi(argv[3]) : COUNT);
    for (int faulty = 0; faulty < check_size; faulty += check_size - 1) {
        if (strcmp(mode, "once") == 0) {
            test_once(SOFTCUDA_ALLOC, "allocations", faulty);
            test_once(HOST, "allocations on the host", faulty);
            test_once(SOFTCUDA_COPY, "copies", faulty);
            test_once(SOFTCUDA_LAUNCH, "launches", faulty);
        } else if (strcmp(mode, "sticky") == 0) {
            test_for_good(SOFTCUDA_ASYNC, "work fails", 1, faulty);
            test_for_good(SOFTCUDA_ASYNC, "work fails", 2, faulty);
        } else if (strcmp(mode, "kernels") == 0) {
            /* A rank that has loaded them keeps them. */
            if ((faulty > 0) == last)
                test_kernels(faulty);
        } else {
            test_for_good(SOFTCUDA_LOST, "the device is lost", 1, faulty);
            test_for_good(SOFTCUDA_LOST, "the device is lost", 2, faulty);
        }
    }
    device_sum_end(&sum);
    return check_end();
}
