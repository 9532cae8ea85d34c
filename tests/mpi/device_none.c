/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

/* Without a device everything works as with host buffers: "device_none [loaded]". With "loaded" the
 * program has loaded a driver that has no device. Warm-up is off. */

#include <stdlib.h>
#include <string.h>

#include "lib/bound.h"
#include "lib/check.h"
#include "lib/device.h"
#include "lib/sum.h"
#include "lib/traffic.h"

enum { COUNT = 20011 };

int main(int argc, char **argv)
{
    const char *buffers = getenv("CGX_BUFFERS");
    const struct scheme scheme = scheme_from_environment(ELEMENT_FLOAT32);
    static float result[COUNT], exact[COUNT];

    check_begin(&argc, &argv);
    if (argc > 1)
        check(!device_open(0), "there is no device");
    for (int shape = 0; shape < SUM_SHAPES; shape++) {
        struct sum sum = {DATA_GAUSSIAN, ELEMENT_FLOAT32, (uint64_t)shape, COUNT,
                          (enum sum_shape)shape};
        uint64_t before = traffic_messages();
        bool good = sum_reduce(&sum, MPI_COMM_WORLD, result), sent = traffic_messages() > before;

        good = sum_exact(&sum, MPI_COMM_WORLD, exact) && good;
        if (buffers && strcmp(buffers, "all") == 0)
            check(good && sent && check_same(result, sizeof result, MPI_COMM_WORLD) &&
                      bound_holds(&scheme, sum.kind, sum.seed, COUNT, result, MPI_COMM_WORLD),
                  "%s: compressed", sum_shape_name(sum.shape));
        else
            check(good && !sent && memcmp(result, exact, sizeof result) == 0, "%s: exact",
                  sum_shape_name(sum.shape));
    }
    return check_end();
}
