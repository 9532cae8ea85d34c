/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

/* Chooses among the sets of kernels for x86-64 processors. */

#include <cpuid.h>
#include <string.h>

#include "codec/host_kernels.h"

#define SIGNATURE_HYGON 0x6F677948u /* "Hygo", of "HygonGenuine" */

static bool has_f16c(void)
{
    unsigned eax, ebx, ecx, edx;

    return __get_cpuid(1, &eax, &ebx, &ecx, &edx) && (ecx & bit_F16C) != 0;
}

static bool is_supported(const struct cgx_codec *set)
{
    return set == &cgx_host_portable ||
           (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") &&
            __builtin_cpu_supports("bmi2") && __builtin_cpu_supports("pclmul") && has_f16c());
}

/* Whether pext and pdep are microcode: on AMD's processors, and Hygon's, before Zen 3. */
static bool has_slow_extract(void)
{
    unsigned eax, ebx, ecx, edx, family;

    if (!__get_cpuid(0, &eax, &ebx, &ecx, &edx) ||
        (ebx != signature_AMD_ebx && ebx != SIGNATURE_HYGON) ||
        !__get_cpuid(1, &eax, &ebx, &ecx, &edx))
        return false;
    family = (eax >> 8 & 15) + (eax >> 20 & 255);
    return family < 0x19;
}

const struct cgx_codec *cgx_codec_host_named(const char *name)
{
    static const struct cgx_codec *const fastest_first[] = {&cgx_host_avx2, &cgx_host_avx2_shifts,
                                                            &cgx_host_portable};

    for (size_t i = 0; i < sizeof fastest_first / sizeof *fastest_first; i++) {
        const struct cgx_codec *set = fastest_first[i];
        bool is_slow = !name && set == &cgx_host_avx2 && has_slow_extract();

        if ((!name || strcmp(name, set->name) == 0) && is_supported(set) && !is_slow)
            return set;
    }
    return NULL;
}
