/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

/* Every set of kernels gives the bytes of this version of the format, and writes nothing else: of
 * both families, with history and without, for every type, width and bucket size, of incomplete
 * buckets and misaligned buffers, encoded, summed from sources of all kinds, and decoded. bytes.c
 * has some of these bytes by hand. Checksums must never change within a format version. */

#include <stdlib.h>
#include <string.h>

#include "codec/encoding.h"
#include "lib/tap.h"
#include "unit/lib/uniform_data.h"

#define FIRST 4096            /* where pieces begin */
#define MOST (130 * 1024 + 7) /* groups of uniform pieces go to the same sums again */
#define ALL (FIRST + MOST)
#define GUARD 64
#define PAYLOAD (2 * MOST)

enum { SOURCES = 6, CALLS = 4, MOST_CASES = 441 };

static const struct family {
    const char *name;
    unsigned first; /* of its encodings */
    unsigned cases;
    uint32_t calls; /* with what each leaves in the history */
    uint64_t golden[3];
} families[] = {
    {"max-min", 0, 441, 1, {0x92b05d6b6305dd71, 0xfd3b7b2ed462ca64, 0x80e2c3960d185ec5}},
    {"max-min with history",
     0,
     56,
     CALLS,
     {0x81fd3fafb090c3d6, 0x4ad5b5338d955547, 0x713d12ffb86d9756}},
    {"uniform", CGX_UNIFORM, 300, 1, {0xc6ff223ddb327838, 0x392b8a5649caee92, 0x3c13035c8b022027}},
    {"uniform with history",
     CGX_UNIFORM,
     24,
     CALLS,
     {0xd053ebc4449815c8, 0x09a796cd64ccb8b0, 0x1bacf42f25c1a5c6}},
};

struct scene {
    struct cgx_coding coding;
    struct cgx_piece piece;
    struct cgx_history history;
    size_t nsources, own; /* which of them is the buffer; NSOURCES: none */
    uint64_t seed;
    size_t bytes; /* of a payload at the most */
};

static struct kept {
    uint8_t scales[ALL + 64] __attribute__((aligned(64)));
    float fits[ALL / 64 + 2];
} kept;

static float values[ALL];
static unsigned char elements[4 * ALL + 1], decoded[4 * ALL + 2 * GUARD];
static unsigned char payloads[SOURCES + 1][PAYLOAD + 2 * GUARD] __attribute__((aligned(64)));

static size_t count_of(const struct family *family, unsigned bucket, unsigned number)
{
    static const size_t groups[] = {1, 63, 64, 65, 1023, 1024, 1025, 4 * 1024 + 100, 7 * 1024};
    const size_t around[] = {1,           bucket - 1,      bucket,         bucket + 1,
                             bucket + 31, 2 * bucket + 65, 4 * bucket - 64};

    if (family->calls > 1)
        return 2 * 4096 + 700;
    if (family->first == 0)
        return around[number / 63];
    return number < 297 ? groups[number % 9] : MOST;
}

static struct scene scene_of(const struct family *family, enum cgx_dtype dtype, unsigned number)
{
    static const float steps[] = {.01f, 1.25f, 40, 1, 0}, floors[] = {0, .25f, .01f};
    unsigned bucket = 64u << number % 7, width = number / 7 % (family->calls > 1 ? 8 : 9);
    struct scene scene = {.coding = {.dtype = dtype,
                                     .bucket_size = bucket,
                                     .call = 17,
                                     .stream = number % 5,
                                     .turn = 1000 + number,
                                     .step = steps[number / 9 % 5],
                                     .error = .01f,
                                     .floor = floors[number / 36 % 3]},
                          .piece = {.first = FIRST, .offset = GUARD},
                          .nsources = 1 + number % SOURCES,
                          .own = number / 2 % (SOURCES + 1),
                          .seed = 100 * number};

    scene.piece.count = count_of(family, bucket, number);
    scene.piece.bits = family->first > 0 ? family->first + 1 + number % 8
                       : width < 8       ? width + 1
                                         : CGX_BITS_EXACT;
    if (scene.own > scene.nsources)
        scene.own = scene.nsources;
    if (family->calls > 1)
        scene.history =
            (struct cgx_history){kept.scales, kept.fits, 22}; /* it ceases to be young */
    scene.bytes =
        cgx_piece_layout(scene.piece.count, scene.piece.bits, bucket, scene.coding.dtype).bytes;
    return scene;
}

/* Buckets and blocks of many kinds, some of them constant, poisoned, or of zeros. */
static void make_elements(const struct scene *scene, uint64_t seed)
{
    size_t end = FIRST + scene->piece.count, part = scene->coding.bucket_size / 2;
    float step = scene->coding.step > 0 ? scene->coding.step : 1;

    if (cgx_encoding_family(scene->piece.bits) == CGX_FAMILY_UNIFORM) {
        uniform_fill(seed, step, values, end);
    } else {
        for (size_t i = 0; i < end; i += part)
            data_fill((enum data_kind)(data_random(&seed) % DATA_KINDS), data_random(&seed),
                      values + i, end - i < part ? end - i : part);
        if (end > FIRST + 6 * part && seed % 3 == 0)
            values[end - 1 - 2 * part] = seed % 2 ? NAN : -INFINITY;
    }
    for (size_t i = 0; i < end && scene->coding.dtype == CGX_FLOAT16; i++)
        values[i] = fmodf(values[i], 30000); /* sums of them may overflow */
    cgx_codec_host()->kernels.narrow[scene->coding.dtype](values, end, elements + 1);
}

