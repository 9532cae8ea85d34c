/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

/* Modules and kernels. Whatever looks like a device binary is taken for one that has the kernels of
 * the table. While a kernel runs, all device memory of its context is accessible. */

#define _GNU_SOURCE /* sigsetjmp, siginfo_t */

#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "driver.h"

#define MAX_THREADS 1024

struct function {
    struct softcuda_object object;
    struct function *next; /* of the module */
    const struct softcuda_entry *entry;
};

struct module {
    struct softcuda_object object;
    struct function *functions; /* that were asked for */
};

struct launch {
    struct softcuda_operation operation;
    const struct softcuda_entry *entry;
    unsigned blocks, threads;
    _Alignas(16) unsigned char args[];
};

/* ---- running ---- */

static bool run(const struct launch *launch)
{
    return softcuda_run(launch->entry->kernel, launch->args, launch->blocks, launch->threads);
}

/* AddressSanitizer tells more of a fault than this would. */
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)

static bool run_guarded(const struct launch *launch)
{
    return run(launch);
}

#else

static sigjmp_buf before_run;
static struct sigaction outer_action;
static void *volatile touched;

/* A fault elsewhere is none of ours: it happens again, and goes where it would have gone. */
static void catch_fault(int number, siginfo_t *info, void *unused)
{
    (void)unused;
    if (softcuda_memory_is_arena(info->si_addr)) {
        touched = info->si_addr;
        siglongjmp(before_run, 1);
    }
    sigaction(number, &outer_action, NULL);
}

static bool run_guarded(const struct launch *launch)
{
    struct sigaction action = {.sa_sigaction = catch_fault, .sa_flags = SA_SIGINFO};
    volatile bool ran = false;

    if (sigsetjmp(before_run, 1) == 0) {
        sigaction(SIGSEGV, &action, &outer_action);
        ran = run(launch);
    } else {
        fprintf(stderr, "softcuda: %s touched %p, where its context has no memory\n",
                launch->entry->name, touched);
    }
    sigaction(SIGSEGV, &outer_action, NULL);
    return ran;
}

#endif

static void be_late(void)
{
    const char *late = getenv("SOFTCUDA_LATE");
    long ms = late ? atol(late) : 0;

    if (ms > 0)
        nanosleep(&(struct timespec){.tv_sec = ms / 1000, .tv_nsec = ms % 1000 * 1000000}, NULL);
}

static CUresult run_launch(struct softcuda_operation *operation, struct softcuda_context *context)
{
    const struct launch *launch = (const struct launch *)operation;
    bool ran, intact;

    be_late();
    softcuda_share_stage(true);
    softcuda_memory_expose_all(context, true);
    ran = run_guarded(launch);
    intact = softcuda_memory_is_intact(context);
    softcuda_memory_expose_all(context, false);
    softcuda_share_stage(false);
    if (!intact)
        fprintf(stderr, "softcuda: by the time that %s ended\n", launch->entry->name);
    softcuda_counts.launches++;
    return ran && intact ? CUDA_SUCCESS : CUDA_ERROR_LAUNCH_FAILED;
}

/* ---- modules ---- */

static CUresult load(struct softcuda_context *context, CUmodule *handle, const void *image)
{
    static const unsigned char fat_binary[] = {0x50, 0xED, 0x55, 0xBA}, elf[] = "\177ELF";
    struct module *module;

    if (handle == NULL || image == NULL)
        return CUDA_ERROR_INVALID_VALUE;
    if (memcmp(image, fat_binary, 4) != 0 && memcmp(image, elf, 4) != 0)
        return CUDA_ERROR_INVALID_IMAGE;
    module = softcuda_fails(SOFTCUDA_ALLOC)
                 ? NULL
                 : softcuda_object_create(SOFTCUDA_MODULE, sizeof *module, context);
    if (module == NULL)
        return CUDA_ERROR_OUT_OF_MEMORY;
    softcuda_counts.modules++;
    *handle = module->object.handle;
    return CUDA_SUCCESS;
}

CUresult cuModuleLoadData(CUmodule *handle, const void *image)
{
    struct softcuda_context *context;
    CUresult code = softcuda_enter_context(&context);

    return softcuda_leave(code == CUDA_SUCCESS ? load(context, handle, image) : code);
}

