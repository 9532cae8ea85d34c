/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

/* usage: bench/gpu_hold
 *
 * Has a context on each device, prints "held", and does nothing until it is killed or ten minutes
 * are over: the driver keeps a device initialised as long as some process uses it, and takes
 * seconds to do it anew for each program else. 77: there is no driver or no device. */
#include <unistd.h>

#include "models/device_memory.h"

enum { SECONDS = 600 };

int main(void)
{
    int count = device_count();

    if (count == 0)
        return 77;
    for (int device = 0; device < count; device++)
        device_allocate(device, 1);
    printf("held\n");
    fflush(stdout);
    sleep(SECONDS);
    return 0;
}
