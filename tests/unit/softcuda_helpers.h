/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

/* What the tests of the software CUDA driver share. What would end a program happens in a child
 * process. */
#ifndef CGX_TESTS_UNIT_SOFTCUDA_H
#define CGX_TESTS_UNIT_SOFTCUDA_H

#include <cuda.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../lib/tap.h"
#include "softcuda/softcuda.h"

#undef cuCtxCreate /* the function whose arguments stay the same */
extern CUresult cuCtxCreate_v2(CUcontext *context, unsigned flags, CUdevice device);

/* Looks like a device binary. */
static const unsigned char image[] = {0x50, 0xED, 0x55, 0xBA};

static inline void must(CUresult code)
{
    const char *name = "an error";

    if (code == CUDA_SUCCESS)
        return;
    cuGetErrorName(code, &name);
    bail_out("%s", name);
}

/* The wait status of a child that calls ACT and exits with what it returns; its messages are lost.
 */
static inline int status_of_child(int (*act)(void))
{
    int status = -1;
    pid_t child = fork();

    if (child == 0) {
        dup2(open("/dev/null", O_WRONLY), STDERR_FILENO);
        _exit(act());
    }
    if (child < 0 || waitpid(child, &status, 0) != child)
        bail_out("no child process");
    return status;
}

static inline bool returns(int (*act)(void), int value)
{
    int status = status_of_child(act);

    return WIFEXITED(status) && WEXITSTATUS(status) == value;
}

/* By a signal, or as a sanitizer ends it. */
static inline bool dies(int (*act)(void))
{
    return !returns(act, 0);
}

static inline unsigned long long live(void)
{
    struct softcuda_counts counts;

    softcuda_count(&counts);
    return counts.live;
}

static inline unsigned long long operations(enum softcuda_kind kind)
{
    struct softcuda_counts counts;

    softcuda_count(&counts);
    return counts.operations[kind];
}

#endif
