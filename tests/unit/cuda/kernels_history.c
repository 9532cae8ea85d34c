/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

/* Requests to the device backend with history, call after call, of pieces whose family changes: the
 * payloads, elements and histories of the host codec. */

#include <string.h>

#include "codec/encoding.h"
#include "cuda/device_backend.h"
#include "lib/tap.h"
#include "mpi/lib/device.h"
#include "unit/lib/codec_data.h"
#include "unit/lib/kernels.h"

enum {
    COUNT = 20480 - 300,
    HALF = 8192, /* elements of the first of two pieces */
    STAGING = 1 << 20,
    PART = 1 << 17, /* bytes of the staging memory for a payload */
    FITS = COUNT / CGX_BUCKET_MOST + 1,
    CALLS = 4
};

/* On the host and, as it was fetched, on the device. */
struct kept {
    uint8_t scales[20480];
    float fits[FITS];
};

static struct kept kept;
static unsigned char elements[4 * COUNT], expected[PART];
static unsigned char staging[STAGING] __attribute__((aligned(4096)));
static struct cgx_backend *backend;
static struct cgx_reserved *reserved;
static unsigned char *buffer; /* the elements, on the device */

static unsigned char *part(size_t number)
{
    return staging + number * PART;
}

/* In calls from 2 on it is young no more. */
static struct cgx_history history_in(void *memory, const struct cgx_coding *coding)
{
    struct kept *there = memory;

    return (struct cgx_history){there->scales, there->fits, coding->call + CGX_HISTORY_YOUNG - 2};
}

static bool run(const struct cgx_work *work)
{
    bool good = backend->ops->begin(backend) == CGX_OK;

    backend->ops->store(backend, 0, staging, 3 * PART);
    good = good && backend->ops->run(backend, 0, work) == CGX_OK;
    if (work->operation != CGX_DECODE)
        good = good && backend->ops->fetch(backend, 0, work->out, PART) == CGX_OK;
    good = good && backend->ops->wait(backend, 0) == CGX_OK;
    backend->ops->end(backend);
    return good;
}

/* WORK on the host and on the device, into part OUT. */
static bool is_same(struct cgx_work work, size_t out)
{
    memset(expected, 0, sizeof expected);
    memset(part(out), 0, PART);
    work.in = elements;
    work.out = expected;
    work.history = history_in(&kept, work.coding);
    if (cgx_codec_run(cgx_codec_host(), &work) != CGX_OK)
        return false;
    work.in = buffer;
    work.out = part(out);
    work.history = history_in(reserved->at, work.coding);
    if (!run(&work))
        return false;
    kernels_clear_unused(work.pieces, work.npieces, expected);
    kernels_clear_unused(work.pieces, work.npieces, part(out));
    return memcmp(part(out), expected, PART) == 0;
}

/* The payload in part 2, into the buffer. FAILING: of two kernels the first or, in every other
 * call, the second one is not launched, so that the host decodes for it. */
static bool decodes(struct cgx_work work, size_t bytes, bool failing)
{
    static unsigned char decoded[2][4 * COUNT];
    static struct kept got;
    bool good;

    work.operation = CGX_DECODE;
    work.in = part(2);
    work.out = decoded[0];
    work.history = history_in(&kept, work.coding);
    if (cgx_codec_run(cgx_codec_host(), &work) != CGX_OK)
        return false;
    work.out = buffer;
    work.history = history_in(reserved->at, work.coding);
    if (failing)
        device_fail(SOFTCUDA_LAUNCH, 1 + work.coding->call % 2, false);
    good = run(&work);
    if (failing)
        device_fail(SOFTCUDA_LAUNCH, 0, false);
    device_download(decoded[1], buffer, bytes);
    device_download(&got, reserved->at, sizeof got);
    return good && memcmp(decoded[0], decoded[1], bytes) == 0 &&
           memcmp(&got, &kept, sizeof got) == 0;
}

/* The elements of a call. */
static void make_elements(const struct cgx_coding *coding, size_t bytes)
{
    static float values[COUNT];

    data_fill(coding->call == 1 ? DATA_SPARSE : DATA_HEAVY_TAILED, 7 + coding->call, values, COUNT);
    for (size_t i = 0; i < COUNT; i++)
        values[i] = coding->dtype == CGX_FLOAT16 ? fmodf(values[i], 4000) : values[i];
    values[700] = coding->call == 2 ? NAN : 1;
    cgx_codec_host()->kernels.narrow[coding->dtype](values, COUNT, elements);
    device_upload(buffer, elements, bytes);
    memset(staging, 0, STAGING);
}

/* Every other piece of a call is uniform, and in every other call the other one. */
static void make_pieces(const struct cgx_coding *coding, unsigned bits, struct cgx_piece pieces[2])
{
    pieces[0] = (struct cgx_piece){.count = HALF};
    pieces[1] = (struct cgx_piece){.first = HALF, .count = COUNT - HALF};
    for (unsigned i = 0; i < 2; i++) {
        unsigned width = (bits + i) % 8 + 1;

        pieces[i].bits = (coding->call + i) % 2 == 0 ? width : CGX_UNIFORM + width;
    }
    pieces[1].offset = cgx_piece_layout(HALF, pieces[0].bits, coding->dtype).bytes;
}

static void test_calls(enum cgx_dtype dtype, unsigned bits, bool failing)
{
    struct cgx_coding coding = {.dtype = dtype, .error = 0x1p-6f};
    struct cgx_piece pieces[2];
    const unsigned char *sources[] = {part(0), NULL};
    size_t bytes = COUNT * cgx_dtype_size(dtype);
    struct cgx_work work = {
        .coding = &coding, .pieces = pieces, .npieces = 2, .sources = sources, .nsources = 2};
    bool same = true;

    memset(&kept, 0, sizeof kept);
    device_upload(reserved->at, &kept, sizeof kept);
    for (; coding.call < CALLS && same; coding.call++) {
        make_pieces(&coding, bits, pieces);
        make_elements(&coding, bytes);
        work.operation = CGX_ENCODE;
        same = is_same(work, 0);
        work.operation = CGX_REDUCE;
        same = same && is_same(work, 2) && decodes(work, bytes, failing);
    }
    ok(same, "%s, from %u bits on%s: as on the host", data_dtypes[dtype], bits,
       failing ? ", launches fail" : "");
}

int main(void)
{
    const struct cgx_area area = {
        .staging = {staging}, .bytes = STAGING, .pieces = 2, .sources = 2};
    struct cgx_cuda_work *all = NULL;
    struct cgx_pointer where;

    if (!device_open(0)) {
        skip("history", "no device");
        return done_testing();
    }
    buffer = device_clone(elements, sizeof elements);
    where = cgx_cuda_pointer(buffer);
    if (cgx_cuda_backend(&all, &where, &area, &backend) != CGX_OK ||
        backend->ops->reserve(backend, sizeof kept, &reserved) != CGX_OK)
        bail_out("there is no backend, or no memory");
    for (int dtype = 0; dtype < 3; dtype++)
        for (unsigned bits = 1 + (unsigned)dtype; bits <= 8; bits += 3)
            test_calls((enum cgx_dtype)dtype, bits, false);
    if (!device_is_soft())
        skip("launches fail", "a real device does not fail when it is told to");
    for (int dtype = 0; dtype < 3 && device_is_soft(); dtype++)
        test_calls((enum cgx_dtype)dtype, 3, true);
    cgx_reserved_drop(reserved);
    cgx_cuda_backends_free(all);
    device_free(buffer);
    return done_testing();
}
