/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

/* Every set of kernels gives the bytes of rotated quantisation as they are specified, for every
 * type, width and scale, for incomplete buckets and misaligned buffers. */

#include <stdlib.h>
#include <string.h>

#include "lib/tap.h"
#include "unit/lib/rotated_data.h"
#include "unit/lib/rotated_reference.h"

#define MOST (30 * 1024)
#define GUARD 64

static unsigned char elements[4 * MOST + 1];
static unsigned char decoded[2][4 * MOST + 2 * GUARD];
static unsigned char payloads[2][MOST] __attribute__((aligned(64)));

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
    size_t size = cgx_dtype_size(coding->dtype);
    unsigned char *out = decoded[0] + count % 2;

    memset(payloads, 0xAA, sizeof payloads);
    memset(decoded, 0xAA, sizeof decoded);
    rotated_reference_encode(coding, &piece, elements + 1, payloads[1]);
    rotated_reference_decode(coding, &piece, payloads[1], decoded[1] + GUARD);
    return cgx_codec_run(codec, &(struct cgx_work){CGX_ENCODE, coding, &piece, 1,
                                                   .in = elements + 1, .out = payloads[0]}) ==
               CGX_OK &&
           memcmp(payloads[0], payloads[1], sizeof payloads[0]) == 0 &&
           cgx_codec_run(codec, &(struct cgx_work){CGX_DECODE, coding, &piece, 1, .in = payloads[1],
                                                   .out = out + GUARD}) == CGX_OK &&
           memcmp(out + GUARD, decoded[1] + GUARD, count * size) == 0 &&
           only_within(payloads[0], rotated_reference_bytes(count, encoding)) &&
           only_within(out, count * size);
}

/* Buckets of all kinds, then fewer, the last incomplete; the kinds move on from one to the next. */
static void test_set(const struct cgx_codec *codec, enum cgx_dtype dtype, bool least_squares)
{
    static const size_t counts[] = {
        (ROTATED_KINDS + 1) * 1024, 1, 4, 63, 1023, 1024, 1025, 5 * 1024 + 513};
    const struct cgx_coding coding = {.dtype = dtype,
                                      .bucket_size = 64,
                                      .least_squares = least_squares,
                                      .seed = 11ull << 40 | 5,
                                      .call = 17};
    unsigned kind = 0;
    bool same = true;

    for (size_t i = 0; i < sizeof counts / sizeof *counts; i++)
        for (unsigned width = 1; width <= CGX_ROTATED_WIDTHS; width++, kind++) {
            rotated_elements(dtype, kind, kind, 1024, counts[i], elements + 1);
            if (!is_same(codec, &coding, counts[i], CGX_ROTATED + width)) {
                if (same)
                    diag("first at %u bits, %zu elements, the first of kind %u", width, counts[i],
                         kind % ROTATED_KINDS);
                same = false;
            }
        }
    ok(same, "%s: %s, %s: the bytes of the specification", codec->name, data_dtypes[dtype],
       rotated_scales[least_squares]);
}

int main(void)
{
    for (int set = 0; set < DATA_SETS; set++) {
        const struct cgx_codec *codec = data_codec(set);

        for (int way = 0; codec != NULL && way < 6; way++)
            test_set(codec, (enum cgx_dtype)(way / 2), way % 2);
    }
    return done_testing();
}
