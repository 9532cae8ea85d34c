/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

/* Compressed sums and other work on their buffers: "device_order legacy|thread|other". What the
 * program queued before, on the legacy default stream, on its thread's or (with CGX_SYNC=device) on
 * another, is done before; when the call returns nothing is left to do. Run with all calls
 * compressed. */

#include <stdlib.h>
#include <string.h>

#include "lib/check.h"
#include "lib/comms.h"
#include "lib/data.h"
#include "lib/device.h"
#include "lib/placed.h"
#include "lib/traffic.h"

enum { COUNT = 300001 }; /* several slices */
#define BYTES (COUNT * sizeof(float))

static MPI_Comm comms[2];
static void *stream;
/* Pinned: STALE is in the buffers, LATER is on its way into them. */
static float *stale, *later;
static float *result, *wanted;

static float *make_input(uint64_t seed)
{
    float *input = place_make(PLACE_PINNED, result, BYTES);

    data_fill(DATA_GAUSSIAN, ELEMENT_FLOAT32, seed, check_rank, COUNT, input);
    return input;
}

static int sum(const void *from, void *to, int which)
{
    uint64_t before = traffic_messages();
    int code = MPI_Allreduce(from, to, COUNT, MPI_FLOAT, MPI_SUM, comms[which]);

    return code == MPI_SUCCESS && traffic_messages() > before ? 0 : 1;
}

/* The same sum of LATER in ordinary memory: WANTED. */
static bool refer(void)
{
    float *input = check_memory(BYTES);
    bool good;

    memcpy(input, later, BYTES);
    good = sum(input, wanted, 1) == 0;
    free(input);
    return good;
}

/* ROUND: in the first the library makes what it needs, which may wait for what is queued; in later
 * ones nothing does but the call. */
static void test_before(int round, bool in_place)
{
    void *from = device_clone(stale, BYTES), *to = device_clone(stale, BYTES);
    bool good = refer();

    device_upload_later(in_place ? to : from, later, BYTES, stream);
    good = sum(in_place ? MPI_IN_PLACE : from, to, 0) == 0 && good;
    device_download(result, to, BYTES);
    check(good && memcmp(result, wanted, BYTES) == 0, "round %d, %s: what is queued counts", round,
          in_place ? "in place" : "apart");
    device_free(from);
    device_free(to);
}

/* What was to be written where the sum goes does not come after it. */
static void test_receive(enum place from_place)
{
    void *from = place_make(from_place, later, BYTES), *to = device_alloc(BYTES);
    bool good = refer();

    device_upload_later(to, stale, BYTES, stream);
    good = sum(from, to, 0) == 0 && good;
    device_download(result, to, BYTES);
    check(good && memcmp(result, wanted, BYTES) == 0, "from %s: the sum is not overwritten",
          place_name(from_place));
    place_free(from_place, from);
    device_free(to);
}

/* What is sent may be overwritten then, and the sum is there. */
static void test_after(enum place from_place, enum place to_place)
{
    void *from = place_make(from_place, later, BYTES), *to = place_make(to_place, stale, BYTES);
    bool good = refer();

    good = sum(from, to, 0) == 0 && good;
    if (from_place == PLACE_DEVICE)
        device_upload(from, stale, BYTES);
    else
        memcpy(from, stale, BYTES);
    place_read(to_place, result, to, BYTES);
    check(good && memcmp(result, wanted, BYTES) == 0,
          "from %s to %s: nothing is left to do when the call returns", place_name(from_place),
          place_name(to_place));
    place_free(from_place, from);
    place_free(to_place, to);
}

/* A decode that the device refuses is done by the processor; it is complete too. */
static void test_refused(void *reader)
{
    void *from = device_clone(later, BYTES), *to = device_alloc(BYTES);
    bool good = refer();
    struct softcuda_counts counts = device_count();
    unsigned launches;

    good = sum(from, to, 0) == 0 && good;
    launches = (unsigned)(device_count().launches - counts.launches);
    device_upload(to, stale, BYTES);
    device_fail(SOFTCUDA_LAUNCH, launches, false); /* the last of as many */
    good = sum(from, to, 0) == 0 && refer() && good;
    device_download_on(reader, result, to, BYTES);
    check(good && memcmp(result, wanted, BYTES) == 0,
          "nothing is left to do either where the processor decodes");
    device_fail(SOFTCUDA_LAUNCH, 0, false);
    device_free(from);
    device_free(to);
}

int main(int argc, char **argv)
{
    void *reader;

    check_begin(&argc, &argv);
    if (!place_begin("device buffers", false))
        return check_end();
    comms_make(comms, 2);
    reader = device_stream();
    stream = argc > 1 && strcmp(argv[1], "other") == 0    ? device_stream()
             : argc > 1 && strcmp(argv[1], "thread") == 0 ? DEVICE_STREAM_PER_THREAD
                                                          : NULL;
    result = check_memory(BYTES);
    wanted = check_memory(BYTES);
    memset(result, 0, BYTES);
    stale = make_input(1);
    later = make_input(2);
    for (int round = 1; round <= 2; round++)
        for (int in_place = 0; in_place < 2; in_place++)
            test_before(round, in_place);
    for (int from = 0; from < PLACES; from++)
        test_receive((enum place)from);
    for (int from = 0; from < PLACES; from++)
        for (int to = 0; to < PLACES; to++)
            test_after((enum place)from, (enum place)to);
    if (device_is_soft())
        test_refused(reader);
    place_free(PLACE_PINNED, stale);
    place_free(PLACE_PINNED, later);
    free(result);
    free(wanted);
    return check_end();
}
