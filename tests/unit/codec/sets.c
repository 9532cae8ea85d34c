/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

/* Every set of kernels gives the bytes of the specification, for every type, width and bucket
 * size of max-min quantisation, for incomplete buckets and misaligned buffers. */

#include <stdlib.h>
#include <string.h>

#include "lib/tap.h"
#include "unit/lib/codec_data.h"
#include "unit/lib/codec_reference.h"

#define MOST (4 * 4096)
#define GUARD 64

static float values[MOST];
static unsigned char elements[4 * MOST + 1];
static unsigned char decoded[2][4 * MOST + 2 * GUARD];
static unsigned char payloads[2][4 * MOST + 2 * GUARD] __attribute__((aligned(64)));

/* Nothing but the DATA of BYTES after the guard has been written. */
static bool only_within(const unsigned char *guarded, size_t bytes)
{
    for (size_t i = 0; i < GUARD; i++)
        if (guarded[i] != 0xAA || guarded[GUARD + bytes + i] != 0xAA)
            return false;
    return true;
}

static bool is_same(const struct cgx_codec *codec, const struct cgx_coding *coding, size_t count,
                    unsigned encoding)
{
    const struct cgx_piece piece = {.count = count, .bits = encoding, .offset = GUARD};
    size_t size = cgx_dtype_size(coding->dtype), misalignment = count % 2;
    size_t bytes = reference_bytes(count, encoding, coding->bucket_size, coding->dtype);
    unsigned char *out = decoded[0] + misalignment;

    memset(payloads, 0xAA, sizeof payloads);
    memset(decoded, 0xAA, sizeof decoded);
    reference_encode(coding, &piece, elements + 1, payloads[1]);
    reference_decode(coding, &piece, payloads[1], decoded[1] + GUARD);
    return data_code(codec, CGX_ENCODE, coding, &piece, elements + 1, payloads[0]) == CGX_OK &&
           memcmp(payloads[0], payloads[1], sizeof payloads[0]) == 0 &&
           data_code(codec, CGX_DECODE, coding, &piece, payloads[1], out + GUARD) == CGX_OK &&
           memcmp(out + GUARD, decoded[1] + GUARD, count * size) == 0 &&
           only_within(payloads[0], bytes) && only_within(out, count * size);
}

/* Buckets of many kinds, some of them constant or poisoned; misaligned. */
static void make_elements(enum cgx_dtype dtype, unsigned bucket_size, size_t count)
{
    uint64_t state = bucket_size + count;

    for (size_t i = 0; i < count; i += bucket_size / 2) {
        size_t n = count - i < bucket_size / 2 ? count - i : bucket_size / 2;

        data_fill((enum data_kind)(data_random(&state) % DATA_KINDS), data_random(&state),
                  values + i, n);
        if (dtype == CGX_FLOAT16) /* of its range, or most were zero or infinite */
            for (size_t j = i; j < i + n; j++)
                values[j] = fmodf(values[j], 50000);
    }
    if (count > 3 * bucket_size)
        values[data_random(&state) % bucket_size + bucket_size] = NAN;
    for (size_t i = 0; i < count; i++)
        reference_narrow(dtype, values[i], elements + 1, i);
}

static void test_maxmin(const struct cgx_codec *set, enum cgx_dtype dtype)
{
    bool same = true;

    for (unsigned bucket_size = 64; bucket_size <= 4096; bucket_size *= 2) {
        const struct cgx_coding coding = {
            .dtype = dtype, .bucket_size = bucket_size, .call = 17, .stream = 4};
        const size_t counts[] = {1,
                                 bucket_size - 1,
                                 bucket_size,
                                 bucket_size + 1,
                                 bucket_size + 31,
                                 2 * bucket_size + 65,
                                 4 * bucket_size - 64};

        for (size_t i = 0; i < sizeof counts / sizeof *counts; i++) {
            if (bucket_size > 512 && i % 3 != 2) /* large ones take their time */
                continue;
            make_elements(dtype, bucket_size, counts[i]);
            for (unsigned bits = 1; bits <= 32; bits = data_next_width(bits))
                if (!is_same(set, &coding, counts[i], bits)) {
                    if (same)
                        diag("first at %u bits, %zu elements in buckets of %u", bits, counts[i],
                             bucket_size);
                    same = false;
                }
        }
    }
    ok(same, "%s: %s: the bytes of the specification", set->name, data_dtypes[dtype]);
}

int main(void)
{
    for (int set = 0; set < DATA_SETS; set++) {
        const struct cgx_codec *codec = data_codec(set);

        if (codec == NULL)
            continue;
        for (int dtype = 0; dtype < 3; dtype++)
            test_maxmin(codec, (enum cgx_dtype)dtype);
    }
    ok(cgx_codec_host_named("none") == NULL, "there is no set of another name");
    ok(cgx_codec_host() == cgx_codec_host_named(NULL), "the host codec is that of the fastest set");
    return done_testing();
}
