/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

/* What the device has, in the software CUDA driver, of memory that was pinned as the program
 * forked. */

#include <sys/mman.h>

#include "unit/lib/softcuda_helpers.h"

enum { PAGE = 4096, BYTES = 4 * PAGE };
enum { BEFORE = 1, HOST = 2, DEVICE = 3 };

static CUdeviceptr device;

static int do_nothing(void)
{
    return 0;
}

/* Memory that is pinned as the program forks, and its first page written afterwards. */
static unsigned char *fork_with(int flags, int advice)
{
    unsigned char *memory = mmap(NULL, BYTES, PROT_READ | PROT_WRITE, flags | MAP_ANONYMOUS, -1, 0);

    if (memory == MAP_FAILED || madvise(memory, BYTES, advice) != 0)
        bail_out("no memory");
    memset(memory, BEFORE, BYTES);
    must(cuMemHostRegister(memory, BYTES, CU_MEMHOSTREGISTER_PORTABLE));
    if (!returns(do_nothing, 0))
        bail_out("the child has failed");
    memory[1] = HOST;
    return memory;
}

/* The byte at AT, as the device has it. */
static int seen(const unsigned char *at)
{
    unsigned char byte;

    must(cuMemcpyHtoD(device, at, 1));
    must(cuMemcpyDtoH(&byte, device, 1));
    return byte;
}

static void let_go(unsigned char *memory)
{
    must(cuMemHostUnregister(memory));
    munmap(memory, BYTES);
}

static void test_kept(const char *name, int flags, int advice)
{
    unsigned char *memory = fork_with(flags, advice);

    ok(seen(memory + 1) == HOST, "%s: the device sees what is written after a fork", name);
    must(cuMemsetD8((CUdeviceptr)(uintptr_t)memory, DEVICE, PAGE));
    ok(memory[0] == DEVICE && memory[1] == DEVICE, "%s: and the program what the device writes",
       name);
    let_go(memory);
}

static void test_private(void)
{
    unsigned char *memory = fork_with(MAP_PRIVATE, MADV_NORMAL);

    ok(seen(memory + 1) == BEFORE, "private memory: the device sees what was there at the fork");
    must(cuMemsetD8((CUdeviceptr)(uintptr_t)memory, DEVICE, BYTES));
    ok(memory[0] == BEFORE && memory[1] == HOST && seen(memory + 1) == DEVICE,
       "private memory: the program does not see what the device writes, but the device does");
    ok(memory[PAGE] == DEVICE && seen(memory + PAGE) == DEVICE,
       "private memory: both do in a page that the program has not written");
    memory[PAGE] = HOST;
    ok(seen(memory + PAGE) == DEVICE, "private memory: until it writes there");
    must(cuMemHostUnregister(memory));
    must(cuMemHostRegister(memory, BYTES, CU_MEMHOSTREGISTER_PORTABLE));
    ok(seen(memory + 1) == HOST, "private memory: pinned again, the device sees what there is");
    let_go(memory);
}

/* Of memory that is not whole pages, what is beside it in them is left alone. */
static void test_parts(void)
{
    unsigned char *memory =
        mmap(NULL, BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

    memset(memory, BEFORE, BYTES);
    must(cuMemHostRegister(memory + 100, 2 * PAGE, CU_MEMHOSTREGISTER_PORTABLE));
    if (!returns(do_nothing, 0))
        bail_out("the child has failed");
    memset(memory, HOST, BYTES);
    ok(seen(memory + 100) == BEFORE && seen(memory + 99 + 2 * PAGE) == BEFORE &&
           seen(memory + 99) == HOST && seen(memory + 100 + 2 * PAGE) == HOST,
       "private memory: as far as it is pinned");
    must(cuMemHostUnregister(memory + 100));
    munmap(memory, BYTES);
}

int main(void)
{
    CUcontext context;

    must(cuInit(0));
    must(cuCtxCreate_v2(&context, 0, 0));
    must(cuMemAlloc(&device, 1));
    test_kept("shared memory", MAP_SHARED, MADV_NORMAL);
    test_kept("memory kept from children", MAP_PRIVATE, MADV_DONTFORK);
    test_private();
    test_parts();
    must(cuCtxDestroy(context));
    return done_testing();
}
