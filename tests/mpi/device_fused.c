/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

/* Random sums of device buffers, each by one kernel on each rank: "device_fused CALLS SEED TYPE".
 * They equal those of host buffers to the bit. The
 * rules for their counts are in device_fused.test. */

#include <stdlib.h>

#include "lib/check.h"
#include "lib/comms.h"
#include "lib/device.h"
#include "lib/placed.h"

enum { LEAST = 1024, MOST = 17024, LAYERED = 40000, LARGEST = 65536 };

static uint64_t state; /* the same on all ranks */

static uint64_t draw(uint64_t below)
{
    state++;
    return data_random(state, 0, 0) % below;
}

static struct placed draw_sum(enum element type, uint64_t seed)
{
    struct placed sum = {.kind = (enum data_kind)draw(DATA_KINDS),
                         .type = type,
                         .seed = seed,
                         .count = draw(8) == 0 ? LAYERED : LEAST + draw(MOST - LEAST),
                         .from = PLACE_DEVICE,
                         .to = PLACE_DEVICE,
                         .in_place = draw(2) == 0};

    if (draw(3) == 0)
        sum.ahead = draw(24), sum.further = draw(24);
    return sum;
}

int main(int argc, char **argv)
{
    unsigned calls = argc > 1 ? (unsigned)atoi(argv[1]) : 20, agree = 0;
    uint64_t seed = argc > 2 ? strtoull(argv[2], NULL, 10) : 1;
    enum element type = ELEMENT_FLOAT32;
    struct placed sum = {
        .type = type, .count = LARGEST, .from = PLACE_DEVICE, .to = PLACE_DEVICE, .in_place = true};
    unsigned long long launches;
    MPI_Comm comms[2];

    check_begin(&argc, &argv);
    if (!place_begin("one kernel", true) || (argc > 3 && !element_parse(argv[3], &type)) ||
        !element_has_datatype(type))
        return check_end();
    state = seed << 32;
    sum.type = type;
    comms_make(comms, 2);
    /* After these no call needs more memory, which ranks would share by kernels too. */
    check(placed_agrees(&sum, comms[0], comms[1]), "%d elements", LARGEST);
    sum.count = LAYERED;
    check(placed_agrees(&sum, comms[0], comms[1]), "%d elements, by layers", LAYERED);
    launches = device_count().launches;
    for (unsigned i = 0; i < calls && agree == i; i++) {
        sum = draw_sum(type, seed + i);
        agree += placed_agrees(&sum, comms[0], comms[1]);
        if (agree == i)
            check_note("call %u: %zu elements, %s%s", i, sum.count, data_name(sum.kind),
                       sum.in_place ? ", in place" : "");
    }
    launches = device_count().launches - launches;
    check(agree == calls, "%u calls: the bytes of sums of host memory", calls);
    check(launches == calls, "%u calls: one kernel each", calls);
    comms_free(comms, 2);
    return check_end();
}
