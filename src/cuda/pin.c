/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

#include "cuda/pin.h"

#include <stdatomic.h>

#include "util/log.h"

/* Not what a broken context answers to everything, nor what memory does that is pinned already. */
static bool is_refusal(CUresult code)
{
    switch (code) {
    case CUDA_ERROR_INVALID_VALUE:
    case CUDA_ERROR_OUT_OF_MEMORY:
    case CUDA_ERROR_OPERATING_SYSTEM:
    case CUDA_ERROR_NOT_PERMITTED:
    case CUDA_ERROR_NOT_SUPPORTED:
        return true;
    default:
        return false;
    }
}

static void say_refused(CUresult code)
{
    static atomic_bool said;
    const char *name = "an error without a name";

    if (atomic_exchange(&said, true))
        return;
    cgx_cuda()->cuGetErrorName(code, &name);
    cgx_log(CGX_LOG_WARN,
            "the CUDA driver does not pin memory of this process (cuMemHostRegister: %s): sums of "
            "buffers in GPU memory are slower; is there a limit of locked memory (ulimit -l)?",
            name);
}

CUresult cgx_cuda_pin(void *memory, size_t bytes, unsigned flags)
{
    CUresult code =
        cgx_cuda()->cuMemHostRegister(memory, bytes, CU_MEMHOSTREGISTER_PORTABLE | flags);

    if (is_refusal(code))
        say_refused(code);
    return code;
}

bool cgx_cuda_unpin(void *memory)
{
    CUresult code = cgx_cuda()->cuMemHostUnregister(memory);

    return code == CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED ||
           cgx_cuda_status(code, "cuMemHostUnregister") == CGX_OK;
}
