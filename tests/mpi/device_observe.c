/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

/* CGX_ENABLE=observe and buffers of all kinds: sums are exact, to the bit. */

#include <stdlib.h>
#include <string.h>

#include "lib/check.h"
#include "lib/placed.h"

enum { COUNT = 50021, CALLS = 9 };

/* In place is the last. */
static const enum place places[][2] = {
    {PLACE_DEVICE, PLACE_DEVICE},  {PLACE_DEVICE, PLACE_HOST},   {PLACE_PINNED, PLACE_DEVICE},
    {PLACE_MANAGED, PLACE_DEVICE}, {PLACE_DEVICE, PLACE_DEVICE},
};
enum { KINDS = sizeof places / sizeof places[0] };

int main(int argc, char **argv)
{
    char *result = check_memory(COUNT * sizeof(float)),
         *exact = check_memory(COUNT * sizeof(float));

    check_begin(&argc, &argv);
    if (!place_begin("device buffers", false))
        return check_end();
    for (size_t kind = 0; kind < KINDS; kind++) {
        bool good = true;

        for (int i = 0; i < CALLS; i++) {
            const struct placed sum = {.kind = DATA_GAUSSIAN,
                                       .type = ELEMENT_FLOAT32,
                                       .seed = kind * CALLS + (uint64_t)i,
                                       .count = COUNT,
                                       .from = places[kind][0],
                                       .to = places[kind][1],
                                       .in_place = kind == KINDS - 1};

            good = placed_sum(&sum, MPI_COMM_WORLD, result) &&
                   placed_exact(&sum, MPI_COMM_WORLD, exact) &&
                   memcmp(result, exact, COUNT * sizeof(float)) == 0 && good;
        }
        check(good, "from %s to %s%s: exact sums", place_name(places[kind][0]),
              place_name(places[kind][1]), kind == KINDS - 1 ? " in place" : "");
    }
    free(exact);
    free(result);
    return check_end();
}
