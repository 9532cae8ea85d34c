/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

/* Encodes and sums uniform pieces on a device. */
#include "cuda/launch.h"

#include "codec/encoding.h"
#include "cuda/context.h"

/* Whether the uniform pieces of REQUEST can be encoded: there is a step size, and the result of a
 * sum overwrites none of its sources. */
static bool may_begin(const struct cgx_work *request)
{
    bool may = cgx_uniform_is_usable(request->coding->step_size, request->coding->error);

    for (size_t i = 0; request->operation == CGX_REDUCE && i < request->nsources; i++)
        may = may && request->sources[i] != request->out;
    return may;
}

/* Whether elements are quantised, alone or as a source of a sum. */
static bool has_elements(const struct cgx_work *request)
{
    bool has = request->operation == CGX_ENCODE;

    for (size_t i = 0; request->operation == CGX_REDUCE && i < request->nsources; i++)
        has = has || !request->sources[i];
    return has;
}

enum cgx_status cgx_cuda_launch_uniform(struct cgx_cuda_work *work, const struct cgx_work *request,
                                        uint32_t tiles, struct cgx_kernel_args *args)
{
    const struct cgx_cuda_module *module = work->module;
    enum cgx_status status = CGX_OK;

    if (!may_begin(request))
        return CGX_ERR_INVALID;
    args->marks = (void *)(uintptr_t)work->marks;
    if (!work->marks_are_clear)
        status = CGX_CUDA_CALL(cuMemsetD8Async, work->marks, 0, work->marks_bytes,
                               work->streams[CGX_STREAM_COMPUTE]);
    work->marks_are_clear = false;
    if (status == CGX_OK && args->step_size == 0 && has_elements(request))
        status =
            cgx_cuda_launch_kernel(work, cgx_cuda_module_squares(module, request), tiles, args);
    if (status == CGX_OK && args->step_size == 0)
        status = cgx_cuda_launch_kernel(work, module->begin, args->npieces, args);
    if (status == CGX_OK)
        status = cgx_cuda_launch_kernel(
            work, cgx_cuda_module_kernel(module, CGX_FAMILY_UNIFORM, request), tiles, args);
    if (status == CGX_OK)
        status = cgx_cuda_launch_kernel(work, module->heads, args->npieces, args);
    work->marks_are_clear = status == CGX_OK;
    return status;
}
