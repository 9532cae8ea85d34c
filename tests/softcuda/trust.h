/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

/* What the kernels of trust.cpp and planted.cpp work on. Compiled with device.h. */
#ifndef SOFTCUDA_TRUST_H
#define SOFTCUDA_TRUST_H

extern "C" {
#include "lib/tap.h"
}

#define ALL 0xFFFFFFFFu

enum { THREADS = 256 };

struct arguments {
    unsigned *data; /* THREADS elements, 0, 1, 2 ... */
    unsigned *out;  /* twice as many zeros */
    unsigned count; /* THREADS */
};

static unsigned data[THREADS], out[2 * THREADS];
static const arguments usual = {data, out, THREADS};

#define RUN(name, blocks, threads) \
    softcuda_run(SOFTCUDA_KERNEL(name, arguments), &usual, (blocks), (threads))

/* Sets the order of the runs to come and fills the memory. */
static void set_order(const char *order)
{
    setenv("SOFTCUDA_ORDER", order, 1);
    for (unsigned i = 0; i < THREADS; i++)
        data[i] = i;
    memset(out, 0, sizeof out);
}

#endif
