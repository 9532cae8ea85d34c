/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

#define _GNU_SOURCE /* RTLD_DEFAULT */

#include <dlfcn.h>
#include <stdint.h>
#include <string.h>

#include "gpu_probe.h"

#if CUDA_VERSION >= 12040

static struct {
    __typeof__(cuDeviceGetDevResource) *get_processors;
    __typeof__(cuDevSmResourceSplitByCount) *split;
    __typeof__(cuDevResourceGenerateDesc) *describe;
    __typeof__(cuGreenCtxCreate) *create;
    __typeof__(cuGreenCtxDestroy) *destroy;
    __typeof__(cuCtxFromGreenCtx) *convert;
    __typeof__(cuStreamGetGreenCtx) *get_green;
} driver;

static const struct {
    const char *name;
    void *function;
} functions[] = {
    {"cuDeviceGetDevResource", &driver.get_processors},
    {"cuDevSmResourceSplitByCount", &driver.split},
    {"cuDevResourceGenerateDesc", &driver.describe},
    {"cuGreenCtxCreate", &driver.create},
    {"cuGreenCtxDestroy", &driver.destroy},
    {"cuCtxFromGreenCtx", &driver.convert},
    {"cuStreamGetGreenCtx", &driver.get_green},
};

static bool look_up(void)
{
    void *library = dlopen("libcuda.so.1", RTLD_NOW | RTLD_NOLOAD);

    for (size_t i = 0; library != NULL && i < sizeof functions / sizeof functions[0]; i++) {
        void *found = dlsym(library, functions[i].name);

        if (found == NULL)
            return false;
        memcpy(functions[i].function, &found, sizeof found);
    }
    return library != NULL;
}

static CUresult create(CUgreenCtx *green, CUcontext *context)
{
    CUdevResource all, part;
    CUdevResourceDesc description;
    unsigned parts = 1;
    CUresult code = driver.get_processors(probe.device, &all, CU_DEV_RESOURCE_TYPE_SM);

    if (code == CUDA_SUCCESS)
        code = driver.split(&part, &parts, &all, NULL, 0, 1);
    if (code == CUDA_SUCCESS)
        code = driver.describe(&description, &part, 1);
    if (code == CUDA_SUCCESS)
        code = driver.create(green, description, probe.device, CU_GREEN_CTX_DEFAULT_STREAM);
    return code == CUDA_SUCCESS ? driver.convert(context, *green) : code;
}

/* In the green context CONTEXT, which is current. */
static void ask_memory(CUcontext context)
{
    CUcontext owner = NULL;
    CUdeviceptr memory = 0;
    CUresult allocated = probe.cuMemAlloc(&memory, 4096);
    CUresult code = probe.cuPointerGetAttribute(&owner, CU_POINTER_ATTRIBUTE_CONTEXT, memory);

    probe_say("green context: cuMemAlloc %s, its memory is of %s (%s)", probe_name(allocated),
              owner == probe.context ? "the primary context"
              : owner == context     ? "the green one"
              : owner == NULL        ? "none"
                                     : "another",
              probe_name(code));
    if (allocated == CUDA_SUCCESS)
        probe.cuMemFree(memory);
}

/* Work on the default stream of the green context, and an event on that of the primary one. */
static void ask_order(CUcontext context)
{
    CUevent own = NULL, other = NULL;
    CUresult recorded, crossed, waited, synchronized, pending;

    probe.cuCtxPushCurrent(context);
    probe.cuEventCreate(&own, CU_EVENT_DISABLE_TIMING);
    for (int i = 0; i < 400; i++)
        probe.cuMemsetD8Async(probe.memory, (unsigned char)i, probe.bytes, CU_STREAM_LEGACY);
    recorded = probe.cuEventRecord(own, CU_STREAM_LEGACY);
    probe.cuCtxPopCurrent(NULL);
    probe.cuEventCreate(&other, CU_EVENT_DISABLE_TIMING);
    probe.cuEventRecord(other, CU_STREAM_LEGACY);
    synchronized = probe.cuEventSynchronize(other);
    probe.cuCtxPushCurrent(context);
    pending = probe.cuStreamQuery(CU_STREAM_LEGACY);
    probe.cuCtxPopCurrent(NULL);
    probe_say("green context: an event on the primary's legacy stream (wait %s) waits for the "
              "green one's default stream: %s",
              probe_name(synchronized),
              pending == CUDA_ERROR_NOT_READY ? "no" : "yes, or no answer");
    crossed = probe.cuEventRecord(own, CU_STREAM_LEGACY);
    waited = probe.cuStreamWaitEvent(probe.apart, own, 0);
    probe_say("green context: its event, recorded there %s, recorded in the primary's stream %s, "
              "waited for by that %s",
              probe_name(recorded), probe_name(crossed), probe_name(waited));
    probe.cuCtxSynchronize();
    probe.cuEventDestroy(own);
    probe.cuEventDestroy(other);
}

void probe_green(void)
{
    CUgreenCtx green = NULL, found = NULL;
    CUcontext context = NULL;
    CUresult code, of_primary, of_green;

    if (!look_up()) {
        probe_say("green contexts: the driver has none");
        return;
    }
    code = create(&green, &context);
    probe_say("green contexts: %s", probe_name(code));
    if (code != CUDA_SUCCESS)
        return;
    of_primary = driver.get_green(CU_STREAM_LEGACY, &found);
    probe_say("green context of the primary's legacy stream: %s (%s)",
              found == NULL ? "none" : "one", probe_name(of_primary));
    probe.cuCtxPushCurrent(context);
    of_green = driver.get_green(CU_STREAM_LEGACY, &found);
    probe_say("green context of its own: %s (%s)", found == green ? "itself" : "another",
              probe_name(of_green));
    ask_memory(context);
    probe.cuCtxPopCurrent(NULL);
    ask_order(context);
    driver.destroy(green);
}

#else

void probe_green(void)
{
    probe_say("green contexts: built with a CUDA older than 12.4");
}

#endif
