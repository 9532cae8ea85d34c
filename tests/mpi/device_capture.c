/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

/* Sums of device buffers while the program captures a stream. A stream that is not ordered with the
 * legacy default stream is not disturbed. The capture of one that is may be void then, and the sum
 * is exact or an error: all ranks capture, since the others wait for one that gets an error in an
 * exact call. Run with all calls compressed. */

#include <cuda.h>
#include <stdlib.h>
#include <string.h>

#include "lib/check.h"
#include "lib/comms.h"
#include "lib/data.h"
#include "lib/device.h"
#include "lib/traffic.h"

enum { COUNT = 100003 };
#define BYTES (COUNT * sizeof(float))

static struct {
    CUresult (*create)(CUstream *stream, unsigned flags);
    CUresult (*destroy)(CUstream stream);
    CUresult (*begin)(CUstream stream, CUstreamCaptureMode mode);
    CUresult (*end)(CUstream stream, CUgraph *graph);
} driver;

static MPI_Comm comm;
static float *input, *exact, *compressed, *result;

struct outcome {
    int code;
    bool sent; /* messages of a compressed call */
};

/* What the sum of INPUT in device memory came to; RESULT, if there is one. */
static struct outcome sum(CUstream captured, CUresult *ended)
{
    void *from = device_clone(input, BYTES), *to = device_clone(input, BYTES);
    uint64_t before = traffic_messages();
    CUgraph graph;
    struct outcome outcome;

    if (captured)
        device_must(driver.begin(captured, CU_STREAM_CAPTURE_MODE_GLOBAL), "cuStreamBeginCapture");
    outcome.code = MPI_Allreduce(from, to, COUNT, MPI_FLOAT, MPI_SUM, comm);
    outcome.sent = traffic_messages() > before;
    if (captured)
        *ended = driver.end(captured, &graph);
    device_download(result, to, BYTES);
    device_free(from);
    device_free(to);
    return outcome;
}

static bool is_compressed(struct outcome outcome)
{
    return outcome.code == MPI_SUCCESS && outcome.sent && memcmp(result, compressed, BYTES) == 0;
}

static bool is_exact(struct outcome outcome)
{
    return outcome.code == MPI_SUCCESS && memcmp(result, exact, BYTES) == 0;
}

/* CAPTURES: whether this rank does. */
static void test(const char *name, unsigned flags, bool captures)
{
    bool blocking = flags == CU_STREAM_DEFAULT;
    CUresult ended = CUDA_SUCCESS;
    CUstream stream = NULL;
    struct outcome outcome;

    if (captures)
        device_must(driver.create(&stream, flags), "cuStreamCreate");
    outcome = sum(stream, &ended);
    if (blocking) {
        check(outcome.code != MPI_SUCCESS || is_exact(outcome), "%s: the sum is exact or an error",
              name);
        check(ended == CUDA_SUCCESS || ended == CUDA_ERROR_STREAM_CAPTURE_INVALIDATED,
              "%s: the capture is void at the most", name);
    } else {
        check(is_compressed(outcome), "%s: the sum is compressed", name);
        check(ended == CUDA_SUCCESS, "%s: the capture is not disturbed", name);
    }
    check_note("%s: code %d, capture %d", name, outcome.code, (int)ended);
    if (captures)
        device_must(driver.destroy(stream), "cuStreamDestroy");
    outcome = sum(NULL, NULL);
    check(is_compressed(outcome) || (blocking && is_exact(outcome)), "%s: the next sum is right",
          name);
}

int main(int argc, char **argv)
{
    const struct device_function functions[] = {{"cuStreamCreate", &driver.create},
                                                {"cuStreamDestroy_v2", &driver.destroy},
                                                {"cuStreamBeginCapture_v2", &driver.begin},
                                                {"cuStreamEndCapture", &driver.end}};

    check_begin(&argc, &argv);
    if (!check_has(device_open(check_rank), "device buffers", "there is no device"))
        return check_end();
    if (!check_has(device_find(functions, 4), "captures", "the driver has none"))
        return check_end();
    comm = comms_new();
    input = check_memory(BYTES);
    exact = check_memory(BYTES);
    compressed = check_memory(BYTES);
    result = check_memory(BYTES);
    data_fill(DATA_GAUSSIAN, ELEMENT_FLOAT32, 1, check_rank, COUNT, input);
    PMPI_Allreduce(input, exact, COUNT, MPI_FLOAT, MPI_SUM, comm);
    check(sum(NULL, NULL).sent, "without a capture: the sum is compressed");
    memcpy(compressed, result, BYTES);

    test("all capture non-blocking streams", CU_STREAM_NON_BLOCKING, true);
    test("one captures a non-blocking stream", CU_STREAM_NON_BLOCKING, check_rank == 0);
    test("all capture blocking streams", CU_STREAM_DEFAULT, true);
    free(input);
    free(exact);
    free(compressed);
    free(result);
    MPI_Comm_free(&comm);
    return check_end();
}
