/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

/* Adaptive widths are the same for device buffers and host buffers, with CGX_BUFFERS=all,
 * CGX_COMPRESSION_MINIMAL_SIZE=1024 and CGX_ADAPTIVE=period=3:
 *
 *   device_adaptive same [TYPE] | mixed | faults KIND | refused
 *
 * and "fixed [TYPE]", as same, with CGX_ADAPTIVE=0, and "peers [TYPE]", as same, over more steps,
 * where payloads of device buffers go from device to device, so that messages are others. */

#include <math.h>
#include <string.h>

#include "../lib/tap.h"
#include "lib/check.h"
#include "lib/comms.h"
#include "lib/device.h"
#include "lib/steps.h"

#define PARTS 8

static bool adapts = true, by_peers;

/* Steps up to the first plan, and two with it. */
#define PLANNED (3 + STEPS_AT_BASE + 2)

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

/* In the first step with a plan there are values that are not finite. */
static void compare(struct steps *here, struct steps *there, const char *name)
{
    bool right = true, same = true, traffic = true, plans = false;
    int others = 0; /* steps with other collectives: the one in which HERE needs a private
                     * communicator, which is made then and THERE has too */

    for (int i = 0; i < (by_peers ? 50 : PLANNED + 6); i++) {
        here->parts[0].kind = there->parts[0].kind = i == PLANNED ? DATA_NONFINITE : DATA_GAUSSIAN;
        here->parts[2].scale = there->parts[2].scale = i > PLANNED ? 30 : 1;
        right &= steps_take_both(here, there, 1);
        same = same && here->digest == there->digest;
        traffic = traffic && here->bytes == there->bytes && here->messages == there->messages;
        others += here->collectives != there->collectives;
        plans = plans || here->measurements > 0;
    }
    check(right, "%s: right, and the same on all ranks", name);
    check(plans == adapts, "%s: plans are made, if widths adapt", name);
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

/* In the steps up to a plan, the measured one included, one call fails on one rank: it is exact
 * then, unless what failed was a copy of that. */
static void test_faults(enum softcuda_kind kind, const char *name, unsigned most)
{
    struct steps steps;
    bool right = true;

    begin(&steps, ELEMENT_FLOAT32, PLACE_DEVICE);
    steps.around = fail;
    fault.kind = kind;
    right &= steps_take_all(&steps, PLANNED);
    for (unsigned nth = 1; nth <= most; nth++) {
        fault.nth = check_rank == (int)nth % check_size ? nth : 0;
        fault.call = nth * 5 % CALLS;
        do
            right &= steps_take(&steps) || (steps.failed && kind == SOFTCUDA_COPY);
        while (steps.measurements == 0);
        fault.nth = 0;
        right &= steps_take(&steps);
    }
    /* What failed is tried again after more and more calls. */
    for (int i = 0; i < 70 && (i < 4 || steps_exact(&steps) > 1); i++)
        right &= steps_take(&steps);
    check(right, "%s fails while widths are measured: right, and the same on all ranks", name);
    check(steps_exact(&steps) <= 1, "%s fails while widths are measured: compressed again", name);
    check(check_rank != 1 || fault.failed > 0 || kind == SOFTCUDA_ALLOC, "%s has failed", name);
    check_note("%s failed %u times on rank 0", name, fault.failed);
    steps_end(&steps);
}

/* A call that is exact for a while, since a rank could not serve it once, has no error that the
 * others could make up for. */
static void test_refused(void)
{
    static const struct steps_part parts[CALLS] = {
        {20011, DATA_GAUSSIAN, 4, 0, false},  {9000, DATA_GAUSSIAN, 1, 0, false},
        {9001, DATA_GAUSSIAN, 0.5, 0, false}, {9002, DATA_GAUSSIAN, 1, 0, false},
        {9003, DATA_GAUSSIAN, 0.7, 0, false}, {9004, DATA_GAUSSIAN, 1.2, 0, false}};
    struct steps steps, base;
    bool right, exact = true;
    double worst = 0;

    steps_begin(&steps, MPI_COMM_WORLD, parts, CALLS);
    steps_begin_at(&base, &steps, "4");
    steps.place = PLACE_DEVICE;
    steps.around = fail;
    fault.kind = SOFTCUDA_LAUNCH;
    right = steps_take_both(&steps, &base, PLANNED);
    fault.call = 0;
    fault.nth = check_rank == 0;
    right &= steps_take_both(&steps, &base, 1);
    fault.nth = 0;
    for (int i = 0; i < 4; i++) {
        right &= steps_take_both(&steps, &base, 1);
        exact = exact && steps.found[0].exact;
        if (i > 0)
            worst = fmax(worst, steps.square / (base.square - base.found[0].square));
    }
    check(right && exact, "one call is exact: right");
    check(worst <= 1.1,
          "one call is exact: the others keep to what the base width would do to them");
    check_note("error up to %.3f of that of the others at 4 bits", worst);
    right = steps_take_both(&steps, &base, 5 + STEPS_AT_BASE + 2);
    check(right && steps_exact(&steps) == 0 && steps.square <= base.square,
          "one call was exact: compressed again, and within the budget");
    steps_end(&steps);
    steps_end(&base);
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
    } else if (strcmp(mode, "refused") == 0 && device_is_soft()) {
        test_refused();
    } else if (strcmp(mode, "same") == 0 || strcmp(mode, "fixed") == 0 ||
               strcmp(mode, "peers") == 0) {
        adapts = strcmp(mode, "fixed") != 0;
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
