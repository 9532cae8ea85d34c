/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

/* The software CUDA driver shows the faults that tests of the library count on: it does not forgive
 * an access that is out of place, work that nobody waits for, a stream that does not wait for
 * another one, memory that a fork has split, and memory that another process has freed. */

#include <cuda.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "lib/tap.h"

enum { PAGE = 4096, BYTES = 1000 };

static CUdeviceptr memory; /* BYTES */
static unsigned char *pinned;

static void must(CUresult code)
{
    const char *name = "an error";

    if (code == CUDA_SUCCESS)
        return;
    cuGetErrorName(code, &name);
    bail_out("%s", name);
}

static void start(void)
{
    CUcontext context;
    void *host;

    must(cuInit(0));
    must(cuDevicePrimaryCtxRetain(&context, 0));
    must(cuCtxPushCurrent(context));
    must(cuMemAlloc(&memory, BYTES));
    must(cuMemHostAlloc(&host, BYTES, 0));
    pinned = host;
}

/* Whether a child that calls ACT, which may end it, exits with 0; its messages are lost. */
static bool succeeds(bool (*act)(void))
{
    int status = -1;
    pid_t child = fork();

    if (child == 0) {
        dup2(open("/dev/null", O_WRONLY), STDERR_FILENO);
        _exit(!act());
    }
    if (child < 0 || waitpid(child, &status, 0) != child)
        bail_out("no child process");
    return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

/* ---- accesses ---- */

static bool read_device(void)
{
    return *(volatile char *)(uintptr_t)memory | 1;
}

/* So many threads each add 1 to an element. */
static bool add_to(CUdeviceptr elements, unsigned threads)
{
    static const unsigned char image[] = {0x50, 0xED, 0x55, 0xBA}; /* looks like a binary */
    struct {
        CUdeviceptr elements;
        unsigned addend;
    } args = {elements, 1};
    void *parameters[] = {&args};
    CUmodule module;
    CUfunction add;

    must(cuModuleLoadData(&module, image));
    must(cuModuleGetFunction(&add, module, "softcuda_test_add"));
    must(cuLaunchKernel(add, 1, 1, 1, threads, 1, 1, 0, NULL, parameters, NULL));
    return cuCtxSynchronize() == CUDA_SUCCESS;
}

static bool add_inside(void)
{
    return add_to(memory, BYTES / 4);
}

static bool add_beside(void)
{
    return add_to(memory, BYTES / 4 + 1);
}

static bool add_elsewhere(void)
{
    return add_to(memory + PAGE, 1);
}

static void test_accesses(void)
{
    char host[BYTES + 1];
    CUdeviceptr freed;

    ok(!succeeds(read_device), "the program cannot touch device memory");
    ok(succeeds(add_inside), "a kernel can");
    ok(!succeeds(add_beside), "a kernel that writes one element too far fails");
    ok(!succeeds(add_elsewhere), "a kernel that writes where nothing is fails");
    must(cuMemAlloc(&freed, BYTES));
    must(cuMemFree(freed));
    ok(cuMemcpyDtoH(host, memory, BYTES + 1) == CUDA_ERROR_INVALID_VALUE &&
           cuMemcpyHtoD(memory + 1, host, BYTES) == CUDA_ERROR_INVALID_VALUE &&
           cuMemcpyDtoH(host, freed, 1) == CUDA_ERROR_INVALID_VALUE,
       "copies stay within an allocation that is there");
}

/* ---- what is queued ---- */

static void set_on(CUstream stream, unsigned char value)
{
    must(cuMemsetD8Async(memory, value, 1, stream));
}

/* Queues a copy of the byte to PINNED. */
static void show_on(CUstream stream)
{
    *pinned = 99;
    must(cuMemcpyDtoHAsync(pinned, memory, 1, stream));
}

static void test_late(CUstream stream)
{
    unsigned char pageable = 5;

    *pinned = 5;
    must(cuMemcpyHtoDAsync(memory, pinned, 1, stream));
    must(cuMemcpyHtoDAsync(memory + 1, &pageable, 1, stream));
    *pinned = pageable = 6;
    must(cuMemcpyDtoHAsync(pinned + 1, memory, 2, stream));
    ok(pinned[1] != 6, "work is not done before somebody waits for it");
    must(cuStreamSynchronize(stream));
    ok(pinned[1] == 6 && pinned[2] == 5,
       "pinned memory is read when it is, and pageable memory at the call");
}

static void test_order(CUstream stream, CUstream other)
{
    CUevent event;

    set_on(stream, 1);
    show_on(other);
    must(cuStreamSynchronize(other));
    ok(*pinned != 1, "streams do not wait for each other");
    set_on(NULL, 2);
    show_on(stream);
    must(cuStreamSynchronize(stream));
    ok(*pinned == 1, "nor a non-blocking one for the legacy stream");
    set_on(stream, 3);
    show_on(NULL);
    must(cuStreamSynchronize(NULL));
    ok(*pinned == 2, "nor this one for a non-blocking one");
    must(cuEventCreate(&event, CU_EVENT_DISABLE_TIMING));
    must(cuEventRecord(event, stream));
    set_on(stream, 4);
    must(cuStreamWaitEvent(other, event, 0));
    show_on(other);
    must(cuStreamSynchronize(other));
    ok(*pinned == 3, "an event is waited for as it was recorded");
    must(cuCtxSynchronize());
}

/* ---- forks ---- */

static bool do_nothing(void)
{
    return true;
}

/* What the device has of memory that was pinned at a fork, and was written afterwards. */
static int seen_after_fork(int flags)
{
    unsigned char *split = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, flags | MAP_ANONYMOUS, -1, 0);
    unsigned char byte;

    if (split == MAP_FAILED)
        bail_out("no memory");
    *split = 1;
    must(cuMemHostRegister(split, PAGE, CU_MEMHOSTREGISTER_PORTABLE));
    if (!succeeds(do_nothing))
        bail_out("the child has failed");
    *split = 2;
    must(cuMemcpyHtoD(memory, split, 1));
    must(cuMemcpyDtoH(&byte, memory, 1));
    must(cuMemHostUnregister(split));
    munmap(split, PAGE);
    return byte;
}

