/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

/* What the device finds when it inspects a sum is what the host finds, to the bit. */

#include <math.h>
#include <string.h>

#include "codec/encoding.h"
#include "codec/host_inspect.h"
#include "lib/tap.h"
#include "unit/lib/codec_data.h"
#include "unit/lib/kernels.h"

enum { PIECES = 10, BUCKETS = 6, MOST_SOURCES = CGX_INSPECT_MEMBERS + 41 };
enum { EMPTY = CGX_INSPECT_MEMBERS, SUM, PAYLOADS };
enum { ELEMENTS = PIECES * BUCKETS * CGX_BUCKET_SIZE_MAX, BUFFER_BYTES = (ELEMENTS + 64) * 4 };
enum { RESULT_BYTES = 1 << 16, PAYLOAD_BYTES = 3 << 17 };
enum { PAYLOADS_AT = BUFFER_BYTES + RESULT_BYTES };
enum { MEMORY_BYTES = PAYLOADS_AT + PAYLOADS * PAYLOAD_BYTES };

static unsigned char expected[MEMORY_BYTES] __attribute__((aligned(256)));
static unsigned char actual[MEMORY_BYTES] __attribute__((aligned(256)));
static struct cgx_piece pieces[PIECES];
static struct cgx_inspection inspection;
static uint64_t state = 1;

static void make_pieces(const struct cgx_coding *coding)
{
    static const unsigned bits[PIECES] = {
        4, CGX_UNIFORM + 3, 3, CGX_BITS_EXACT, CGX_UNIFORM + 5, 8, 2, 5, CGX_UNIFORM + 1, 7};
    size_t first = 0, offset = 16;

    for (size_t i = 0; i < PIECES; i++) {
        size_t bucket = cgx_encoding_bucket(bits[i], coding->bucket_size);
        size_t count = (BUCKETS - 1) * bucket + 1 + data_random(&state) % bucket;

        pieces[i] =
            (struct cgx_piece){.first = first, .count = count, .bits = bits[i], .offset = offset};
        first += (count + CGX_BUCKET_SIZE_MAX - 1) / CGX_BUCKET_SIZE_MAX * CGX_BUCKET_SIZE_MAX;
        offset += cgx_piece_layout(count, bits[i], coding->bucket_size, coding->dtype).bytes;
    }
    if (first > ELEMENTS || offset > PAYLOAD_BYTES)
        bail_out("the pieces are too large");
}

/* One element; KIND: of a bucket. */
static float draw(unsigned kind)
{
    float value = (float)data_gaussian(&state);

    switch (kind) {
    case 0:
        return 0;
    case 1:
        return 1.5f;
    case 2:
        return fabsf(value);
    case 3:
        return -fabsf(value) - 10;
    case 4:
        return data_random(&state) % 8 == 0 ? value : 0;
    case 5:
        return value * 0x1p90f; /* an infinity in float16 */
    default:
        return value * 1e-3f;
    }
}

/* Fills the buffer, whose buckets are of several kinds; with a NaN or an infinity, or elements near
 * the limit, if it IS_BAD. */
static void fill(const struct cgx_coding *coding, unsigned char *buffer, bool is_bad)
{
    const struct cgx_piece *last = &pieces[PIECES - 1];
    unsigned kind = 0;

    for (size_t i = 0; i < last->first + last->count; i++) {
        float value;
        uint16_t half;

        if (i % (coding->bucket_size < 1024 ? coding->bucket_size : 1024) == 0)
            kind = (unsigned)(data_random(&state) % 8);
        value = draw(kind);
        if (is_bad && data_random(&state) % 4000 == 0)
            value = data_random(&state) % 2 ? NAN : coding->dtype ? -INFINITY : 0x1p124f;
        half = coding->dtype == CGX_FLOAT16 ? cgx_to_float16(value) : cgx_to_bfloat16(value);
        if (coding->dtype == CGX_FLOAT32)
            memcpy(buffer + i * sizeof value, &value, sizeof value);
        else
            memcpy(buffer + i * sizeof half, &half, sizeof half);
    }
}

static void run_on_host(const struct cgx_work *work)
{
    if (cgx_codec_run(cgx_codec_host(), work) != CGX_OK)
        bail_out("the host fails");
}

static unsigned char *payload_in(unsigned char *memory, size_t number)
{
    return memory + PAYLOADS_AT + number * PAYLOAD_BYTES;
}

static void list_bucket(struct cgx_inspected_bucket *bucket, unsigned bucket_size)
{
    uint32_t count;

    do
        bucket->piece = (uint32_t)(data_random(&state) % PIECES);
    while (pieces[bucket->piece].bits > CGX_WIDTHS); /* others are not inspected */
    bucket->index = (uint32_t)(data_random(&state) % BUCKETS);
    count = (uint32_t)cgx_bucket_elements(&pieces[bucket->piece], bucket_size, bucket->index);
    bucket->run = (uint32_t)(data_random(&state) % 3 * (count / 3));
    bucket->first = (uint32_t)(data_random(&state) % (count - bucket->run + 1));
    bucket->at = inspection.kept;
}

