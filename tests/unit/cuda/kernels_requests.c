/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

/* Requests to the device backend with pieces of both families and exact ones, in any order, one
 * family alone, and one after another on the same slot: the bytes of the host codec. */

#include <string.h>

#include "codec/encoding.h"
#include "cuda/device_backend.h"
#include "lib/tap.h"
#include "mpi/lib/device.h"
#include "unit/lib/codec_data.h"
#include "unit/lib/kernels.h"

enum { ELEMENTS = 40960, STAGING = 1 << 20, PAYLOAD_BYTES = 1 << 18, PIECES = 5, SOURCES = 3 };

static float elements[ELEMENTS];
static unsigned char staging[STAGING] __attribute__((aligned(4096)));
static struct cgx_cuda_backends *all;
static struct cgx_backend *backend;
static void *buffer; /* the elements, on the device */

static const unsigned requests[][PIECES] = {
    {4, CGX_UNIFORM + 3, CGX_BITS_EXACT, CGX_UNIFORM + 5, 8},
    {4, CGX_UNIFORM + 3, CGX_BITS_EXACT, CGX_UNIFORM + 5, 8},
    {CGX_UNIFORM + 1, CGX_UNIFORM + 2, CGX_UNIFORM + 3, CGX_UNIFORM + 4, CGX_UNIFORM + 5},
    {1, 3, CGX_BITS_EXACT, 5, 7},
    {CGX_UNIFORM + 4, 4, CGX_UNIFORM + 4, CGX_BITS_EXACT, CGX_UNIFORM + 2}};
enum { REQUESTS = sizeof requests / sizeof *requests };

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

static size_t piece_bytes(const struct cgx_piece *piece)
{
    return cgx_piece_layout(piece->count, piece->bits, CGX_FLOAT32).bytes;
}

/* Returns how many kernels encode them. */
static unsigned make_pieces(const unsigned *encodings, struct cgx_piece *pieces)
{
    size_t offset = 0;
    bool uniform = false, maxmin = false;

    for (int i = 0; i < PIECES; i++) {
        pieces[i] = (struct cgx_piece){.first = (size_t)i * 8192,
                                       .count = i + 1 < PIECES ? 8192 : 5000,
                                       .bits = encodings[i],
                                       .offset = offset};
        offset += piece_bytes(&pieces[i]);
        uniform = uniform || cgx_encoding_family(encodings[i]) == CGX_FAMILY_UNIFORM;
        maxmin = maxmin || cgx_encoding_family(encodings[i]) == CGX_FAMILY_MAXMIN;
    }
    return (uniform ? 4 : 0) + maxmin;
}

static bool is_same(const struct cgx_piece *pieces, unsigned char *payload, unsigned char *expected)
{
    kernels_clear_unused(pieces, PIECES, payload);
    kernels_clear_unused(pieces, PIECES, expected);
    return memcmp(payload, expected,
                  pieces[PIECES - 1].offset + piece_bytes(&pieces[PIECES - 1])) == 0;
}

static unsigned char *payload_at(size_t number)
{
    return staging + number * PAYLOAD_BYTES;
}

/* On the device, from payloads that are in the staging memory; elements are decoded to where they
 * were. */
static bool run(const struct cgx_work *work)
{
    bool good = backend->ops->begin(backend) == CGX_OK;

    backend->ops->store(backend, 0, staging, 2 * PAYLOAD_BYTES);
    good = good && backend->ops->run(backend, 0, work) == CGX_OK;
    if (work->operation != CGX_DECODE)
        good = good && backend->ops->fetch(backend, 0, work->out, PAYLOAD_BYTES) == CGX_OK;
    good = good && backend->ops->wait(backend, 0) == CGX_OK;
    backend->ops->end(backend);
    return good;
}

static struct cgx_work work_of(enum cgx_operation operation, const struct cgx_coding *coding,
                               const struct cgx_piece *pieces, const void *in, void *out)
{
    return (struct cgx_work){.operation = operation,
                             .coding = coding,
                             .pieces = pieces,
                             .npieces = PIECES,
                             .in = in,
                             .out = out};
}

static void run_on_host(const struct cgx_work *work)
{
    if (cgx_codec_run(cgx_codec_host(), work) != CGX_OK)
        bail_out("the host codec does not do it");
}

/* Of the elements, left in payload 0, and EXPECTED. */
static bool encodes(const struct cgx_coding *coding, const struct cgx_piece *pieces,
                    unsigned char *expected)
{
    struct cgx_work work = work_of(CGX_ENCODE, coding, pieces, elements, expected);

    memset(staging, 0, STAGING);
    memset(expected, 0, PAYLOAD_BYTES);
    run_on_host(&work);
    work.in = buffer;
    work.out = payload_at(0);
    return run(&work) && is_same(pieces, payload_at(0), expected);
}

/* Payload 0, twice, and the elements. */
static bool reduces(const struct cgx_coding *coding, const struct cgx_piece *pieces,
                    unsigned char *expected)
{
    const unsigned char *sources[SOURCES] = {payload_at(0), NULL, payload_at(1)};
    struct cgx_work work = work_of(CGX_REDUCE, coding, pieces, elements, expected);

    work.sources = sources;
    work.nsources = SOURCES;
    memcpy(payload_at(1), payload_at(0), PAYLOAD_BYTES);
    memset(expected, 0, PAYLOAD_BYTES);
    run_on_host(&work);
    work.in = buffer;
    work.out = payload_at(2);
    return run(&work) && is_same(pieces, payload_at(2), expected);
}

static bool decodes(const struct cgx_coding *coding, const struct cgx_piece *pieces)
{
    static float decoded[ELEMENTS], got[ELEMENTS];
    struct cgx_work work = work_of(CGX_DECODE, coding, pieces, payload_at(0), decoded);
    bool good;

    memcpy(decoded, elements, sizeof elements);
    run_on_host(&work);
    work.out = buffer;
    good = run(&work);
    device_download(got, buffer, sizeof got);
    device_upload(buffer, elements, sizeof elements);
    return good && memcmp(got, decoded, sizeof got) == 0;
}

static void test_request(const struct cgx_coding *coding, int number)
{
    static unsigned char expected[PAYLOAD_BYTES];
    struct cgx_piece pieces[PIECES];
    unsigned kernels = make_pieces(requests[number], pieces);
    unsigned long long before = device_is_soft() ? device_count().launches : 0;

    ok(encodes(coding, pieces, expected), "request %d is encoded as on the host", number);
    if (device_is_soft())
        ok(device_count().launches - before == kernels,
           "... by the kernels of each family of its pieces");
    ok(reduces(coding, pieces, expected), "... reduced as there");
    ok(decodes(coding, pieces), "... and decoded");
}

int main(void)
{
    const struct cgx_coding coding = {.call = 1, .error = 0x1p-8f};

    if (!device_open(0)) {
        skip("requests", "no device");
        return done_testing();
    }
    open_backend();
    for (int i = 0; i < REQUESTS; i++)
        test_request(&coding, i);
    cgx_cuda_backends_free(all);
    device_free(buffer);
    return done_testing();
}
