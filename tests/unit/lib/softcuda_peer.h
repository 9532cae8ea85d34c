/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

/* Another process for tests of memory that processes share: it allocates and does what it is asked.
 * Both processes have a context, memory and a kernel. */
#ifndef CGX_TESTS_UNIT_SOFTCUDA_PEER_H
#define CGX_TESTS_UNIT_SOFTCUDA_PEER_H

#include "unit/lib/softcuda_helpers.h"

enum { WORDS = 300, BYTES = WORDS * 4 };

static const unsigned lazy = CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS;

extern CUcontext context;
extern CUdeviceptr own; /* BYTES */
extern CUfunction add;  /* of the context that was current when it was loaded */

/* Makes what both processes have; without the other process. */
void start_alone(void);
/* Before any call of the driver, which the other process does not inherit. */
void start_both(void);
/* Ends both contexts and the other process: two results. */
void end_both(void);

void load_add(void);
/* Queues a kernel that adds ADDEND to each of so many words. */
void add_to(CUdeviceptr words, unsigned count, unsigned addend);
unsigned word(CUdeviceptr words, unsigned which);
unsigned count_files(void);

enum ask {
    ALLOCATE, /* BYTES, each word of them VALUE; with a handle */
    ADD,      /* VALUE to each word */
    READ,     /* the last word */
    FREE,     /* the result of cuMemFree */
    FREED_WHILE_OPEN,
    FILES,
    LIVE /* once the context was destroyed; the last question */
};

struct answer {
    CUdeviceptr pointer;
    CUipcMemHandle handle;
    unsigned long long value;
};

/* About the memory at POINTER there. */
struct answer ask(enum ask what, CUdeviceptr pointer, unsigned value);
unsigned long long value_of(enum ask what, CUdeviceptr pointer);

#endif
