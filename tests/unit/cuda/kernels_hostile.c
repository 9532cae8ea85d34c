/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

/* Whatever a payload holds, the kernels do with it what the host codec does: any grid and any codes
 * are decoded, what no encoder writes is refused, and nothing else is touched. */

#include <string.h>

#include "codec/encoding.h"
#include "lib/tap.h"
#include "unit/lib/codec_data.h"
#include "unit/lib/kernels.h"

static const enum cgx_operation readers[] = {CGX_DECODE, CGX_REDUCE};

static struct scene_plan make_plan(enum cgx_dtype dtype, unsigned i)
{
    struct scene_plan plan = {.coding = {.dtype = dtype, .call = i},
                              .npieces = 8,
                              .nsources = 2 + i % 2,
                              .buffer_source = i % 3 == 0 ? 1 : SCENE_NO_SOURCE,
                              .seed = i};

    for (unsigned p = 0; p < 8; p++) {
        plan.bits[p] = 1 + (p + i) % 8;
        plan.counts[p] = (size_t)CGX_MAXMIN_BUCKET * 3;
    }
    plan.counts[7] -= i % CGX_MAXMIN_BUCKET;
    return plan;
}

static size_t headers_of(const struct scene *scene, size_t piece)
{
    return cgx_bucket_count(scene->pieces[piece].count, CGX_MAXMIN_BUCKET);
}

/* The place of the value of a constant bucket. */
static size_t constant_at(const struct scene *scene, size_t piece, size_t bucket)
{
    const struct cgx_piece *p = &scene->pieces[piece];
    struct cgx_layout layout = cgx_piece_layout(p->count, p->bits, scene->plan.coding.dtype);
    int slice = p->bits >= 4 ? 0 : p->bits >= 2 ? 1 : 2;

    return p->offset + layout.plane[slice] +
           bucket * CGX_MAXMIN_BUCKET / 8 * cgx_plane_width(p->bits, slice);
}

static void set_header(const struct scene *scene, size_t source, size_t piece, size_t bucket,
                       uint32_t header)
{
    size_t at = scene->pieces[piece].offset + bucket * CGX_BUCKET_HEADER_BYTES;

    memcpy(scene_payload(scene, source) + at, &header, sizeof header);
}

static void set_bucket(const struct scene *scene, size_t source, size_t piece, size_t bucket,
                       uint32_t header, uint32_t constant)
{
    unsigned char *payload = scene_payload(scene, source);

    set_header(scene, source, piece, bucket, header);
    if (header == CGX_BUCKET_CONSTANT)
        memcpy(payload + constant_at(scene, piece, bucket), &constant, sizeof constant);
}

/* Any bytes as codes and padding; headers that a decoder accepts. */
static void fill_payload(const struct scene *scene, size_t source, uint64_t *state)
{
    unsigned char *payload = scene_payload(scene, source);

    for (size_t i = 0; i < scene->payload_bytes; i++)
        payload[i] = (unsigned char)data_random(state);
    for (size_t piece = 0; piece < scene->plan.npieces; piece++) {
        for (size_t bucket = 0; bucket < headers_of(scene, piece); bucket++) {
            uint64_t r = data_random(state);
            uint32_t u = 0x0080 + (uint32_t)(r >> 32) % (0x7E80 - 0x0080 + 1);
            uint32_t header = u << 16 | (uint32_t)(r & 0xFFFF);

            if (r >> 16 & 1) /* so large that some levels are infinite */
                header = (0x7600 + (uint32_t)(r >> 32) % 0x881) << 16 | (uint32_t)(r & 0xFFFF);
            if ((r >> 17) % 8 == 0)
                header = CGX_BUCKET_CONSTANT;
            if ((r >> 20) % 16 == 0)
                header = CGX_BUCKET_POISON;
            set_bucket(scene, source, piece, bucket, header, (uint32_t)(r >> 32) % 0x7E000000u);
        }
    }
}

static void test_any_codes(enum cgx_dtype dtype)
{
    static struct scene scene;
    uint64_t state = 5;
    bool same = true;

    for (unsigned i = 0; i < 21 && same; i++) {
        struct scene_plan plan = make_plan(dtype, i);

        scene_make(&scene, &plan);
        for (size_t source = 0; source < plan.nsources; source++)
            fill_payload(&scene, source, &state);
        for (int k = 0; k < 2 && same; k++)
            same = scene_is_same(&scene, readers[k]) && scene_status() == CGX_OK;
    }
    ok(same, "%s: any grids, constants, codes and padding", data_dtypes[dtype]);
}

/* -32767 * 2^113 and then 32768 * 2^113, which is infinite in float32; their exact sum is not. */
static void test_infinite_levels(enum cgx_dtype dtype)
{
    static struct scene scene;
    const struct scene_plan plan = {.coding = {.dtype = dtype},
                                    .npieces = 1,
                                    .counts = {64},
                                    .bits = {8},
                                    .nsources = 2,
                                    .buffer_source = SCENE_NO_SOURCE};

    scene_make(&scene, &plan);
    memset(scene_payload(&scene, 0) + constant_at(&scene, 0, 0), 0, 64);
    memset(scene_payload(&scene, 1) + constant_at(&scene, 0, 0), 1, 64);
    set_bucket(&scene, 0, 0, 0, 0x78008001, 0);
    set_bucket(&scene, 1, 0, 0, 0x78007FFF, 0);
    ok(scene_is_same(&scene, CGX_REDUCE), "%s: infinite levels are not cancelled",
       data_dtypes[dtype]);
}

static void test_refused(enum cgx_dtype dtype, uint32_t header, uint32_t constant, const char *what)
{
    static struct scene scene;
    bool same = true;

    for (unsigned i = 0; i < 3 && same; i++) {
        struct scene_plan plan = make_plan(dtype, i);

        scene_make(&scene, &plan);
        /* In the last bucket of a piece; in the payload that is decoded, or the last source. */
        for (int k = 0; k < 2 && same; k++) {
            size_t source = readers[k] == CGX_REDUCE ? plan.nsources - 1 : 0;

            if (source == plan.buffer_source)
                source = 0;
            set_bucket(&scene, source, 3 + i, headers_of(&scene, 3 + i) - 1, header, constant);
            same = scene_is_same(&scene, readers[k]) && scene_status() == CGX_ERR_FORMAT;
        }
    }
    ok(same, "%s: refused: %s", data_dtypes[dtype], what);
}

int main(void)
{
    if (!kernels_open())
        return done_testing();
    for (int dtype = 0; dtype < 3; dtype++) {
        enum cgx_dtype type = (enum cgx_dtype)dtype;

        test_any_codes(type);
        test_infinite_levels(type);
        test_refused(type, 0x00000001, 0, "a zero point without a step");
        test_refused(type, 0x007F0000, 0, "a subnormal step");
        test_refused(type, 0x7E810000, 0, "a step above 2^126");
        test_refused(type, 0x7F800000, 0, "an infinite step");
        test_refused(type, 0x7FC00001, 0, "a poisoned bucket with a zero point");
        test_refused(type, 0x7FC10000, 0, "another NaN");
        test_refused(type, 0xBF800000, 0, "a negative step");
        test_refused(type, 0x80000000, 0, "a step of -0");
        test_refused(type, CGX_BUCKET_CONSTANT, 0x7E000000, "a constant of 2^125");
        test_refused(type, CGX_BUCKET_CONSTANT, 0xFF800000, "an infinite constant");
        test_refused(type, CGX_BUCKET_CONSTANT, 0x7FC00000, "a constant that is NaN");
    }
    return done_testing();
}
