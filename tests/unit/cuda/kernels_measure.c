/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

/* The kernels measure the bytes that the host codec does, of elements and of sums, for pieces of
 * all widths in one launch, all bucket sizes and incomplete buckets; so does the device backend. */

#include <stdlib.h>
#include <string.h>

#include "codec/measure.h"
#include "cuda/device_backend.h"
#include "cuda/kernels.h"
#include "lib/tap.h"
#include "mpi/lib/device.h"
#include "unit/lib/codec_data.h"
#include "unit/lib/kernels.h"

/* Pieces of all widths; samples that are there and that are not: pieces of less than a group, of
 * more than a block's samples, and of all remainders. */
static struct scene_plan make_plan(enum cgx_dtype dtype, unsigned bucket_size, unsigned i)
{
    enum { WIDTHS = 9 };
    struct scene_plan plan = {.coding = {.dtype = dtype, .bucket_size = bucket_size, .call = i},
                              .npieces = WIDTHS,
                              .misalignment = i % 4 * 2,
                              .nsources = 1 + i % 4,
                              .seed = i * 64 + bucket_size};
    uint32_t phases = 1u << i % 5;
    size_t most =
        5 * CGX_KERNEL_TILE * CGX_SAMPLE_BLOCK / 4 / bucket_size; /* buckets, of two blocks */

    plan.coding.sampling = (struct cgx_sampling){phases, i * 7 % phases};
    scene_all_widths(&plan, i);
    plan.counts[i % (WIDTHS - 1)] = (most - i * 3 % most) * bucket_size;
    plan.counts[WIDTHS - 1] = (size_t)bucket_size * (i % 18) + 1 + i * 29 % bucket_size;
    plan.buffer_source = i % 5 < plan.nsources ? i % 5 : SCENE_NO_SOURCE;
    return plan;
}

static void test_pieces(enum cgx_dtype dtype)
{
    static struct scene scene;
    bool same = true;

    for (unsigned bucket_size = CGX_BUCKET_SIZE_MIN; bucket_size <= CGX_BUCKET_SIZE_MAX && same;
         bucket_size *= 2) {
        for (unsigned i = 0; i < 18 && same; i++) {
            struct scene_plan plan = make_plan(dtype, bucket_size, i);

            scene_make(&scene, &plan);
            same = scene_is_same(&scene, CGX_MEASURE) && scene_status() == CGX_OK;
        }
    }
    ok(same, "%s: the samples of the host codec", data_dtypes[dtype]);
}

/* Sums of three payloads and of the own elements. */
static void test_random(enum cgx_dtype dtype)
{
    enum { BUCKETS = 2048, TIMES = 16 };
    static struct scene scene;
    bool same = true;

    for (unsigned time = 0; time < TIMES && same; time++) {
        struct scene_plan plan = {.coding = {.dtype = dtype, .bucket_size = 64, .call = time},
                                  .npieces = 1,
                                  .counts = {BUCKETS * 64},
                                  .bits = {2 + time % 7},
                                  .nsources = 4,
                                  .buffer_source = time % 4,
                                  .seed = (uint64_t)dtype << 32 | time};

        scene_make(&scene, &plan);
        same = scene_is_same(&scene, CGX_MEASURE) && scene_status() == CGX_OK;
    }
    ok(same, "%s: %d random buckets, summed", data_dtypes[dtype],
       TIMES * BUCKETS / CGX_SAMPLE_BLOCK);
}

/* Of a bucket that is sampled, in the last source. */
static void test_refused(enum cgx_dtype dtype)
{
    static struct scene scene;
    const uint32_t header = 0x7F800000;
    struct scene_plan plan = make_plan(dtype, 128, 3);

    plan.buffer_source = 0;
    plan.bits[2] = 5;
    plan.coding.sampling = (struct cgx_sampling){0};
    scene_make(&scene, &plan);
    memcpy(scene_payload(&scene, plan.nsources - 1) + scene.pieces[2].offset, &header,
           sizeof header);
    ok(scene_is_same(&scene, CGX_MEASURE) && scene_status() == CGX_ERR_FORMAT,
       "%s: a step that no encoder writes is refused", data_dtypes[dtype]);
}

/* ---- the backend ---- */

enum { ELEMENTS = 40000, SOURCES = 2, STAGING = 1 << 20, SAMPLES_AT = 1 << 19 };

static float elements[ELEMENTS];
static const struct cgx_coding coding = {.bucket_size = 256};
/* Of 80 and 32 buckets, all groups that are sampled whole. */
static const struct cgx_piece pieces[] = {
    {.count = 512, .bits = CGX_BITS_EXACT},
    {.first = 512, .count = 20480, .bits = 3, .offset = 2048},
    {.first = 20992, .count = 8192, .bits = 6, .offset = 65536}};
enum { PIECES = 3, SAMPLES = (80 + 32) / CGX_SAMPLE_BLOCK };

