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

#include "lib/tap.h"
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

/* The kernel that adds, of a module of its own. */
static inline CUfunction load_adding(CUmodule *module)
{
    CUfunction function;

    must(cuModuleLoadData(module, image));
    must(cuModuleGetFunction(&function, *module, "softcuda_test_add"));
    return function;
}

/* Queues that kernel: each of so many threads adds ADDEND to its element. */
static inline CUresult queue_add(CUfunction add, CUdeviceptr elements, unsigned addend,
                                 unsigned blocks, unsigned threads, CUstream stream)
{
    struct {
        CUdeviceptr elements;
        unsigned addend;
    } args = {elements, addend};
    void *parameters[] = {&args};

    return cuLaunchKernel(add, blocks, 1, 1, threads, 1, 1, 0, stream, parameters, NULL);
}

/* What is at AT once the legacy stream has come so far. */
static inline unsigned word_at(CUdeviceptr at)
{
    unsigned value = 0;

    must(cuMemcpyDtoH(&value, at, sizeof value));
    return value;
}

static inline struct softcuda_counts counts_now(void)
{
    struct softcuda_counts counts;

    softcuda_count(&counts);
    return counts;
}

static inline unsigned long long live(void)
{
    return counts_now().live;
}

static inline unsigned long long operations(enum softcuda_kind kind)
{
    return counts_now().operations[kind];
}

#endif
