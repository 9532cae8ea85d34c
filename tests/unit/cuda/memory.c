/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

/* Kinds of memory, as a libcuda.so.1 of the test's own making tells them. Built without CUDA, the
 * library must take everything for host memory all the same. */

#include "cuda/memory.h"

#include <dlfcn.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#if __has_include(<cuda.h>)
#include "cuda/driver.h"
#else
#define CGX_CUDA_REQUIRED(X)
#endif
#include "lib/tap.h"

/* The last digit of an address says what is there, and whether the driver says it only when it is
 * asked for one attribute at a time. */
enum { UNKNOWN, DEVICE, MANAGED_ON_DEVICE, MANAGED_ON_HOST, PINNED, UNINITIALISED, SINGLY = 8 };

/* What else a driver must have is there, and is not called. */
#define STRING(name) #name
#define EXPANDED(name) STRING(name)
static const char *const others[] = {
#define NAME(name) EXPANDED(name),
    CGX_CUDA_REQUIRED(NAME)
#undef NAME
        NULL};

static const char source[] =
    "int cuDriverGetVersion(int *version) { *version = 11000; return 0; }\n"
    "int cuPointerGetAttribute(void *data, int attribute, unsigned long long address)\n"
    "{\n"
    "    static const unsigned types[] = {0, 2, 2, 1, 1, 2};\n"
    "    unsigned kind = address & 7;\n"
    "    if (kind == 0) return 1;\n" /* CUDA_ERROR_INVALID_VALUE */
    "    if (kind == 5) return 3;\n" /* CUDA_ERROR_NOT_INITIALIZED */
    "    if (attribute == 2) *(unsigned *)data = types[kind];\n"
    "    else if (attribute == 8) *(int *)data = kind == 2 || kind == 3;\n"
    "    else return 1;\n"
    "    return 0;\n"
    "}\n"
    "int cuPointerGetAttributes(unsigned n, int *attributes, void **data,\n"
    "                           unsigned long long address)\n"
    "{\n"
    "    if (address & 8) return 1;\n"
    "    if ((address & 7) == 5) return 3;\n"
    "    for (unsigned i = 0; i < n; i++)\n"
    "        cuPointerGetAttribute(data[i], attributes[i], address);\n"
    "    return 0;\n"
    "}\n";

/* The driver and two libraries that are none, though they have the same function. */
static const char build[] =
    "for name in libcuda.so.1 libcudart.so.1 libother.so; do\n"
    "    ${CC:-cc} -shared -fPIC -Wl,-soname,$name driver.c -o $name >&2 || exit 1\n"
    "done";

static bool shell_in(const char *directory, const char *script)
{
    char line[1024];

    snprintf(line, sizeof line, "cd %s && %s", directory, script);
    return system(line) == 0;
}

static void remove_libraries(const char *directory)
{
    shell_in(directory, "rm -f driver.c libcuda.so.1 libcudart.so.1 libother.so");
    rmdir(directory);
}

static bool write_source(const char *path)
{
    FILE *file = fopen(path, "w");
    bool written = file != NULL && fputs(source, file) >= 0;

    for (const char *const *name = others; written && *name != NULL; name++) {
        if (strcmp(*name, "cuDriverGetVersion") != 0 &&
            strncmp(*name, "cuPointerGetAttribute", 21) != 0)
            written = fprintf(file, "int %s(void) { return 1; }\n", *name) > 0;
    }
    return file != NULL && fclose(file) == 0 && written;
}

/* Starts this program again where a search for the libraries would find them; returns only if they
 * cannot be built. */
static void restart_with_libraries(char *argv[])
{
    char directory[] = P_tmpdir "/cgx-cuda-XXXXXX";
    char path[64];

    if (mkdtemp(directory) == NULL)
        bail_out("no temporary directory");
    snprintf(path, sizeof path, "%s/driver.c", directory);
    if (!write_source(path))
        bail_out("no temporary file");
    if (shell_in(directory, build)) {
        setenv("CGX_TEST_LIBRARIES", directory, 1);
        setenv("LD_LIBRARY_PATH", directory, 1);
        execv("/proc/self/exe", argv);
    }
    remove_libraries(directory);
}