CUresult cuModuleUnload(CUmodule handle)
{
    struct softcuda_context *context;
    CUresult code = softcuda_enter_context(&context), own = CUDA_ERROR_INVALID_HANDLE;
    struct module *module = softcuda_object_find(SOFTCUDA_MODULE, handle);

    if (context && module) {
        while (module->functions) {
            struct function *function = module->functions;

            module->functions = function->next;
            softcuda_object_free(&function->object);
        }
        softcuda_object_free(&module->object);
        own = CUDA_SUCCESS;
    }
    return softcuda_leave(code == CUDA_SUCCESS ? own : code);
}

static CUresult get_function(struct module *module, const char *name, CUfunction *handle)
{
    const struct softcuda_entry *entry = softcuda_table;
    struct function *function;

    while (entry->name && strcmp(entry->name, name) != 0)
        entry++;
    if (entry->name == NULL)
        return CUDA_ERROR_NOT_FOUND;
    for (function = module->functions; function; function = function->next) {
        if (function->entry == entry) {
            *handle = function->object.handle;
            return CUDA_SUCCESS;
        }
    }
    function = softcuda_object_create(SOFTCUDA_FUNCTION, sizeof *function, module->object.context);
    if (function == NULL)
        return CUDA_ERROR_OUT_OF_MEMORY;
    function->entry = entry;
    function->next = module->functions;
    module->functions = function;
    *handle = function->object.handle;
    return CUDA_SUCCESS;
}

CUresult cuModuleGetFunction(CUfunction *handle, CUmodule module_handle, const char *name)
{
    struct softcuda_context *context;
    CUresult code = softcuda_enter_context(&context);
    struct module *module = softcuda_object_find(SOFTCUDA_MODULE, module_handle);

    if (code == CUDA_SUCCESS && (handle == NULL || name == NULL))
        code = CUDA_ERROR_INVALID_VALUE;
    if (code == CUDA_SUCCESS)
        code = module ? get_function(module, name, handle) : CUDA_ERROR_INVALID_HANDLE;
    return softcuda_leave(code);
}

/* ---- launches ---- */

static CUresult queue(struct softcuda_context *context, const struct softcuda_entry *entry,
                      unsigned blocks, unsigned threads, struct softcuda_stream *stream,
                      void **parameters)
{
    struct launch *launch;

    (void)context;
    if (softcuda_fails(SOFTCUDA_LAUNCH))
        return CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES;
    launch = calloc(1, sizeof *launch + entry->bytes);
    if (launch == NULL)
        return CUDA_ERROR_OUT_OF_MEMORY;
    launch->operation.run = run_launch;
    launch->entry = entry;
    launch->blocks = blocks;
    launch->threads = threads;
    memcpy(launch->args, parameters[0], entry->bytes);
    return softcuda_stream_queue(stream, &launch->operation, NULL);
}

CUresult cuLaunchKernel(CUfunction handle, unsigned grid_x, unsigned grid_y, unsigned grid_z,
                        unsigned block_x, unsigned block_y, unsigned block_z, unsigned shared_bytes,
                        CUstream stream_handle, void **parameters, void **extra)
{
    struct softcuda_context *context;
    CUresult code = softcuda_enter_context(&context);
    struct function *function = softcuda_object_find(SOFTCUDA_FUNCTION, handle);
    struct softcuda_stream *stream = context ? softcuda_stream_find(context, stream_handle) : NULL;

    if (code == CUDA_SUCCESS && (function == NULL || function->object.context != context ||
                                 stream == NULL || stream->object.context != context))
        code = CUDA_ERROR_INVALID_HANDLE;
    /* Grids and blocks of one dimension, without dynamic shared memory, are all there is. */
    if (code == CUDA_SUCCESS &&
        (grid_x == 0 || grid_x > INT32_MAX || grid_y != 1 || grid_z != 1 || block_x == 0 ||
         block_x > MAX_THREADS || block_y != 1 || block_z != 1 || shared_bytes != 0 ||
         parameters == NULL || extra != NULL))
        code = CUDA_ERROR_INVALID_VALUE;
    if (code == CUDA_SUCCESS)
        code = queue(context, function->entry, grid_x, block_x, stream, parameters);
    return softcuda_leave(code);
}
