/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

/* Counts the driver calls that each call of the program makes, by function: "device_calls [COUNT
 * [peers | guarded | looked]]", with the software driver. Sums of device buffers are compressed,
 * with "peers" and "guarded" from device to device; sums of host buffers are exact. With "guarded"
 * buffers have new data before each call, as gradients have. With "looked" ranks look at the data
 * of exact calls, and nothing else is counted. */

#include <stdio.h>
#include <stdlib.h>

#include "lib/check.h"
#include "lib/device.h"
#include "lib/sums.h"

enum {
    WARM = 3,        /* calls until all is as in later ones ... */
    GUARDED = 64,    /* ... with default settings, after which sums have steps in common */
    COMPRESSED = 45, /* the most for a slice ... */
    PEERS = 25,      /* ... from device to device, however many local peers there are, ... */
    WATCHED = 27,    /* ... with default settings */
    LOOK = 8,        /* exact calls until three were looked at ... */
    LOOKED = 37,     /* ... and the most for one of them */
    FUNCTIONS = 64
};

/* What is counted. */
struct call {
    const char *name;
    const void *send;
    void *receive;
    size_t count;
    MPI_Datatype datatype;
    MPI_Op op;
};

struct counted {
    unsigned long long calls;      /* the most on any rank */
    unsigned long long lookups;    /* of them those that ask where a known buffer is */
    unsigned long long attributes; /* that were asked for */
    unsigned long long waits;      /* for the device */
    unsigned slices;               /* 0: it was exact */
};

static bool by_peers, guarded;

/* Gives the device buffer of CALL that is summed new data. */
static void refill(const struct call *call)
{
    static uint64_t seed;
    void *buffer = call->send == MPI_IN_PLACE ? call->receive : (void *)(uintptr_t)call->send;
    float *input = check_memory(call->count * sizeof *input);

    data_fill(DATA_GAUSSIAN, ELEMENT_FLOAT32, ++seed, check_rank, call->count, input);
    device_upload(buffer, input, call->count * sizeof *input);
    free(input);
}

static bool run(const struct call *call)
{
    return MPI_Allreduce(call->send, call->receive, (int)call->count, call->datatype, call->op,
                         MPI_COMM_WORLD) == MPI_SUCCESS;
}

static void print(const char *name, const struct softcuda_call *calls, size_t ncalls)
{
    char line[1024];
    size_t length = 0;

    for (size_t i = 0; i < ncalls && length < sizeof line; i++)
        length += (size_t)snprintf(line + length, sizeof line - length, "%s%llu %s",
                                   i > 0 ? ", " : "", calls[i].count, calls[i].name);
    check_note("%s: %s", name, ncalls > 0 ? line : "none");
}

/* One call after some like it, with what rank 0 calls as a note. */
static struct counted count_calls(const struct call *call)
{
    struct softcuda_call calls[FUNCTIONS];
    enum { ALL, LOOKUPS, LAUNCHES, ATTRIBUTES, WAITS, COUNTED };
    unsigned long long here[COUNTED] = {0}, all[COUNTED], launches, attributes;
    bool good = true;
    size_t ncalls;

    for (int i = 0; i < (guarded ? GUARDED : WARM); i++) {
        if (guarded)
            refill(call);
        good &= run(call);
    }
    if (guarded)
        refill(call);
    launches = device_count().launches;
    attributes = device_count().attributes;
    device_record_calls(true);
    good &= run(call);
    device_record_calls(false);
    here[LAUNCHES] = device_count().launches - launches;
    here[ATTRIBUTES] = device_count().attributes - attributes;
    ncalls = device_recorded(calls, FUNCTIONS);
    for (size_t i = 0; i < ncalls; i++) {
        here[ALL] += calls[i].count;
        if (strcmp(calls[i].name, "cuPointerGetAttributes") == 0)
            here[LOOKUPS] += calls[i].count;
        if (strstr(calls[i].name, "Synchronize"))
            here[WAITS] += calls[i].count;
    }
    PMPI_Allreduce(here, all, COUNTED, MPI_UNSIGNED_LONG_LONG, MPI_MAX, MPI_COMM_WORLD);
    check(good, "%s: the calls succeed", call->name);
    check_note("%s: %llu calls of the driver", call->name, all[ALL]);
    print(call->name, calls, ncalls);
    /* Each slice is encoded, summed and decoded, by as many kernels or one. With default settings
     * another kernel writes the heads of pieces that are encoded or summed, and one reads a sample
     * of the input. */
    return (struct counted){.calls = all[ALL],
                            .lookups = all[LOOKUPS],
                            .attributes = all[ATTRIBUTES],
                            .waits = all[WAITS],
                            .slices =
                                (unsigned)(guarded ? (all[LAUNCHES] - 1) / 5 : all[LAUNCHES] / 3)};
}

/* The third exact call whose data ranks look at before they compress; before the others ranks get
 * what compressed calls need. Each buffer is sampled by one copy, whatever the number of samples.
 */