static enum cgx_memory memory(unsigned kind)
{
    return cgx_cuda_pointer((const void *)(uintptr_t)(0x7f0000001000u + kind)).memory;
}

/* What a library that knows CUDA says; without it everything is host memory. */
static bool is(unsigned kind, enum cgx_memory expected)
{
    bool built = strcmp(cgx_cuda_build(), "none") != 0;

    return memory(kind) == (built ? expected : CGX_MEMORY_HOST);
}

static void *load(const char *directory, const char *name)
{
    char path[128];
    void *library;

    snprintf(path, sizeof path, "%s/%s", directory, name);
    library = dlopen(path, RTLD_NOW);
    if (library == NULL)
        bail_out("%s", dlerror());
    return library;
}

static atomic_bool stop, failed;
static atomic_uint asked;

static void *ask_for_ever(void *unused)
{
    while (!atomic_load(&stop)) {
        if (memory(UNKNOWN) != CGX_MEMORY_HOST)
            atomic_store(&failed, true);
        atomic_fetch_add(&asked, 1);
    }
    return unused;
}

static void wait_until_asked_again(void)
{
    unsigned before = atomic_load(&asked);

    while (atomic_load(&asked) - before < 100)
        sched_yield();
}

int main(int argc, char *argv[])
{
    const char *directory = getenv("CGX_TEST_LIBRARIES");
    pthread_t thread;
    void *driver;

    (void)argc;
    if (directory == NULL) {
        restart_with_libraries(argv);
        skip("kinds of memory", "no C compiler to build a driver with");
        return done_testing();
    }
    ok(memory(DEVICE) == CGX_MEMORY_HOST, "without a driver everything is host memory");
    ok(dlopen("libcuda.so.1", RTLD_NOLOAD | RTLD_NOW) == NULL,
       "a driver that the program has not loaded stays out");
    load(directory, "libother.so");
    load(directory, "libcudart.so.1");
    ok(memory(DEVICE) == CGX_MEMORY_HOST, "other libraries are not taken for the driver");
    if (pthread_create(&thread, NULL, ask_for_ever, NULL) != 0)
        bail_out("no threads");
    wait_until_asked_again();
    driver = load(directory, "libcuda.so.1");
    wait_until_asked_again();
    ok(is(DEVICE, CGX_MEMORY_DEVICE), "a driver loaded later is found");
    ok(is(MANAGED_ON_DEVICE, CGX_MEMORY_MANAGED) && is(MANAGED_ON_HOST, CGX_MEMORY_MANAGED),
       "managed memory is known wherever it is at the moment");
    ok(is(PINNED, CGX_MEMORY_HOST), "pinned memory is host memory");
    ok(is(UNKNOWN, CGX_MEMORY_HOST), "memory that CUDA does not know is host memory");
    ok(is(UNINITIALISED, CGX_MEMORY_HOST), "before cuInit everything is host memory");
    ok(is(DEVICE | SINGLY, CGX_MEMORY_DEVICE) && is(MANAGED_ON_HOST | SINGLY, CGX_MEMORY_MANAGED) &&
           is(PINNED | SINGLY, CGX_MEMORY_HOST) && is(UNKNOWN | SINGLY, CGX_MEMORY_HOST),
       "a driver that refuses several attributes is asked for one at a time");
    dlclose(driver);
    ok(is(DEVICE, CGX_MEMORY_DEVICE), "a driver once found stays");
    atomic_store(&stop, true);
    pthread_join(thread, NULL);
    ok(!atomic_load(&failed), "threads may ask while libraries are loaded");
    remove_libraries(directory);
    return done_testing();
}
