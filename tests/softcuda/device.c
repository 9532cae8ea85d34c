/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

/* The start, devices, and names of errors. */

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "driver.h"

int softcuda_devices, softcuda_hidden;

CUresult cuInit(unsigned flags)
{
    CUresult code = softcuda_enter();

    if (code == CUDA_ERROR_NOT_INITIALIZED)
        code = softcuda_read_environment();
    if (code == CUDA_SUCCESS && flags != 0)
        code = CUDA_ERROR_INVALID_VALUE;
    return softcuda_leave(code);
}

CUresult cuDriverGetVersion(int *version)
{
    const char *older = getenv("SOFTCUDA_VERSION");
    CUresult code = softcuda_enter();

    if (code == CUDA_ERROR_NOT_INITIALIZED)
        code = CUDA_SUCCESS;
    if (code == CUDA_SUCCESS && version == NULL)
        code = CUDA_ERROR_INVALID_VALUE;
    if (code == CUDA_SUCCESS)
        *version = older && *older ? atoi(older) : CUDA_VERSION;
    return softcuda_leave(code);
}

/* ---- devices ---- */

/* For calls about DEVICE that write to OUT. */
static CUresult enter_device(CUdevice device, const void *out)
{
    CUresult code = softcuda_enter();

    if (code == CUDA_SUCCESS && !softcuda_is_device(device))
        code = CUDA_ERROR_INVALID_DEVICE;
    return code == CUDA_SUCCESS && out == NULL ? CUDA_ERROR_INVALID_VALUE : code;
}

CUresult cuDeviceGetCount(int *count)
{
    CUresult code = enter_device(0, count);

    if (code == CUDA_SUCCESS)
        *count = softcuda_devices;
    return softcuda_leave(code);
}

CUresult cuDeviceGet(CUdevice *device, int ordinal)
{
    CUresult code = enter_device(ordinal, device);

    if (code == CUDA_SUCCESS)
        *device = ordinal;
    return softcuda_leave(code);
}

CUresult cuDeviceGetName(char *name, int length, CUdevice device)
{
    CUresult code = enter_device(device, name);

    if (code == CUDA_SUCCESS && length <= 0)
        code = CUDA_ERROR_INVALID_VALUE;
    if (code == CUDA_SUCCESS)
        snprintf(name, (size_t)length, "Software CUDA device %d", device);
    return softcuda_leave(code);
}

CUresult cuDeviceGetPCIBusId(char *id, int length, CUdevice device)
{
    CUresult code = enter_device(device, id);

    if (code == CUDA_SUCCESS && length <= 0)
        code = CUDA_ERROR_INVALID_VALUE;
    if (code == CUDA_SUCCESS)
        snprintf(id, (size_t)length, "0000:%02X:00.0", (unsigned)(softcuda_hidden + device) + 1);
    return softcuda_leave(code);
}

CUresult cuDeviceGetByPCIBusId(CUdevice *device, const char *id)
{
    CUresult code = enter_device(0, device);
    unsigned bus = 0;

    if (code == CUDA_SUCCESS && (id == NULL || sscanf(id, "0000:%2X:00.0", &bus) != 1))
        code = CUDA_ERROR_INVALID_VALUE;
    if (code == CUDA_SUCCESS && !softcuda_is_device((CUdevice)bus - 1 - softcuda_hidden))
        code = CUDA_ERROR_INVALID_DEVICE;
    if (code == CUDA_SUCCESS)
        *device = (CUdevice)bus - 1 - softcuda_hidden;
    return softcuda_leave(code);
}

static int attribute_value(CUdevice_attribute attribute)
{
    switch (attribute) {
    case CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR:
        return 8;
    case CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT:
        return 4;
    case CU_DEVICE_ATTRIBUTE_VIRTUAL_MEMORY_MANAGEMENT_SUPPORTED:
    case CU_DEVICE_ATTRIBUTE_MEMORY_POOLS_SUPPORTED:
        return 1;
    case CU_DEVICE_ATTRIBUTE_READ_ONLY_HOST_REGISTER_SUPPORTED:
        return softcuda_registers_read_only();
    default:
        return 0;
    }
}

CUresult cuDeviceGetAttribute(int *value, CUdevice_attribute attribute, CUdevice device)
{
    CUresult code = enter_device(device, value);

    if (code == CUDA_SUCCESS && (attribute < 1 || attribute >= CU_DEVICE_ATTRIBUTE_MAX))
        code = CUDA_ERROR_INVALID_VALUE;
    if (code == CUDA_SUCCESS)
        *value = attribute_value(attribute);
    return softcuda_leave(code);
}

/* ---- pairs ---- */

CUresult cuDeviceGetP2PAttribute(int *value, CUdevice_P2PAttribute attribute, CUdevice from,
                                 CUdevice to)
{
    const char *linked = getenv("SOFTCUDA_LINKED");
    CUresult code = enter_device(from, value);

    if (code == CUDA_SUCCESS && (to < 0 || to >= softcuda_devices || to == from))
        code = CUDA_ERROR_INVALID_DEVICE;
    if (code == CUDA_SUCCESS && attribute != CU_DEVICE_P2P_ATTRIBUTE_NATIVE_ATOMIC_SUPPORTED)
        code = CUDA_ERROR_INVALID_VALUE;
    if (code == CUDA_SUCCESS)
        *value = linked == NULL || linked[0] != '0';
    return softcuda_leave(code);
}

/* ---- errors ---- */

#define NAMED(name) \
    {               \
        name, #name \
    }

static const struct {
    CUresult code;
    const char *name;
} errors[] = {NAMED(CUDA_SUCCESS),
              NAMED(CUDA_ERROR_INVALID_VALUE),
              NAMED(CUDA_ERROR_OUT_OF_MEMORY),
              NAMED(CUDA_ERROR_NOT_INITIALIZED),
              NAMED(CUDA_ERROR_DEVICE_UNAVAILABLE),
              NAMED(CUDA_ERROR_NO_DEVICE),
              NAMED(CUDA_ERROR_INVALID_DEVICE),
              NAMED(CUDA_ERROR_INVALID_IMAGE),
              NAMED(CUDA_ERROR_INVALID_CONTEXT),
              NAMED(CUDA_ERROR_MAP_FAILED),
              NAMED(CUDA_ERROR_ALREADY_MAPPED),
              NAMED(CUDA_ERROR_INVALID_HANDLE),
              NAMED(CUDA_ERROR_NOT_FOUND),
              NAMED(CUDA_ERROR_NOT_READY),
              NAMED(CUDA_ERROR_ILLEGAL_ADDRESS),
              NAMED(CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES),
              NAMED(CUDA_ERROR_CONTEXT_IS_DESTROYED),
              NAMED(CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED),
              NAMED(CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED),
              NAMED(CUDA_ERROR_LAUNCH_FAILED),
              NAMED(CUDA_ERROR_NOT_PERMITTED),
              NAMED(CUDA_ERROR_NOT_SUPPORTED),
              NAMED(CUDA_ERROR_UNKNOWN)};

/* Needs no device, so it never fails with one. */
CUresult cuGetErrorName(CUresult code, const char **name)
{
    if (name == NULL)
        return CUDA_ERROR_INVALID_VALUE;
    *name = NULL;
    for (size_t i = 0; i < sizeof errors / sizeof errors[0]; i++) {
        if (errors[i].code == code)
            *name = errors[i].name;
    }
    return *name ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}
