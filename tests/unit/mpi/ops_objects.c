/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

/* ops_objects FUNCTION-OBJECT CALLER-OBJECT: says whether an op with the function float16_sum of
 * one shared object, created from another, is taken for a sum. See ops_objects.test. */

#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>

#include "codec/quant.h"
#include "mpi/ops.h"

#define SHORT ((cgx_mpi_datatype)(uintptr_t)0x4c000203)
#define OP ((cgx_mpi_op)(intptr_t)(int)0x98000001u)

static void *symbol(const char *path)
{
    void *object = dlopen(path, RTLD_NOW | RTLD_LOCAL);

    return object == NULL ? NULL : dlsym(object, "float16_sum");
}

int main(int argc, char **argv)
{
    struct cgx_op_source source = {.commute = true};
    uint16_t words[1000];

    cgx_mpi_find((const void *)main);
    if (argc != 3)
        return 2;
    source.function = (cgx_mpi_function *)symbol(argv[1]);
    source.caller = symbol(argv[2]);
    if (source.function == NULL || source.caller == NULL) {
        fprintf(stderr, "%s\n", dlerror());
        return 2;
    }
    cgx_op_created(OP, &source);
    for (unsigned i = 0; i < 1000; i++)
        words[i] = cgx_to_float16((float)(i * 617 % 1000) / 250 - 2);
    puts(cgx_op_ask(OP, SHORT, words, 1000) == CGX_OP_SUM_FLOAT16 ? "sum" : "unknown");
    return 0;
}
