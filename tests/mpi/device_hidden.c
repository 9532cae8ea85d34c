/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

/* Device sums beyond float16 that a sum of sums hides: the steps of ranks 2 and 3, whose noise
 * cancels, may be 60000 beyond the largest float16. The owner of the last sum detects this on the
 * host; all ranks must have the result of host buffers. */

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "lib/check.h"
#include "lib/device.h"
#include "lib/elements.h"
#include "lib/placed.h"

enum { COUNT = 16384, BUCKET = 64 };
#define LIMIT 65520 /* rounds to infinity */

/* What the ranks add up to is 60000, and PEAK more in one element of each bucket. */
static void fill(uint16_t *elements, double *exact, float peak)
{
    static unsigned long long state = 1;

    for (size_t i = 0; i < COUNT; i++) {
        uint16_t parts[3];
        float noise;

        state = state * 6364136223846793005ull + 1442695040888963407ull;
        noise = 20000 * ((float)(state >> 40) / (float)(1 << 23) - 1);
        element_store(ELEMENT_FLOAT16, parts, 0, 30000);
        element_store(ELEMENT_FLOAT16, parts, 1, noise);
        element_store(ELEMENT_FLOAT16, parts, 2, i % BUCKET == 9 ? peak - noise : -noise);
        exact[i] = 60000 + (double)element_load(ELEMENT_FLOAT16, parts, 1) +
                   (double)element_load(ELEMENT_FLOAT16, parts, 2);
        elements[i] = parts[check_rank < 2 ? 0 : check_rank - 1];
    }
}

/* Sums that are finite and should not be. */
static unsigned count_laundered(const uint16_t *result, const double *exact)
{
    unsigned count = 0;

    for (size_t i = 0; i < COUNT; i++)
        count += exact[i] >= LIMIT && isfinite(element_load(ELEMENT_FLOAT16, result, i));
    return count;
}

int main(int argc, char **argv)
{
    static uint16_t elements[COUNT], on_host[COUNT], on_device[COUNT];
    static double exact[COUNT];
    unsigned laundered = 0, poisoned = 0;
    MPI_Datatype type;
    bool same = true;
    MPI_Comm other;

    check_begin(&argc, &argv);
    type = element_datatype(ELEMENT_FLOAT16);
    if (!place_begin("device buffers", false) || !element_has_datatype(ELEMENT_FLOAT16))
        return check_end();
    MPI_Comm_dup(MPI_COMM_WORLD, &other);
    for (float peak = -6000; peak < 8000; peak += 500) {
        void *send, *receive;

        fill(elements, exact, peak);
        send = device_clone(elements, sizeof elements);
        receive = device_clone(elements, sizeof elements);
        MPI_Allreduce(elements, on_host, COUNT, type, MPI_SUM, other);
        MPI_Allreduce(send, receive, COUNT, type, MPI_SUM, MPI_COMM_WORLD);
        device_download(on_device, receive, sizeof on_device);
        device_free(send);
        device_free(receive);
        laundered += count_laundered(on_device, exact);
        for (size_t i = 0; i < COUNT; i++)
            poisoned += !isfinite(element_load(ELEMENT_FLOAT16, on_device, i));
        same = memcmp(on_host, on_device, sizeof on_host) == 0 && same;
    }
    check(same, "as in host memory");
    check(laundered == 0 && poisoned > 0, "%u sums are not finite, and none that should not be is",
          poisoned);
    MPI_Comm_free(&other);
    return check_end();
}
