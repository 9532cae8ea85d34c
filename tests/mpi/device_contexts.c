/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

/* Compressed sums in a process with several contexts: each buffer is processed in its own context,
 * and the caller's context stays current. All calls are compressed. */

#include <pthread.h>
#include <stdlib.h>

#include "../lib/tap.h"
#include "lib/check.h"
#include "lib/device.h"
#include "lib/sums.h"

static MPI_Comm comms[4];

static struct {
    int (*create)(void **context, unsigned flags, int device);
    int (*destroy)(void *context);
    int (*set_current)(void *context);
} driver;

static const struct device_function functions[] = {{"cuCtxCreate_v2", &driver.create},
                                                   {"cuCtxDestroy_v2", &driver.destroy},
                                                   {"cuCtxSetCurrent", &driver.set_current}};

/* A context of the program's own beside the primary one of device 0. */
static void *own_context;
enum { OWN = 2 };

static void create_own(void)
{
    device_must(driver.create(&own_context, 0, 0), "cuCtxCreate");
}

/* Makes the primary context of a device current, or OWN. */
static void enter(int which)
{
    if (which == OWN)
        device_must(driver.set_current(own_context), "cuCtxSetCurrent");
    else
        device_open(which);
}

static void destroy_own(void)
{
    enter(OWN);
    device_must(driver.destroy(own_context), "cuCtxDestroy");
}

/* More after a call that was compressed. */
static uint64_t work_done(void)
{
    return device_is_soft() ? device_count().launches : traffic_messages();
}

/* ---- sums between devices ---- */

/* From device FROM to device TO, CALLER's context being current (each 0, 1 or OWN); whether it is
 * as in host memory, OTHER having seen the same calls as COMM. */
static bool is_right(int from, int to, int caller, size_t count, uint64_t seed, MPI_Comm comm,
                     MPI_Comm other)
{
    const size_t bytes = count * sizeof(float);
    float *input = check_memory(bytes), *result = check_memory(bytes),
          *wanted = check_memory(bytes);
    uint64_t before = work_done();
    struct device_thread thread;
    void *send, *receive;
    bool good;

    data_fill(DATA_GAUSSIAN, ELEMENT_FLOAT32, seed, check_rank, count, input);
    enter(from);
    send = device_clone(input, bytes);
    enter(to);
    receive = device_clone(input, bytes);
    enter(caller);
    thread = device_thread();
    good = MPI_Allreduce(from == to && seed % 2 ? MPI_IN_PLACE : send, receive, (int)count,
                         MPI_FLOAT, MPI_SUM, comm) == MPI_SUCCESS;
    good = device_thread_is(&thread) && work_done() > before && good;
    good =
        MPI_Allreduce(input, wanted, (int)count, MPI_FLOAT, MPI_SUM, other) == MPI_SUCCESS && good;
    enter(to);
    device_download(result, receive, bytes);
    good = memcmp(result, wanted, bytes) == 0 && good;
    device_free(receive);
    enter(from);
    device_free(send);
    free(input);
    free(result);
    free(wanted);
    return good;
}

static void test_devices(void)
{
    static const int calls[][3] = {{0, 0, 0}, {1, 1, 1}, {0, 0, 1}, {1, 1, 0}, {0, 1, 0},
                                   {1, 0, 0}, {0, 0, 0}, {0, 1, 1}, {1, 1, 1}};
    bool good = true;

    for (size_t i = 0; i < sizeof calls / sizeof calls[0]; i++) {
        const int *c = calls[i];

        check(is_right(c[0], c[1], c[2], 20011, i, comms[0], comms[1]),
              "from device %d to device %d, current %d", c[0], c[1], c[2]);
    }
    /* Each rank another one. */
    for (int i = 0; i < 4; i++)
        good = is_right((check_rank + i) % 2, (check_rank + i / 2) % 2, 0, 20011, 10 + (uint64_t)i,
                        comms[0], comms[1]) &&
               good;
    check(good, "ranks use different devices in turn");
}

/* While one device still stores or decodes a slice, the other encodes the next but one. */
static void test_slices(void)
{
    check(is_right(0, 1, 0, 2000003, 20, comms[0], comms[1]), "slices go from device 0 to 1");
    check(is_right(1, 0, 0, 2000003, 21, comms[0], comms[1]), "slices go from device 1 to 0");
    check(is_right(1, 1, 0, 2000003, 22, comms[0], comms[1]), "slices stay on a device");
}

/* It goes while the communicator still has what was made in it. */
static void test_own(void)
{
    create_own();
    check(is_right(OWN, OWN, 0, 20011, 24, comms[0], comms[1]), "in a context of the program's");
    check(is_right(0, OWN, 1, 20011, 25, comms[0], comms[1]), "from the device's other context");
    check(is_right(OWN, 1, OWN, 20011, 26, comms[0], comms[1]), "to another device");
    destroy_own();
    check(is_right(0, 0, 0, 20011, 27, comms[0], comms[1]), "when that context has gone");
    create_own();
    check(is_right(OWN, OWN, OWN, 20011, 28, comms[0], comms[1]), "in a new one");
    destroy_own();
}