static void add(uint64_t *hash, const void *data, size_t bytes)
{
    *hash = (*hash ^ data_checksum(data, bytes)) * 0x100000001B3u;
}

static bool is_guard(const unsigned char *bytes, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (bytes[i] != 0xAA)
            return false;
    return true;
}

/* Of a payload: what is undefined behind the end of a uniform piece is not in HASH. */
static bool add_payload(const struct scene *scene, const unsigned char *payload, uint64_t *hash)
{
    bool varies = cgx_encoding_family(scene->piece.bits) == CGX_FAMILY_UNIFORM;

    add(hash, payload + GUARD,
        varies ? cgx_uniform_used(payload + GUARD, scene->piece.count) : scene->bytes);
    return is_guard(payload, GUARD) && is_guard(payload + GUARD + scene->bytes, GUARD);
}

static struct cgx_work work_of(const struct scene *scene, enum cgx_operation operation,
                               const void *in, void *out)
{
    return (struct cgx_work){operation,  &scene->coding,           &scene->piece, 1, .in = in,
                             .out = out, .history = scene->history};
}

/* Makes sources and their sum, in place of one of them if it can be, and decodes that. */
static bool run(const struct cgx_codec *codec, const struct scene *scene, uint64_t *hash)
{
    const unsigned char *sources[SOURCES] = {NULL};
    size_t size = cgx_dtype_size(scene->coding.dtype), end = FIRST + scene->piece.count;
    unsigned char *sum = payloads[SOURCES], *to = decoded + GUARD + scene->piece.count % 2;
    struct cgx_coding next = scene->coding;
    struct cgx_work work;
    bool right = true;

    next.stream += 8;
    next.stage = 1 + (uint32_t)scene->seed % 3;
    next.step *= 1.5f;
    memset(decoded, 0xAA, end * size + 2 * GUARD);
    for (size_t p = 0; p <= SOURCES; p++)
        memset(payloads[p], 0xAA, scene->bytes + 2 * GUARD);
    for (size_t p = 0; p < scene->nsources; p++) {
        if (p == scene->own)
            continue;
        make_elements(scene, scene->seed + p);
        work = work_of(scene, CGX_ENCODE, elements + 1, payloads[p]);
        right = cgx_codec_run(codec, &work) == CGX_OK && right;
        right = add_payload(scene, payloads[p], hash) && right;
        sources[p] = payloads[p];
        if (scene->seed % 300 == 0 && cgx_encoding_family(scene->piece.bits) != CGX_FAMILY_UNIFORM)
            sum = payloads[p];
    }
    make_elements(scene, scene->seed + scene->own);
    work = work_of(scene, CGX_REDUCE, elements + 1, sum);
    work.coding = &next;
    work.sources = sources;
    work.nsources = scene->nsources;
    right = cgx_codec_run(codec, &work) == CGX_OK && right;
    right = add_payload(scene, sum, hash) && right;
    work = work_of(scene, CGX_DECODE, sum, to);
    right = cgx_codec_run(codec, &work) == CGX_OK && right;
    add(hash, to + FIRST * size, scene->piece.count * size);
    add(hash, kept.scales, end);
    add(hash, kept.fits, end / 64 * sizeof *kept.fits);
    return right && is_guard(to + FIRST * size - GUARD, GUARD) &&
           is_guard(to + end * size, GUARD - 1);
}

static void test(const struct family *family, enum cgx_dtype dtype)
{
    static uint64_t portable[MOST_CASES];

    for (int set = 0; set < DATA_SETS; set++) {
        const struct cgx_codec *codec = data_codec(set);
        uint64_t all = 0;
        bool right = true;

        for (unsigned number = 0; codec && number < family->cases; number++) {
            struct scene scene = scene_of(family, dtype, number);
            uint64_t hash = 0;

            memset(&kept, 0, sizeof kept);
            for (uint32_t call = 0; call < family->calls; call++) {
                right = run(codec, &scene, &hash) && right;
                scene.coding.call++;
                scene.history.age++;
                scene.seed += 10;
            }
            if (set > 0 && hash != portable[number])
                diag("case %u differs from that of portable kernels", number);
            portable[number] = hash;
            add(&all, &hash, sizeof hash);
        }
        if (!codec)
            continue;
        ok(right, "%s: %s, %s: nothing is refused, and nothing written beside", codec->name,
           family->name, data_dtypes[dtype]);
        ok(all == family->golden[dtype], "%s: %s, %s: the bytes of this version of the format",
           codec->name, family->name, data_dtypes[dtype]);
        if (all != family->golden[dtype])
            diag("0x%016llX", (unsigned long long)all);
    }
}

int main(void)
{
    for (size_t f = 0; f < sizeof families / sizeof families[0]; f++)
        for (int dtype = 0; dtype < 3; dtype++)
            test(&families[f], (enum cgx_dtype)dtype);
    ok(cgx_codec_host_named("none") == NULL, "there is no set of another name");
    ok(cgx_codec_host() == cgx_codec_host_named(NULL), "the host codec is that of the fastest set");
    return done_testing();
}
