/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

/* Steps have the same results for device buffers and host buffers, with CGX_BUFFERS=all and
 * CGX_COMPRESSION_MINIMAL_SIZE=1024:
 *
 *   device_steps same [TYPE] | mixed
 *
 * and "peers [TYPE]", as same, over more steps, where payloads of device buffers go from device to
 * device, so that messages are others. */

#include <string.h>

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

int main(int argc, char **argv)
{
    const char *mode = argc > 1 ? argv[1] : "same";
    enum element type = ELEMENT_FLOAT32;

    check_begin(&argc, &argv);
    if (!place_begin("device buffers", false))
        return check_end();
    if (strcmp(mode, "mixed") == 0) {
        test_mixed();
    } else {
        by_peers = strcmp(mode, "peers") == 0;
        if (argc > 2)
            element_parse(argv[2], &type);
        if (element_has_datatype(type))
            test_same(type);
    }
    return check_end();
}