static void test_communicators(void)
{
    bool good = true;

    for (int i = 0; i < 3; i++) {
        good = is_right(0, 0, 0, 5003, 30 + (uint64_t)i, comms[0], comms[1]) && good;
        good = is_right(1, 1, 0, 5003, 40 + (uint64_t)i, comms[2], comms[3]) && good;
    }
    check(good, "two communicators, a device for each");
}

/* ---- threads ---- */

enum { COUNT = 7001, CALLS = 20 };

/* A thread sums on a communicator of its own, in place, buffers of its own device. */
struct worker {
    pthread_t thread;
    int device; /* -1: no context is current, and the calls are on the buffer's device all the same
                 */
    MPI_Comm comm;
    void *buffer;
    bool good;
    float *results;
};

static void *work(void *argument)
{
    struct worker *worker = argument;
    struct device_thread thread;

    if (worker->device >= 0)
        device_open(worker->device);
    thread = device_thread();
    worker->good = (thread.context == NULL) == (worker->device < 0);
    for (int i = 0; i < CALLS; i++) {
        worker->good = MPI_Allreduce(MPI_IN_PLACE, worker->buffer, COUNT, MPI_FLOAT, MPI_SUM,
                                     worker->comm) == MPI_SUCCESS &&
                       device_thread_is(&thread) && worker->good;
        if (worker->device >= 0)
            device_download(worker->results + (size_t)i * COUNT, worker->buffer,
                            COUNT * sizeof(float));
    }
    return NULL;
}

/* Of device DEVICE, which becomes current. */
static void start(struct worker *worker, int device, const float *input)
{
    device_open(device);
    worker->buffer = device_clone(input, COUNT * sizeof(float));
    worker->results = check_memory(CALLS * COUNT * sizeof(float));
    if (pthread_create(&worker->thread, NULL, work, worker) != 0)
        bail_out("no thread");
}

/* OTHER has seen the same calls as the worker's communicator; DEVICE is the buffer's. */
static bool finish(struct worker *worker, int device, const float *input, MPI_Comm other)
{
    float *wanted = check_memory(COUNT * sizeof(float));

    pthread_join(worker->thread, NULL);
    device_open(device);
    device_download(worker->results + (size_t)(CALLS - 1) * COUNT, worker->buffer,
                    COUNT * sizeof(float));
    memcpy(wanted, input, COUNT * sizeof(float));
    for (int i = 0; i < CALLS; i++) {
        MPI_Allreduce(MPI_IN_PLACE, wanted, COUNT, MPI_FLOAT, MPI_SUM, other);
        if (worker->device >= 0 || i == CALLS - 1)
            worker->good =
                memcmp(worker->results + (size_t)i * COUNT, wanted, COUNT * sizeof(float)) == 0 &&
                worker->good;
    }
    device_free(worker->buffer);
    free(worker->results);
    free(wanted);
    return worker->good;
}

static void test_threads(bool multiple)
{
    float *input = check_memory(COUNT * sizeof(float));
    struct worker lonely = {.device = -1, .comm = comms[0]};
    struct worker workers[] = {{.device = 0, .comm = comms[0]}, {.device = 1, .comm = comms[2]}};
    uint64_t before = work_done();
    bool good;

    data_fill(DATA_GAUSSIAN, ELEMENT_FLOAT32, 50, check_rank, COUNT, input);
    start(&lonely, 1, input);
    good = finish(&lonely, 1, input, comms[1]);
    check(good && work_done() > before, "a thread calls that has no context, before or after");
    if (multiple) {
        for (int i = 0; i < 2; i++)
            start(&workers[i], i, input);
        good = finish(&workers[0], 0, input, comms[1]);
        good = finish(&workers[1], 1, input, comms[3]) && good;
        check(good, "two threads at once, a communicator and a device for each");
    } else {
        check_note("this MPI has not MPI_THREAD_MULTIPLE");
    }
    free(input);
}

int main(int argc, char **argv)
{
    int provided;

    MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
    check_begin(&argc, &argv);
    if (!check_has(device_open(0), "device buffers", "no CUDA driver, or no device") ||
        !check_has(device_find(functions, sizeof functions / sizeof functions[0]), "contexts",
                   "the driver makes none"))
        return check_end();
    comms_make(comms, 4);
    test_devices();
    test_slices();
    test_own();
    test_communicators();
    test_threads(provided == MPI_THREAD_MULTIPLE);
    comms_free(comms, 4);
    return check_end();
}
