// SPDX-FileCopyrightText: the libcgxpmpi developers
// SPDX-License-Identifier: BSD-3-Clause

// What a sum cannot take less than: the steps of a host that drives a device, in microseconds, and
// in which a model of calls counts them: launches, waits, copies of small messages, and words that
// host and kernel tell each other.
//
//     nvcc -O2 -std=c++17 -arch=native bench/gpu_floor.cu -o gpu_floor && ./gpu_floor
//
// Prints CSV: medians, and what 99 of 100 steps take at most.

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <vector>

#include <cuda_runtime.h>

namespace
{

const int kWarm = 100, kSteps = 1000;
const size_t kBytes = (size_t)1 << 20;
const unsigned kEnd = ~0u;

void must(cudaError_t code, const char *what)
{
    if (code == cudaSuccess)
        return;
    fprintf(stderr, "%s: %s\n", what, cudaGetErrorString(code));
    exit(1);
}

__global__ void nothing()
{
}

__global__ void tell(volatile unsigned *flag, unsigned value)
{
    *flag = value;
    __threadfence_system();
}

// Answers each new number of the host, until kEnd.
__global__ void answer(volatile unsigned *asked, volatile unsigned *told)
{
    for (unsigned last = 0, now; (now = *asked) != kEnd;)
        if (now != last) {
            *told = last = now;
            __threadfence_system();
        }
}

template <class Step> void measure(const char *what, Step step)
{
    std::vector<double> times;

    for (int i = 0; i < kWarm + kSteps; i++) {
        auto begin = std::chrono::steady_clock::now();

        step();
        std::chrono::duration<double, std::micro> took = std::chrono::steady_clock::now() - begin;
        if (i >= kWarm)
            times.push_back(took.count());
    }
    std::sort(times.begin(), times.end());
    printf("\"%s\",%.2f,%.2f\n", what, times[kSteps / 2], times[kSteps * 99 / 100]);
    fflush(stdout);
}

// What the steps work with.
struct Means {
    cudaStream_t stream;
    cudaEvent_t event, legacy;
    unsigned *flags; // on the host, mapped
    char *host, *device;
};

Means prepare()
{
    Means means;

    must(cudaStreamCreateWithFlags(&means.stream, cudaStreamNonBlocking), "cudaStreamCreate");
    must(cudaEventCreateWithFlags(&means.event, cudaEventDisableTiming), "cudaEventCreate");
    must(cudaEventCreateWithFlags(&means.legacy, cudaEventDisableTiming), "cudaEventCreate");
    must(cudaHostAlloc(&means.flags, 4096, cudaHostAllocMapped), "cudaHostAlloc");
    must(cudaHostAlloc(&means.host, kBytes, cudaHostAllocDefault), "cudaHostAlloc");
    must(cudaMalloc(&means.device, 2 * kBytes), "cudaMalloc");
    return means;
}

// Waits for what is queued as the library does.
void wait(const Means &means)
{
    must(cudaEventRecord(means.event, means.stream), "cudaEventRecord");
    must(cudaEventSynchronize(means.event), "cudaEventSynchronize");
}

void measure_launches(const Means &means)
{
    volatile unsigned *flag = means.flags;
    unsigned value = 0;

    measure("launch; not waited for", [&] { nothing<<<1, 128, 0, means.stream>>>(); });
    must(cudaStreamSynchronize(means.stream), "cudaStreamSynchronize");
    for (unsigned blocks : {1u, 528u}) {
        char name[96];

        snprintf(name, sizeof name, "launch of %u blocks; event; wait", blocks);
        measure(name, [&] {
            nothing<<<blocks, 128, 0, means.stream>>>();
            wait(means);
        });
    }
    measure("launch; the kernel writes a word to the host, which polls", [&] {
        tell<<<1, 1, 0, means.stream>>>(flag, ++value);
        while (*flag != value)
            ;
    });
    measure("event on the legacy stream; a stream waits for it", [&] {
        must(cudaEventRecord(means.legacy, cudaStreamLegacy), "cudaEventRecord");
        must(cudaStreamWaitEvent(means.stream, means.legacy, 0), "cudaStreamWaitEvent");
    });
}

void measure_copies(const Means &means, cudaMemcpyKind kind, size_t bytes, int copies)
{
    bool inside = kind == cudaMemcpyDeviceToDevice;
    const char *from = inside ? means.device + kBytes : means.host;
    char name[96];

    snprintf(name, sizeof name, "%d copies of %zu bytes %s the device; an event each; wait", copies,
             bytes, inside ? "inside" : "to");
    measure(name, [&] {
        for (int i = 0; i < copies; i++) {
            must(cudaMemcpyAsync(means.device + i * bytes, from + i * bytes, bytes, kind,
                                 means.stream),
                 "cudaMemcpyAsync");
            must(cudaEventRecord(means.event, means.stream), "cudaEventRecord");
        }
        must(cudaEventSynchronize(means.event), "cudaEventSynchronize");
    });
}

void measure_words(const Means &means)
{
    volatile unsigned *asked = means.flags + 64, *told = means.flags + 128;
    unsigned value = 0;

    measure("copy of 64 KiB to the host; event; wait", [&] {
        must(cudaMemcpyAsync(means.host, means.device, 65536, cudaMemcpyDeviceToHost, means.stream),
             "cudaMemcpyAsync");
        wait(means);
    });
    *asked = *told = 0;
    answer<<<1, 1, 0, means.stream>>>(asked, told);
    measure("the host asks a kernel that runs, and has its answer", [&] {
        *asked = ++value;
        while (*told != value)
            ;
    });
    *asked = kEnd;
    must(cudaStreamSynchronize(means.stream), "cudaStreamSynchronize");
}

} // namespace

int main()
{
    const Means means = prepare();

    printf("step,us,us_at_99_percent\n");
    measure_launches(means);
    for (size_t bytes : {(size_t)1024, (size_t)65536})
        for (int copies : {1, 7}) {
            measure_copies(means, cudaMemcpyDeviceToDevice, bytes, copies);
            measure_copies(means, cudaMemcpyHostToDevice, bytes, copies);
        }
    measure_words(means);
    return 0;
}
