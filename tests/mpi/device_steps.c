/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

/* Steps have the same results for device buffers and host buffers, with CGX_BUFFERS=all and
 * CGX_COMPRESSION_MINIMAL_SIZE=1024:
 *
 *   device_steps same [TYPE] | mixed | faults KIND
 *
 * and "peers [TYPE]", as same, over more steps, where payloads of device buffers go from device to
 * device, so that messages are others. */

#include <string.h>

#include "../lib/tap.h"
#include "lib/check.h"
#include "lib/comms.h"
#include "lib/device.h"
#include "lib/steps.h"

#define PARTS 8

static bool by_peers;

/* Steps up to compressed ones, and some of them. */
#define SETTLED 12

static void begin(struct steps *steps, enum element type, enum place place)
{
    static const struct steps_part parts[PARTS] = {
        {20011, DATA_GAUSSIAN, 1, 0, false},   {4096, DATA_HEAVY, 0.1, 0, false},
        {9000, DATA_SPARSE, 1, 0.5, false},    {5000, DATA_GAUSSIAN, 0.03, 0, false},
        {1024, DATA_GAUSSIAN, 1, 0, true},     {7001, DATA_GAUSSIAN, 4, 0, true},
        {4097, DATA_GAUSSIAN, 0.01, 0, false}, {6000, DATA_SCALES, 0.01, 0, false}};

    steps_begin(steps, MPI_COMM_WORLD, parts, PARTS);
    steps->type = type;
    steps->place = place;
    comms_hint(steps->comm, "cgx_layers", "5000,1024:exact,7001");
}

/* ---- the same bytes ---- */

/* In one step there are values that are not finite. */
static void compare(struct steps *here, struct steps *there, const char *name)
{
    bool right = true, same = true, traffic = true;
    int others = 0; /* steps with other collectives: the one in which HERE needs a private
                     * communicator, which is made then and THERE has too */

    for (int i = 0; i < (by_peers ? 50 : SETTLED + 6); i++) {
        here->parts[0].kind = there->parts[0].kind = i == SETTLED ? DATA_NONFINITE : DATA_GAUSSIAN;
        here->parts[2].scale = there->parts[2].scale = i > SETTLED ? 30 : 1;
        right &= steps_take_both(here, there, 1);
        same = same && here->digest == there->digest;
        traffic = traffic && here->bytes == there->bytes && here->messages == there->messages;
        others += here->collectives != there->collectives;
    }
    check(right, "%s: right, and the same on all ranks", name);
    check(same, "%s: the results of host buffers, to the bit", name);
    if (!by_peers)
        check(traffic && others <= 1, "%s: the messages of host buffers, to the byte", name);
    check_note("%s: %llu bytes in the last step", name, (unsigned long long)here->bytes);
}

static void test_same(enum element type)
{
    struct steps device, host;

    begin(&device, type, PLACE_DEVICE);
    begin(&host, type, PLACE_HOST);
    compare(&device, &host, "device buffers");
    steps_end(&device);
    steps_end(&host);
}

/* Rank 0 has host buffers, rank 1 managed memory, the others device memory. */
static void test_mixed(void)
{
    struct steps mixed, host;

    begin(&mixed, ELEMENT_FLOAT32,
          check_rank == 0   ? PLACE_HOST
          : check_rank == 1 ? PLACE_MANAGED
                            : PLACE_DEVICE);
    begin(&host, ELEMENT_FLOAT32, PLACE_HOST);
    compare(&mixed, &host, "mixed buffers");
    steps_end(&mixed);
    steps_end(&host);
}

/* ---- faults ---- */

#define CALLS 6

/* Set on the rank that fails: of call CALL of a step, operation number NTH of KIND does, once: the
 * next call may be exact, in which a rank's failure is its own. */
static struct {
    enum softcuda_kind kind;
    unsigned nth; /* 0: none */
    unsigned call;
    unsigned failed;
} fault;

static void fail(bool before)
{
    static unsigned long long start;
    static unsigned calls; /* begun and ended */

    unsigned call = calls++ / 2 % CALLS;

    if (fault.nth == 0 || call != fault.call)
        return;
    if (before) {
        start = device_count().operations[fault.kind];
        device_fail(fault.kind, fault.nth, false);
        return;
    }
    device_fail(fault.kind, 0, false);
    if (device_count().operations[fault.kind] - start < fault.nth)
        return;
    fault.failed++;
    fault.nth = 0;
}

/* In each of some steps one call fails on one rank: it is exact then, unless what failed was a copy
 * of that. */
static void test_faults(enum softcuda_kind kind, const char *name, unsigned most)
{
    struct steps steps;
    bool right = true;

    begin(&steps, ELEMENT_FLOAT32, PLACE_DEVICE);
    steps.around = fail;
    fault.kind = kind;
    right &= steps_take_all(&steps, SETTLED);
    for (unsigned nth = 1; nth <= most; nth++) {
        fault.nth = check_rank == (int)nth % check_size ? nth : 0;
        fault.call = nth * 5 % CALLS;
        for (int i = 0; i < 3; i++)
            right &= steps_take(&steps) || (steps.failed && kind == SOFTCUDA_COPY);
        fault.nth = 0;
        right &= steps_take(&steps);
    }
    /* What failed is tried again after more and more calls. */
    for (int i = 0; i < 70 && (i < 4 || steps_exact(&steps) > 1); i++)
        right &= steps_take(&steps);
    check(right, "%s fails: right, and the same on all ranks", name);
    check(steps_exact(&steps) <= 1, "%s fails: compressed again", name);
    check(check_rank != 1 || fault.failed > 0 || kind == SOFTCUDA_ALLOC, "%s has failed", name);
    check_note("%s failed %u times on rank 0", name, fault.failed);
    steps_end(&steps);
}

int main(int argc, char **argv)
{
    const char *mode = argc > 1 ? argv[1] : "same";
    const char *what = argc > 2 ? argv[2] : "";
    enum element type = ELEMENT_FLOAT32;

    check_begin(&argc, &argv);
    if (!place_begin("device buffers", false))
        return check_end();
    if (strcmp(mode, "mixed") == 0) {
        test_mixed();
    } else if (strcmp(mode, "same") == 0 || strcmp(mode, "peers") == 0) {
        by_peers = strcmp(mode, "peers") == 0;
        element_parse(what, &type);
        if (element_has_datatype(type))
            test_same(type);
    } else if (device_is_soft()) {
        test_faults(strcmp(what, "copy") == 0     ? SOFTCUDA_COPY
                    : strcmp(what, "launch") == 0 ? SOFTCUDA_LAUNCH
                                                  : SOFTCUDA_ALLOC,
                    what, 8);
    } else if (check_rank == 0) {
        skip("faults", "a real device does not fail when it is told to");
    }
    return check_end();
}