/* Of NMEMBERS sampled members and NASKED that are asked. */
static void list(const struct cgx_coding *coding, unsigned nmembers, bool is_last)
{
    inspection = (struct cgx_inspection){.nmembers = nmembers,
                                         .nsampled = 40,
                                         .nasked = CGX_INSPECT_ASKED,
                                         .is_last = is_last,
                                         .sees_input = data_random(&state) % 4 > 0,
                                         .dtype = coding->dtype};
    for (unsigned i = 0; i < nmembers; i++)
        inspection.shares[i] = 1.0 / (3 + i);
    for (unsigned i = 0; i < inspection.nsampled; i++) {
        list_bucket(&inspection.sampled[i], coding->bucket_size);
        if (inspection.kept + inspection.sampled[i].run > 4096)
            inspection.sampled[i].run = 0;
        inspection.kept += inspection.sampled[i].run;
    }
    for (unsigned i = 0; i < inspection.nasked; i++)
        list_bucket(&inspection.asked[i], coding->bucket_size);
    if (cgx_inspected_bytes(inspection.nsampled, nmembers, inspection.kept) > RESULT_BYTES)
        bail_out("there is no room for the results");
}

/* Devices divide the headers of the sum among blocks. */
static void gather_signs(unsigned char *memory)
{
    struct cgx_inspected *found = (struct cgx_inspected *)(void *)(memory + BUFFER_BYTES);

    for (int i = 1; i < CGX_INSPECT_SHARES; i++) {
        found->signs[0].signs |= found->signs[i].signs;
        found->signs[0].buckets += found->signs[i].buckets;
        found->signs[i] = (struct cgx_inspected_signs){0};
    }
}

static bool is_same(const struct cgx_coding *coding, unsigned nmembers, unsigned nasked,
                    bool is_last)
{
    const unsigned nsources = nmembers + nasked + 1;
    const size_t misalignment = data_random(&state) % 4;
    const unsigned char *sources[2][MOST_SOURCES];
    unsigned char *memories[2] = {expected, actual};
    struct kernels_job job;

    make_pieces(coding);
    memset(expected, 0xAA, sizeof expected);
    for (unsigned i = 0; i < PAYLOADS; i++) {
        if (i == EMPTY)
            memset(expected, 0, BUFFER_BYTES);
        else
            fill(coding, expected + misalignment, i == 1);
        run_on_host(&(struct cgx_work){CGX_ENCODE, coding, pieces, PIECES,
                                       .in = expected + misalignment,
                                       .out = payload_in(expected, i)});
    }
    fill(coding, expected + misalignment, false);
    list(coding, nmembers, is_last);
    memset(expected + BUFFER_BYTES, 0, RESULT_BYTES);
    memcpy(actual, expected, sizeof actual);
    for (unsigned i = 0; i < nsources; i++) {
        /* Most that are asked are empty, so that some buckets have one contributor. */
        unsigned number = i + 1 == nsources ? SUM
                          : i < nmembers    ? i
                          : data_random(&state) % nasked > 1
                              ? EMPTY
                              : (unsigned)(data_random(&state) % EMPTY);

        for (int m = 0; m < 2; m++)
            sources[m][i] = i == nmembers && nasked > 1 ? NULL : payload_in(memories[m], number);
    }
    cgx_host_inspect(&(struct cgx_work){CGX_INSPECT, coding, pieces, PIECES, sources[0], nsources,
                                        .in = expected + misalignment,
                                        .out = expected + BUFFER_BYTES, .inspection = &inspection});
    job = (struct kernels_job){CGX_INSPECT,
                               coding,
                               pieces,
                               PIECES,
                               .sources = sources[1],
                               .nsources = nsources,
                               .buffer = actual + misalignment,
                               .payload = actual + BUFFER_BYTES,
                               .inspection = &inspection};
    if (kernels_run(&job, actual, MEMORY_BYTES) != CGX_OK)
        return false;
    gather_signs(actual);
    for (size_t i = 0; i < MEMORY_BYTES; i++) {
        if (expected[i] != actual[i]) {
            diag("%u members, %u asked: byte %zu of the results", nmembers, nasked,
                 i - BUFFER_BYTES);
            return false;
        }
    }
    return true;
}

void kernels_test_inspect(enum cgx_dtype dtype)
{
    static const unsigned sizes[] = {64, 512, 4096}, members[] = {0, 1, 3, 7, 8};

    for (unsigned i = 0; i < 3; i++) {
        const struct cgx_coding coding = {.dtype = dtype, .bucket_size = sizes[i], .step = 1};
        bool same = true;

        for (unsigned k = 0; k < 5; k++)
            same = same && is_same(&coding, members[k], 10 * k, k % 2 == 0);
        ok(same, "%s, inspect, buckets of %u", data_dtypes[dtype], sizes[i]);
    }
}