static unsigned char staging[STAGING] __attribute__((aligned(4096)));
static struct cgx_sample *const samples = (struct cgx_sample *)(void *)(staging + SAMPLES_AT);
static struct cgx_cuda_backends *all;
static struct cgx_backend *backend;
static void *buffer; /* the elements, on the device */

static void open_backend(void)
{
    const struct cgx_area area = {
        .staging = {staging}, .bytes = STAGING, .pieces = PIECES, .sources = SOURCES};
    struct cgx_pointer where;

    data_fill(DATA_HEAVY_TAILED, 7, elements, ELEMENTS);
    buffer = device_clone(elements, sizeof elements);
    where = cgx_cuda_pointer(buffer);
    if (cgx_cuda_backend(&all, &where, &area, &backend) != CGX_OK)
        bail_out("there is no backend");
}

static void close_backend(void)
{
    cgx_cuda_backends_free(all);
    device_free(buffer);
}

/* The payload of the elements at the start of the staging memory, with zeros behind it. */
static void encode_elements(void)
{
    memset(staging, 0, STAGING);
    cgx_codec_run(cgx_codec_host(), &(struct cgx_work){CGX_ENCODE, &coding, pieces, PIECES,
                                                       .in = elements, .out = staging});
}

/* WORK, whose elements are all of them, on the device. */
static enum cgx_status run_on_device(struct cgx_work work)
{
    work.in = buffer;
    return backend->ops->run(backend, 0, &work);
}

/* Whether WORK gives the BYTES there that the host codec does. */
static bool is_same(struct cgx_work work, size_t bytes)
{
    static unsigned char expected[STAGING - SAMPLES_AT];
    void *out = work.out;

    memset(expected, 0, sizeof expected);
    work.in = elements;
    work.out = expected;
    if (cgx_codec_run(cgx_codec_host(), &work) != CGX_OK)
        bail_out("the host codec does not do it");
    work.out = out;
    return run_on_device(work) == CGX_OK && backend->ops->fetch(backend, 0, out, bytes) == CGX_OK &&
           backend->ops->wait(backend, 0) == CGX_OK && memcmp(out, expected, bytes) == 0;
}

/* Sources: the payload, and the elements themselves. */
static const unsigned char *const both[] = {staging, NULL};

static void test_backend(void)
{
    struct cgx_work work = {CGX_MEASURE, &coding, pieces, PIECES, both, SOURCES, .out = samples};

    encode_elements();
    if (backend->ops->begin(backend) != CGX_OK)
        bail_out("no call begins");
    backend->ops->store(backend, 0, staging, SAMPLES_AT);
    ok(is_same(work, SAMPLES * sizeof *samples),
       "the device backend fetches the samples of the host codec");
    work.npieces = 1;
    ok(run_on_device(work) == CGX_OK && backend->ops->wait(backend, 0) == CGX_OK,
       "exact pieces alone have no samples");
    /* The first piece's entry is not that which the device has. */
    work.pieces++;
    work.npieces = PIECES - 1;
    ok(is_same(work, SAMPLES * sizeof *samples), "then others are measured");
    backend->ops->end(backend);
}

/* Where the next copy fails, and if SO_ON all after it while the store is queued. */
static void store_with_fault(bool so_on)
{
    device_fail(SOFTCUDA_COPY, 1, so_on);
    backend->ops->store(backend, 0, staging, SAMPLES_AT);
    device_fail(SOFTCUDA_COPY, 0, false);
}

/* A reduce must never work on what has not arrived, whatever was asked before it. */
static void test_store_fails(void)
{
    static const char name[] = "when a store fails, measure and the reduce after it say so";
    struct cgx_work work = {CGX_MEASURE, &coding, pieces, PIECES, both, 2, .out = samples};
    enum cgx_status measured;

    if (!device_is_soft()) {
        skip(name, "a real driver");
        return;
    }
    memset(staging, 0, STAGING);
    store_with_fault(true);
    measured = run_on_device(work);
    work.operation = CGX_REDUCE;
    work.out = staging;
    ok(measured == CGX_ERR_DEVICE && run_on_device(work) == CGX_ERR_DEVICE, name);
    backend->ops->wait(backend, 0);
    store_with_fault(true);
    ok(backend->ops->wait(backend, 0) == CGX_ERR_DEVICE,
       "and so does wait, if nothing came before");
    store_with_fault(false);
    ok(backend->ops->wait(backend, 0) == CGX_OK, "a store is tried twice");
}

int main(void)
{
    if (!kernels_open())
        return done_testing();
    for (int dtype = 0; dtype < 3; dtype++) {
        test_pieces((enum cgx_dtype)dtype);
        test_random((enum cgx_dtype)dtype);
        test_refused((enum cgx_dtype)dtype);
    }
    open_backend();
    test_backend();
    test_store_fails();
    close_backend();
    return done_testing();
}
