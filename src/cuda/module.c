/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

#include "cuda/module.h"

#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

#include "util/log.h"

/* The fat binary that nvcc makes of kernels.cu. */
__asm__(".section .rodata\n"
        ".balign 16\n"
        ".local cgx_cuda_image\n"
        "cgx_cuda_image:\n"
        ".incbin \"src/cuda/kernels.fatbin\"\n"
        ".byte 0\n"
        ".previous\n");
extern const unsigned char cgx_cuda_image[] __attribute__((visibility("hidden")));

static enum cgx_status get_kernel(const struct cgx_cuda_module *module, const char *pattern,
                                  int type, CUfunction *kernel)
{
    static const char *const types[] = {"float32", "float16", "bfloat16"};
    char name[64];
    CUresult code;

    snprintf(name, sizeof name, pattern, types[type]);
    code = cgx_cuda()->cuModuleGetFunction(kernel, module->module, name);
    return code == CUDA_SUCCESS ? CGX_OK : cgx_cuda_status(code, name);
}

static enum cgx_status get_kernels(struct cgx_cuda_module *module)
{
    static const char *const names[CGX_OPERATIONS][CGX_ROUNDING_STOCHASTIC + 1] = {
        [CGX_ENCODE] = {"cgx_encode_%s", "cgx_encode_%s_stochastic"},
        [CGX_REDUCE] = {"cgx_reduce_%s", "cgx_reduce_%s_stochastic"},
        [CGX_DECODE] = {"cgx_decode_%s", "cgx_decode_%s"},
        [CGX_MEASURE] = {"cgx_measure_%s", "cgx_measure_%s_stochastic"},
        [CGX_SHOW] = {"cgx_ranges", "cgx_ranges"}};
    static const char *const rotated[] = {[CGX_ENCODE] = "cgx_encode_rotated_%s",
                                          [CGX_REDUCE] = "cgx_reduce_rotated_%s",
                                          [CGX_DECODE] = "cgx_decode_rotated_%s"};
    static const char *const residuals[2][CGX_REDUCE + 1] = {
        {"cgx_encode_%s_residuals", "cgx_reduce_%s_residuals"},
        {"cgx_encode_rotated_%s_residuals", "cgx_reduce_rotated_%s_residuals"}};
    static const char *const history[] = {[CGX_ENCODE] = "cgx_encode_%s_history",
                                          [CGX_REDUCE] = "cgx_reduce_%s_history",
                                          [CGX_DECODE] = "cgx_decode_%s_history",
                                          [CGX_MEASURE] = "cgx_measure_%s_history"};
    enum cgx_status status = CGX_OK;

    for (int type = 0; type <= CGX_BFLOAT16; type++) {
        for (int i = 0; status == CGX_OK && i < CGX_OPERATIONS * 2; i++)
            status =
                get_kernel(module, names[i / 2][i % 2], type, &module->kernels[i / 2][i % 2][type]);
        for (int i = 0; status == CGX_OK && i <= CGX_DECODE; i++)
            status = get_kernel(module, rotated[i], type, &module->rotated[i][type]);
        for (int i = 0; status == CGX_OK && i < 4; i++)
            status = get_kernel(module, residuals[i / 2][i % 2], type,
                                &module->residuals[i / 2][i % 2][type]);
        for (int i = 0; status == CGX_OK && i <= CGX_MEASURE; i++)
            status = get_kernel(module, history[i], type, &module->history[i][type]);
    }
    return status;
}

/* Why they do not run, once. A newer driver helps against the one, nothing against the other. */
static void say_why(void)
{
    static atomic_bool said;
    int version = 0;

    if (atomic_exchange(&said, true))
        return;
    cgx_cuda()->cuDriverGetVersion(&version);
    if (version < CUDA_VERSION)
        cgx_log(CGX_LOG_WARN,
                "the CUDA driver is for CUDA %d.%d and does not run the kernels, which were built "
                "with CUDA %d.%d: buffers in GPU memory are left alone; install a driver for CUDA "
                "%d or later, or build the library with CUDA %d",
                version / 1000, version % 1000 / 10, CUDA_VERSION / 1000, CUDA_VERSION % 1000 / 10,
                CUDA_VERSION / 1000, version / 1000);
    else
        cgx_log(CGX_LOG_INFO, "the kernels do not run on this device: its buffers are left alone");
}

enum cgx_status cgx_cuda_module_load(struct cgx_cuda_module *module)
{
    enum cgx_status status = CGX_CUDA_CALL(cuModuleLoadData, &module->module, cgx_cuda_image);

    if (status == CGX_OK) {
        status = get_kernels(module);
        if (status != CGX_OK)
            cgx_cuda_module_unload(module);
    }
    if (status == CGX_ERR_DEVICE)
        say_why();
    return status;
}

void cgx_cuda_module_unload(struct cgx_cuda_module *module)
{
    cgx_cuda()->cuModuleUnload(module->module);
    memset(module, 0, sizeof *module);
}
