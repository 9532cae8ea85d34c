/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

/* Sums a buffer in GPU memory over all ranks, twenty times, and checks the sums.
 *
 *     mpicc -I$CUDA_HOME/include -o allreduce_gpu allreduce_gpu.c -L$CUDA_HOME/lib64/stubs -lcuda
 *     mpiexec -n 4 ./allreduce_gpu
 *     mpiexec -n 4 cgxrun ./allreduce_gpu
 *
 * The second line needs an MPI that is CUDA-aware; the third, with the library preloaded, does not.
 * There the first sums are exact and, once the call has recurred a dozen times, the others are
 * compressed: their error is that of 4 bits. Nothing here knows of libcgxpmpi. */
#include <cuda.h>
#include <math.h>
#include <mpi.h>
#include <stdio.h>

enum { COUNT = 1 << 18, CALLS = 20 };

static void must(CUresult code, const char *what)
{
    if (code == CUDA_SUCCESS)
        return;
    fprintf(stderr, "allreduce_gpu: %s: CUDA error %d\n", what, (int)code);
    MPI_Abort(MPI_COMM_WORLD, 1);
}

/* What rank RANK adds to element I: 0 to 1, times the rank's number. */
static float value(int i, int rank)
{
    return (float)(i % 1001) / 1000.0f * (float)(rank + 1);
}

int main(int argc, char **argv)
{
    static float host[COUNT];
    int rank, ranks, devices = 0, wrong = 0;
    CUdeviceptr buffer;
    CUcontext context;
    CUdevice device;

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    must(cuInit(0), "cuInit");
    must(cuDeviceGetCount(&devices), "cuDeviceGetCount");
    must(cuDeviceGet(&device, rank % devices), "cuDeviceGet");
    must(cuDevicePrimaryCtxRetain(&context, device), "cuDevicePrimaryCtxRetain");
    must(cuCtxSetCurrent(context), "cuCtxSetCurrent");
    must(cuMemAlloc(&buffer, sizeof host), "cuMemAlloc");

    for (int call = 1; call <= CALLS; call++) {
        float most = (float)ranks * (float)(ranks + 1) / 2.0f, error = 0.0f;

        for (int i = 0; i < COUNT; i++)
            host[i] = value(i, rank);
        must(cuMemcpyHtoD(buffer, host, sizeof host), "cuMemcpyHtoD");
        MPI_Allreduce(MPI_IN_PLACE, (void *)buffer, COUNT, MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD);
        must(cuMemcpyDtoH(host, buffer, sizeof host), "cuMemcpyDtoH");

        for (int i = 0; i < COUNT; i++)
            error = fmaxf(error, fabsf(host[i] - value(i, 0) * most));
        /* Half a step for each rank's values and for the sum; a step is a fifteenth of the range
         * and at most 1/128 larger. */
        wrong |= !(error <= 1.02f * most / 15.0f);
        if (rank == 0)
            printf("call %2d: largest error %.6f, sums up to %.0f\n", call, error, most);
    }

    MPI_Allreduce(MPI_IN_PLACE, &wrong, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
    if (rank == 0)
        printf("%s\n", wrong ? "the sums are wrong" : "the sums are right");
    must(cuMemFree(buffer), "cuMemFree");
    must(cuDevicePrimaryCtxRelease(device), "cuDevicePrimaryCtxRelease");
    MPI_Finalize();
    return wrong;
}
