/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

/* What a compressed call asks of the driver and the processor, and what memory is kept:
 * "device_counts COUNT [copied]", with the software driver. All calls are compressed by the flat
 * algorithm. With "copied" the processor copies what local peers have sent. */

#define _GNU_SOURCE /* dladdr */

#include <dlfcn.h>
#include <stdlib.h>

#include "../lib/tap.h"
#include "lib/bound.h"
#include "lib/check.h"
#include "lib/device.h"

enum { SMALL = 5003, PAYLOAD = 4096 /* bytes that headers do not have */ };

static size_t count;
static void *send, *receive;
static bool copied;

/* ---- what the processor copies ---- */

static unsigned long long bytes_copied; /* by the library itself */

/* By a pointer that the compiler does not see through: of memmove it could make memcpy. */
static void *(*volatile move)(void *to, const void *from, size_t bytes) = memmove;

/* In the place of the C library's, for all. */
void *memcpy(void *restrict to, const void *restrict from, size_t bytes)
{
    Dl_info caller;

    if (bytes >= PAYLOAD && dladdr(__builtin_return_address(0), &caller) != 0 &&
        strstr(caller.dli_fname, "libcgxpmpi") != NULL)
        bytes_copied += bytes;
    return move(to, from, bytes);
}

/* ---- what the driver does ---- */

static struct softcuda_counts difference(struct softcuda_counts from, struct softcuda_counts to)
{
    for (int i = 0; i < SOFTCUDA_KINDS; i++)
        to.operations[i] -= from.operations[i];
    to.launches -= from.launches;
    to.bytes_to_device -= from.bytes_to_device;
    to.bytes_to_host -= from.bytes_to_host;
    return to;
}

/* What a call of ELEMENTS does. */
static struct softcuda_counts call(size_t elements, MPI_Comm comm)
{
    struct softcuda_counts before = device_count(), done;
    int code = MPI_Allreduce(send, receive, (int)elements, MPI_FLOAT, MPI_SUM, comm);

    done = difference(before, device_count());
    check(code == MPI_SUCCESS && done.launches > 0, "%zu elements: compressed", elements);
    return done;
}

/* Rank 0's, and the most on any rank. */
static unsigned long long most(unsigned long long here)
{
    unsigned long long all;

    PMPI_Allreduce(&here, &all, 1, MPI_UNSIGNED_LONG_LONG, MPI_MAX, MPI_COMM_WORLD);
    return all;
}

/* Encoded input comes down but for the own chunk, and that as sum; as much of it as others own goes
 * up as sums, and the own chunk once from every other rank. */
static void test_bytes(struct softcuda_counts steady)
{
    const struct scheme scheme = scheme_from_environment(ELEMENT_FLOAT32);
    size_t buckets = (count + scheme.bucket - 1) / scheme.bucket;
    double payload = (double)count * scheme.bits / 8 + 4 * (double)buckets;
    double least_up = 2 * payload * (check_size - 1) / check_size;
    double down = (double)most(steady.bytes_to_host), up = (double)most(steady.bytes_to_device);

    check_note("%d ranks: %.0f bytes to the host, %.4f of the least; %.0f to the device, %.4f",
               check_size, down, down / payload, up, up / least_up);
    check(down <= 1.02 * payload, "hardly more than the least is copied to the host");
    check(up <= 1.02 * least_up, "hardly more than the least is copied to the device");
}

/* Once all is made, calls of several sizes make nothing, and upload no table again. */
static void test_steady(MPI_Comm comm)
{
    unsigned long long before;
    struct softcuda_counts first = call(count, comm), small = call(SMALL, comm);
    struct softcuda_counts steady, again;

    call(count, comm);
    before = bytes_copied;
    steady = call(count, comm);
    before = most(bytes_copied - before);
    again = call(count, comm);
    check_note("%d ranks: launches %llu", check_size, most(steady.launches));
    check_note("%d ranks: the processor copies %llu bytes", check_size, before);
    check_note("%d ranks: copies %llu", check_size, most(steady.operations[SOFTCUDA_COPY]));
    /* With 4 bits. */
    check(copied ? before > count / 3 : before < count / 100, "the processor copies %s payloads",
          copied ? "the" : "no");
    check(first.operations[SOFTCUDA_ALLOC] > 0, "the first call makes what it needs");
    if (steady.launches <= 4)
        check(first.bytes_to_device > steady.bytes_to_device,
              "the first call alone uploads tables");
    check(steady.operations[SOFTCUDA_ALLOC] == 0, "later ones make nothing");
    check(again.bytes_to_device == steady.bytes_to_device &&
              again.bytes_to_host == steady.bytes_to_host && again.launches == steady.launches,
          "one is as the other");
    check(steady.live == first.live && again.live == first.live, "nothing more is kept");
    check(small.operations[SOFTCUDA_ALLOC] == 0, "a smaller one uses what is there");
    again = call(SMALL, comm);
    check(again.launches <= 4, "a small one launches at most four kernels");
    check(call(SMALL, comm).operations[SOFTCUDA_ALLOC] == 0, "and makes nothing");
    test_bytes(steady);
}

/* Calls of ever more elements: what was made for fewer is let go. */
static void test_growth(void)
{
    unsigned long long live = device_live(), first;
    MPI_Comm comm;

    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    first = call(SMALL, comm).live;
    for (size_t elements = 2 * SMALL; elements < 8 * SMALL; elements += SMALL)
        call(elements, comm);
    check(device_count().live == first, "growing leaves nothing behind");
    MPI_Comm_free(&comm);
    check(device_live() == live, "nor does another communicator that is freed");
}

static int end(unsigned long long live)
{
    bool same;

    MPI_Finalize();
    same = device_live() == live;
    if (check_rank == 0)
        ok(same, "nothing is left after MPI_Finalize");
    return check_rank == 0 ? done_testing() : !same;
}

int main(int argc, char **argv)
{
    unsigned long long live;
    float *input;
    MPI_Comm comm;

    check_begin(&argc, &argv);
    if (!place_begin("what is asked of the driver", true))
        return check_end();
    count = argc > 1 ? (size_t)atol(argv[1]) : 100003;
    copied = argc > 2;
    input = check_memory(count * sizeof(float));
    data_fill(DATA_GAUSSIAN, ELEMENT_FLOAT32, 1, check_rank, count, input);
    send = device_clone(input, count * sizeof(float));
    receive = device_clone(input, count * sizeof(float));
    live = device_live();

    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    test_steady(comm);
    MPI_Comm_free(&comm);
    check(device_live() == live, "MPI_Comm_free leaves nothing");
    test_growth();
    call(SMALL, MPI_COMM_WORLD);
    check(device_live() > live, "MPI_COMM_WORLD keeps something");
    free(input);
    return end(live);
}
