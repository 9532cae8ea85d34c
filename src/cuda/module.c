/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

#include "cuda/module.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>

#include "util/log.h"

/* The fat binary that nvcc makes from kernels.cu. */
__asm__(".section .rodata\n"
        ".balign 16\n"
        ".local cgx_cuda_kernels\n"
        "cgx_cuda_kernels:\n"
        ".incbin \"src/cuda/kernels.fatbin\"\n"
        ".byte 0\n"
        ".previous\n");
extern const unsigned char cgx_cuda_kernels[] __attribute__((visibility("hidden")));

static enum cgx_status get_kernel(CUmodule module, const char *name, CUfunction *kernel)
{
    return cgx_cuda_status(cgx_cuda()->cuModuleGetFunction(kernel, module, name), name);
}

/* Gets the kernels of FAMILY for what OPERATION names, without history and with it, by type. */
static enum cgx_status get_variants(CUmodule module, const char *operation, enum cgx_family family,
                                    CUfunction kernels[2][CGX_BFLOAT16 + 1])
{
    static const char *const types[] = {"float32", "float16", "bfloat16"};
    const struct cgx_quantiser *quantiser = &cgx_quantisers[family];
    enum cgx_status status = CGX_OK;
    char name[64];

    for (int history = 0; history < 2; history++) {
        for (int type = 0; status == CGX_OK && type <= CGX_BFLOAT16; type++) {
            snprintf(name, sizeof name, "cgx_%s_%s%s%s", operation, quantiser->kernels, types[type],
                     history && quantiser->has_history ? "_history" : "");
            status = get_kernel(module, name, &kernels[history][type]);
        }
    }
    return status;
}

static enum cgx_status get_kernels(struct cgx_cuda_module *module)
{
    static const char *const operations[] = {"encode", "reduce", "decode"};
    enum cgx_status status = get_kernel(module->module, "cgx_runs", &module->runs);

    if (status == CGX_OK)
        status = get_kernel(module->module, "cgx_begin", &module->begin);
    if (status == CGX_OK)
        status = get_kernel(module->module, "cgx_heads", &module->heads);
    if (status == CGX_OK)
        status = get_variants(module->module, "squares", CGX_FAMILY_UNIFORM, module->squares);
    for (enum cgx_family family = 0; family < CGX_FAMILIES; family++)
        for (int i = 0; status == CGX_OK && i < CGX_OPERATIONS; i++)
            status =
                get_variants(module->module, operations[i], family, module->kernels[family][i]);
    return status;
}

/* Logs once why the kernels do not run: the driver is too old, which a newer one mends, or the
 * device does not run them, which nothing mends. */
static void log_no_kernels(void)
{
    static atomic_bool logged;
    int version = 0;

    if (atomic_exchange(&logged, true))
        return;
    cgx_cuda()->cuDriverGetVersion(&version);
    if (version < CUDA_VERSION)
        cgx_log(CGX_LOG_WARN,
                "the CUDA driver is for CUDA %d.%d and does not run the kernels, which were built "
                "with CUDA %d.%d: sums in GPU memory stay exact; install a driver for CUDA "
                "%d or later, or build the library with CUDA %d",
                version / 1000, version % 1000 / 10, CUDA_VERSION / 1000, CUDA_VERSION % 1000 / 10,
                CUDA_VERSION / 1000, version / 1000);
    else
        cgx_log(CGX_LOG_INFO, "the kernels do not run on this device: its sums stay exact");
}

static enum cgx_status load_kernels(struct cgx_cuda_module *module)
{
    enum cgx_status status = CGX_CUDA_CALL(cuModuleLoadData, &module->module, cgx_cuda_kernels);

    if (status == CGX_OK) {
        status = get_kernels(module);
        if (status != CGX_OK)
            cgx_cuda()->cuModuleUnload(module->module);
    }
    if (status == CGX_ERR_DEVICE)
        log_no_kernels();
    return status;
}

/* ---- one module per context ---- */

static struct cgx_cuda_module *modules;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

/* Returns the id of the current context; 0: the driver does not say. */
static unsigned long long current_id(void)
{
    unsigned long long id = 0;

    return cgx_cuda()->cuCtxGetId && cgx_cuda()->cuCtxGetId(NULL, &id) == CUDA_SUCCESS ? id : 0;
}

/* Returns the module of CONTEXT with this ID, or NULL. Modules of earlier contexts with the same
 * handle have gone with these; they leave the list when they have no users. */
static struct cgx_cuda_module *find_module(CUcontext context, unsigned long long id)
{
    struct cgx_cuda_module **link = &modules, *found = NULL;

    while (*link) {
        struct cgx_cuda_module *module = *link;

        if (module->context == context && module->id == id && id != 0)
            found = module;
        if (module->context != context || module->id == id || module->users > 0) {
            link = &module->next;
            continue;
        }
        *link = module->next;
        free(module);
    }
    return found;
}

static enum cgx_status create_module(CUcontext context, unsigned long long id,
                                     struct cgx_cuda_module **created)
{
    struct cgx_cuda_module *made = calloc(1, sizeof *made);
    enum cgx_status status = made ? load_kernels(made) : CGX_ERR_NOMEM;

    if (status != CGX_OK) {
        free(made);
        return status;
    }
    made->context = context;
    made->id = id;
    made->next = modules;
    modules = made;
    *created = made;
    return CGX_OK;
}

enum cgx_status cgx_cuda_module_take(CUcontext context, struct cgx_cuda_module **module)
{
    unsigned long long id = current_id();
    struct cgx_cuda_module *found;
    enum cgx_status status = CGX_OK;

    pthread_mutex_lock(&lock);
    found = find_module(context, id);
    if (!found)
        status = create_module(context, id, &found);
    if (status == CGX_OK) {
        found->users++;
        *module = found;
    }
    pthread_mutex_unlock(&lock);
    return status;
}

void cgx_cuda_module_give(struct cgx_cuda_module *module, bool entered)
{
    struct cgx_cuda_module **link = &modules;

    if (!module)
        return;
    pthread_mutex_lock(&lock);
    if (--module->users == 0 && module->id == 0) {
        while (*link != module)
            link = &(*link)->next;
        *link = module->next;
        if (entered)
            cgx_cuda()->cuModuleUnload(module->module);
        free(module);
    }
    pthread_mutex_unlock(&lock);
}

CUfunction cgx_cuda_module_kernel(const struct cgx_cuda_module *module, enum cgx_family family,
                                  const struct cgx_work *work)
{
    const bool has_history = work->history.scales != NULL;

    return module->kernels[family][work->operation][has_history][work->coding->dtype];
}

CUfunction cgx_cuda_module_squares(const struct cgx_cuda_module *module,
                                   const struct cgx_work *work)
{
    return module->squares[work->history.scales != NULL][work->coding->dtype];
}