static void test_looked_at(const struct call *call)
{
    struct softcuda_call calls[FUNCTIONS];
    unsigned long long copies = 0, all = 0;
    size_t ncalls = 0;
    MPI_Comm comm;

    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    for (int i = 0, looks = 0; i < LOOK && looks < 3; i++) {
        refill(call);
        device_record_calls(true);
        MPI_Allreduce(call->send, call->receive, (int)call->count, MPI_FLOAT, MPI_SUM, comm);
        device_record_calls(false);
        ncalls = device_recorded(calls, FUNCTIONS);
        copies = 0;
        for (size_t k = 0; k < ncalls; k++)
            if (strstr(calls[k].name, "cuMemcpy2DUnaligned"))
                copies += calls[k].count;
        looks += copies > 0;
    }
    MPI_Comm_free(&comm);
    for (size_t i = 0; i < ncalls; i++)
        all += calls[i].count;
    print(call->name, calls, ncalls);
    check(copies == 2 && all <= LOOKED, "%s: %llu copies among %llu calls of the driver",
          call->name, copies, all);
}

/* SEND and RECEIVE are device memory. */
static void test_compressed(const void *send, void *receive, size_t count)
{
    const struct call calls[] = {
        {"compressed", send, receive, count, MPI_FLOAT, MPI_SUM},
        {"compressed, in place", MPI_IN_PLACE, receive, count, MPI_FLOAT, MPI_SUM},
    };

    for (size_t i = 0; i < sizeof calls / sizeof calls[0]; i++) {
        struct counted counted = count_calls(&calls[i]);
        int most = guarded ? WATCHED : by_peers ? PEERS : COMPRESSED;

        check(counted.slices > 0 && counted.calls <= (unsigned)most * counted.slices,
              "%s: in %u slices at most %d calls for each", calls[i].name, counted.slices, most);
        if (by_peers)
            check(
                counted.waits <= 2 * counted.slices + (counted.slices > 1 ? 2 : 1) + guarded,
                "%s: at most 2 waits for each slice, one for each slot at the end, and one to look",
                calls[i].name);
        check(counted.lookups == 2 - i, "%s: each buffer is looked up once", calls[i].name);
    }
}

static void test_exact_device(const void *send, void *receive, size_t count)
{
    const struct call calls[] = {
        {"exact, device buffers", send, receive, count, MPI_FLOAT, MPI_MAX},
        {"exact, a device buffer in place", MPI_IN_PLACE, receive, count, MPI_FLOAT, MPI_MAX},
    };

    for (size_t i = 0; i < sizeof calls / sizeof calls[0]; i++)
        check(count_calls(&calls[i]).lookups == 2 - i, "%s: each is looked up once", calls[i].name);
}

static void test_exact_host(bool pinned)
{
    enum { COUNT = 4096 };
    double *send = check_memory(COUNT * sizeof *send),
           *receive = check_memory(COUNT * sizeof *send);
    const struct call calls[] = {
        {pinned ? "exact, pinned buffers" : "exact, host buffers", send, receive, COUNT, MPI_DOUBLE,
         MPI_SUM},
        {pinned ? "exact, a pinned buffer in place" : "exact, a host buffer in place", MPI_IN_PLACE,
         receive, COUNT, MPI_DOUBLE, MPI_SUM},
    };

    memset(send, 0, COUNT * sizeof *send);
    memset(receive, 0, COUNT * sizeof *receive);
    if (pinned) {
        device_pin(send, COUNT * sizeof *send);
        device_pin(receive, COUNT * sizeof *receive);
    }
    for (size_t i = 0; i < sizeof calls / sizeof calls[0]; i++) {
        struct counted counted = count_calls(&calls[i]);

        check(counted.calls <= (pinned ? 2 : 1) * (2 - i) &&
                  (pinned || counted.attributes <= 2 - i),
              "%s: each is looked up once, and no more%s", calls[i].name,
              pinned ? "" : ", by its type alone");
    }
    if (pinned) {
        device_unpin(send);
        device_unpin(receive);
    }
    free(send);
    free(receive);
}

/* The kernels are loaded once for each context, whatever becomes of communicators and memory. */
static void test_modules(const void *send, void *receive, size_t count)
{
    MPI_Comm comm;

    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    for (size_t n = count / 2; n <= count; n += count / 2)
        for (int i = 0; i < WARM + 1; i++)
            MPI_Allreduce(send, receive, (int)n, MPI_FLOAT, MPI_SUM, comm);
    MPI_Comm_free(&comm);
    check(device_count().modules == 1, "%llu modules are loaded", device_count().modules);
}

int main(int argc, char **argv)
{
    size_t count = argc > 1 ? (size_t)atol(argv[1]) : 100003;
    void *send, *receive;
    float *input;

    guarded = argc > 2 && strcmp(argv[2], "guarded") == 0;
    by_peers = guarded || (argc > 2 && strcmp(argv[2], "peers") == 0);
    check_begin(&argc, &argv);
    if (!place_begin("calls of the driver", true))
        return check_end();
    input = check_memory(count * sizeof *input);
    data_fill(DATA_GAUSSIAN, ELEMENT_FLOAT32, 1, check_rank, count, input);
    send = device_clone(input, count * sizeof *input);
    receive = device_clone(input, count * sizeof *input);
    free(input);
    if (argc > 2 && strcmp(argv[2], "looked") == 0) {
        test_looked_at(&(struct call){"looked at", send, receive, count, MPI_FLOAT, MPI_SUM});
        test_looked_at(&(struct call){"looked at, in place", MPI_IN_PLACE, receive, count,
                                      MPI_FLOAT, MPI_SUM});
        return check_end();
    }
    test_compressed(send, receive, count);
    guarded = false;
    test_modules(send, receive, count);
    test_exact_device(send, receive, count);
    test_exact_host(false);
    test_exact_host(true);
    device_free(send);
    device_free(receive);
    return check_end();
}
