/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

/* Chooses among the two sets of kernels for x86-64 processors. */

#include <cpuid.h>
#include <string.h>

#include "codec/host_kernels.h"

static bool has_f16c(void)
{
    unsigned eax, ebx, ecx, edx;

    return __get_cpuid(1, &eax, &ebx, &ecx, &edx) && (ecx & bit_F16C) != 0;
}

static bool is_supported(const struct cgx_codec *set)
{
    return set == &cgx_host_portable ||
           (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") &&
            __builtin_cpu_supports("bmi2") && has_f16c());
}

const struct cgx_codec *cgx_codec_host_named(const char *name)
{
    static const struct cgx_codec *const fastest_first[] = {&cgx_host_avx2, &cgx_host_portable};

    for (size_t i = 0; i < sizeof fastest_first / sizeof *fastest_first; i++) {
        const struct cgx_codec *set = fastest_first[i];

        if ((!name || strcmp(name, set->name) == 0) && is_supported(set))
            return set;
    }
    return NULL;
}