/* ---- another process ---- */

static int peer; /* socket to it */

static void serve(void)
{
    CUipcMemHandle handle;
    char byte;

    start();
    must(cuIpcGetMemHandle(&handle, memory));
    if (write(peer, &handle, sizeof handle) != (ssize_t)sizeof handle || read(peer, &byte, 1) != 1)
        return;
    must(cuMemFree(memory));
    if (write(peer, &byte, 1) == 1 && read(peer, &byte, 1) == 1)
        return;
}

/* Before any call of the driver, which the other process does not inherit. */
static void start_peer(void)
{
    int ends[2];
    pid_t child;

    if (socketpair(AF_UNIX, SOCK_SEQPACKET, 0, ends) != 0 || (child = fork()) < 0)
        bail_out("no child process");
    peer = ends[child == 0];
    close(ends[child != 0]);
    if (child == 0) {
        serve();
        _exit(0);
    }
}

static void test_peer(void)
{
    const unsigned lazy = CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS;
    CUipcMemHandle handle;
    CUdeviceptr theirs, again;
    char byte = 0;

    if (read(peer, &handle, sizeof handle) != (ssize_t)sizeof handle)
        bail_out("the other process has gone");
    must(cuIpcOpenMemHandle(&theirs, handle, lazy));
    ok(cuIpcOpenMemHandle(&again, handle, lazy) == CUDA_ERROR_ALREADY_MAPPED,
       "memory of another process is opened once");
    must(cuMemcpyDtoH(&byte, theirs, 1));
    if (write(peer, &byte, 1) != 1 || read(peer, &byte, 1) != 1)
        bail_out("the other process has gone");
    ok(cuMemcpyDtoH(&byte, theirs, 1) == CUDA_ERROR_ILLEGAL_ADDRESS,
       "what was freed there is not to be read here");
    close(peer);
}

int main(void)
{
    CUstream stream, other;

    start_peer();
    start();
    must(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
    must(cuStreamCreate(&other, CU_STREAM_NON_BLOCKING));
    test_accesses();
    test_late(stream);
    test_order(stream, other);
    ok(seen_after_fork(MAP_PRIVATE) == 1, "private memory is lost to the device with a fork");
    ok(seen_after_fork(MAP_SHARED) == 2, "shared memory is not");
    test_peer();
    return done_testing();
}
