/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

/* Every set of kernels gives the bytes of the specification, and writes nothing else: of both
 * families, with history and without, for every type and width, of incomplete buckets and
 * misaligned buffers, encoded, summed from sources of all kinds, and decoded. */

#include <string.h>

#include "codec/encoding.h"
#include "lib/tap.h"
#include "unit/lib/codec_data.h"
#include "unit/lib/uniform_encoder.h"

#define FIRST 4096            /* where pieces begin */
#define MOST (130 * 1024 + 7) /* groups of uniform pieces go to the same sums again */
#define ALL (FIRST + MOST)
#define GUARD 64
#define PAYLOAD ((2 * MOST + 2 * GUARD + 63) / 64 * 64)

enum { SOURCES = 6, CALLS = 4 };

static const struct family {
    const char *name;
    unsigned first; /* of its encodings */
    unsigned cases;
    uint32_t calls; /* with what each leaves in the history */
} families[] = {{"max-min", 0, 441, 1},
                {"uniform", CGX_UNIFORM, 300, 1},
                {"uniform with history", CGX_UNIFORM, 24, CALLS}};

struct scene {
    struct cgx_coding coding;
    struct cgx_piece piece;
    bool has_history;
    uint32_t age;
    size_t nsources, own; /* which of them is the buffer; NSOURCES: none */
    uint64_t seed;
    size_t bytes; /* of a payload at the most */
};

/* As specified before and after an operation, and as kernels leave it. */
static struct kept {
    uint8_t scales[ALL + 64] __attribute__((aligned(64)));
    float fits[ALL / 1024 + 2];
} before, after, kept;

static float values[ALL], levels[MOST + 64], sums[MOST];
static unsigned char elements[4 * ALL + 1], decoded[4 * ALL + 3 * GUARD];
static unsigned char payloads[SOURCES + 1][PAYLOAD] __attribute__((aligned(64)));
static unsigned char result[4 * ALL + 3 * GUARD] __attribute__((aligned(64)));
static bool right[DATA_SETS];

static size_t count_of(const struct family *family, unsigned number)
{
    static const size_t groups[] = {1, 63, 64, 65, 1023, 1024, 1025, 4 * 1024 + 100, 7 * 1024};
    static const size_t around[] = {1, 127, 128, 129, 159, 321, 448};

    if (family->calls > 1)
        return 2 * 4096 + 700;
    if (family->first == 0)
        return around[number / 63];
    return number < 297 ? groups[number % 9] : MOST;
}

static struct scene scene_of(const struct family *family, enum cgx_dtype dtype, unsigned number)
{
    static const float steps[] = {.01f, 1.25f, 40, 1, 0}, floors[] = {0, .25f, .01f};
    unsigned width = number / 7 % (family->calls > 1 ? 8 : 9);
    struct scene scene = {.coding = {.dtype = dtype,
                                     .call = 17,
                                     .stream = number % 5,
                                     .turn = 1000003 * number,
                                     .step_size = steps[number / 9 % 5],
                                     .error = .01f,
                                     .floor = floors[number / 36 % 3]},
                          .piece = {.first = FIRST, .offset = GUARD},
                          .nsources = 1 + number % SOURCES,
                          .own = number / 2 % (SOURCES + 1),
                          .seed = 100 * number};

    scene.piece.count = count_of(family, number);
    scene.piece.bits = family->first > 0 ? family->first + 1 + number % 8
                       : width < 8       ? width + 1
                                         : CGX_BITS_EXACT;
    if (scene.own > scene.nsources)
        scene.own = scene.nsources;
    scene.has_history = family->calls > 1;
    scene.age = 22; /* it ceases to be young */
    scene.bytes = cgx_piece_layout(scene.piece.count, scene.piece.bits, scene.coding.dtype).bytes;
    return scene;
}

static bool is_uniform(const struct scene *scene)
{
    return cgx_encoding_family(scene->piece.bits) == CGX_FAMILY_UNIFORM;
}

/* Groups that differ so much in size that their total tells in which order they were added. */
static void fill_groups(uint64_t state, size_t end)
{
    for (size_t i = 0; i < end; i++)
        values[i] = (float)(int32_t)(data_random(&state) >> 32) *
                    ldexpf(0x1p-31f, (int)(i / 1024 * 11 % 29) - 14);
}

/* Buckets and blocks of many kinds, some of them constant, poisoned, or of zeros. VALUES become
 * what is quantised of the elements. */
static void make_elements(const struct scene *scene, uint64_t seed)
{
    static const float limits[] = {NAN, -INFINITY, 0x1p125f, -0x1p125f, 0x1.fffffep124f, -NAN};
    size_t end = FIRST + scene->piece.count, part = 64;
    enum cgx_dtype dtype = scene->coding.dtype;

    if (scene->piece.count == MOST) {
        fill_groups(seed, end);
    } else if (is_uniform(scene)) {
        uniform_fill(seed, scene->coding.step_size > 0 ? scene->coding.step_size : 1, values, end);
    } else {
        for (size_t i = 0; i < end; i += part)
            data_fill((enum data_kind)(data_random(&seed) % DATA_KINDS), data_random(&seed),
                      values + i, end - i < part ? end - i : part);
        if (end > FIRST + 6 * part && data_random(&seed) % 3 == 0)
            values[end - 1 - 2 * part] = limits[seed % 6];
    }
    for (size_t i = 0; i < end; i++) {
        if (dtype == CGX_FLOAT16)
            values[i] = fmodf(values[i], 30000); /* sums of them may overflow */
        data_store(dtype, elements + 1, i, values[i]);
        values[i] = data_load(dtype, elements + 1, i);
        values[i] *= scene->has_history ? 1 / reference_size(before.scales[i]) : 1;
    }
}

/* ---- what is specified ---- */

/* Sets LEVELS to what PIECE is decoded to, without history. */
static void expect_levels(const struct scene *scene, unsigned char *piece)
{
    size_t count = scene->piece.count;
    unsigned bits = scene->piece.bits;

    if (is_uniform(scene) && !uniform_decode(piece, FIRST, count, levels))
        bail_out("the reference cannot decode what it has encoded");
    for (size_t i = 0; i < count && bits == CGX_BITS_EXACT; i++)
        levels[i] = data_load(scene->coding.dtype, piece, i);
    for (size_t i = 0; i < count && bits <= 8; i++)
        levels[i] = reference_decode(piece, count, bits, i);
}

/* Encodes X to PAYLOAD. Returns how many bytes it has. */
static size_t expect_encoded(const struct scene *scene, const struct cgx_coding *coding,
                             const struct uniform_before *from, const float *x,
                             unsigned char *payload)
{
    size_t count = scene->piece.count;
    unsigned bits = scene->piece.bits;

    memset(payload, 0, scene->bytes + 2 * GUARD);
    if (is_uniform(scene))
        return uniform_encode(coding, x, FIRST, count, from, payload + GUARD);
    if (bits <= 8)
        reference_encode(x, count, bits, payload + GUARD);
    for (size_t i = 0; i < count && bits == CGX_BITS_EXACT; i++)
        data_store(coding->dtype, payload + GUARD, i, x[i]);
    return scene->bytes;
}

/* Adds X, the values of source P, to SUMS. Uniform zeros are -0. */
static void expect_added(const struct scene *scene, size_t p, const float *x)
{
    for (size_t i = 0; i < scene->piece.count; i++) {
        float value = is_uniform(scene) && x[i] == 0 ? -0.0f : x[i];

        sums[i] = p == 0 ? value : sums[i] + value;
    }
}

/* Decodes PIECE to elements, at OUT, and enters them in the history. */
static void expect_decoded(const struct scene *scene, unsigned char *piece, unsigned char *out)
{
    size_t count = scene->piece.count;
    struct cgx_history history = {after.scales, after.fits, scene->age};

    expect_levels(scene, piece);
    for (size_t i = 0; i < count; i++) {
        levels[i] *= scene->has_history ? reference_size(before.scales[FIRST + i]) : 1;
        data_store(scene->coding.dtype, out, i, levels[i]);
    }
    for (size_t i = 0; i < count && scene->has_history; i += 1024)
        reference_learn(history, scene->coding.call, levels + i, FIRST + i,
                        count - i < 1024 ? count - i : 1024);
    if (scene->piece.bits == CGX_BITS_EXACT)
        memcpy(out, piece, count * cgx_dtype_size(scene->coding.dtype));
}

/* ---- what kernels do ---- */

static bool is_guard(const unsigned char *bytes, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (bytes[i] != 0xAA)
            return false;
    return true;
}

/* Runs WORK with all sets. RESULT, which may be a source, then has BYTES of EXPECTED from FROM on,
 * and nothing around ROOM of them has changed. */
static void compare(const struct scene *scene, struct cgx_work work, const unsigned char *source,
                    const unsigned char *expected, size_t from, size_t bytes, size_t room)
{
    size_t remembered = scene->has_history ? sizeof kept : 0;

    for (int set = 0; set < DATA_SETS; set++) {
        const struct cgx_codec *codec = cgx_codec_host_named(data_sets[set]);
        bool same;

        if (!codec)
            continue;
        memset(result, 0xAA, from + room + GUARD);
        if (source)
            memcpy(result + from, source + from, room);
        memcpy(&kept, &before, remembered);
        if (scene->has_history)
            work.history = (struct cgx_history){kept.scales, kept.fits, scene->age};
        same = cgx_codec_run(codec, &work) == CGX_OK &&
               memcmp(result + from, expected + from, bytes) == 0 &&
               is_guard(result + from - GUARD, GUARD) && is_guard(result + from + room, GUARD) &&
               memcmp(&kept, &after, remembered) == 0;
        if (!same && right[set])
            diag("%s: first with seed %d, operation %d", data_sets[set], (int)scene->seed,
                 (int)work.operation);
        right[set] = right[set] && same;
    }
}

/* Makes sources and their sum, in place of one of them if it can be, and decodes that. */
static void run(const struct scene *scene)
{
    const unsigned char *sources[SOURCES] = {NULL}, *source = NULL;
    unsigned char *sum = payloads[SOURCES];
    size_t size = cgx_dtype_size(scene->coding.dtype), end = FIRST + scene->piece.count;
    size_t place = GUARD + scene->piece.count % 2, used;
    struct cgx_coding next = scene->coding;
    struct cgx_work work = {CGX_ENCODE, &scene->coding,     &scene->piece,
                            1,          .in = elements + 1, .out = result};
    struct uniform_before none = {0}, all = {.is_sum = true};

    next.stream += 8;
    next.stage = 1 + (uint32_t)scene->seed % 3;
    next.step_size *= 1.5f;
    memcpy(&after, &before, sizeof after);
    for (size_t p = 0; p < scene->nsources; p++) {
        bool is_own = p == scene->own;

        make_elements(scene, scene->seed + p);
        if (!is_own) {
            used = expect_encoded(scene, &scene->coding, &none, values + FIRST, payloads[p]);
            compare(scene, work, NULL, payloads[p], GUARD, used, scene->bytes);
            expect_levels(scene, payloads[p] + GUARD);
            sources[p] = payloads[p];
        }
        uniform_take(&all, &next, is_own ? NULL : payloads[p] + GUARD, values + FIRST,
                     scene->piece.count);
        expect_added(scene, p, is_own ? values + FIRST : levels);
    }
    make_elements(scene, scene->seed + scene->own);
    used = expect_encoded(scene, &next, &all, sums, sum);
    work.operation = CGX_REDUCE;
    work.coding = &next;
    work.sources = sources;
    work.nsources = scene->nsources;
    for (size_t p = 0; p < scene->nsources && scene->seed % 300 == 0 && !is_uniform(scene); p++)
        if (sources[p]) {
            source = sources[p];
            sources[p] = result;
            break;
        }
    compare(scene, work, source, sum, GUARD, used, scene->bytes);
    expect_decoded(scene, sum + GUARD, decoded + place + FIRST * size);
    work = (struct cgx_work){CGX_DECODE, &scene->coding, &scene->piece,
                             1,          .in = sum,      .out = result + place};
    compare(scene, work, NULL, decoded, place + FIRST * size, (end - FIRST) * size,
            (end - FIRST) * size);
}

static void test(const struct family *family, enum cgx_dtype dtype)
{
    for (int set = 0; set < DATA_SETS; set++)
        right[set] = true;
    for (unsigned number = 0; number < family->cases; number++) {
        struct scene scene = scene_of(family, dtype, number);

        memset(&before, 0, sizeof before);
        for (uint32_t call = 0; call < family->calls; call++) {
            run(&scene);
            memcpy(&before, &after, sizeof before);
            scene.coding.call++;
            scene.age++;
            scene.seed += 10;
        }
    }
    for (int set = 0; set < DATA_SETS; set++)
        if (data_codec(set))
            ok(right[set], "%s: %s, %s: the bytes of the specification", data_sets[set],
               family->name, data_dtypes[dtype]);
}

/* A block with a code above 252 has a parameter of at least 2; one with holes has codes. */
static void test_seen(void)
{
    bool all = true;

    for (unsigned kind = 0; kind < 16; kind++)
        for (unsigned form = 0; form < 31; form++) {
            bool has_own = kind < 12 || kind == 15;
            bool is = has_own ? form == (kind < 9 || kind == 15 ? kind : 8)
                              : uniform_may_have(kind, form) && form != 16 && form != 17 &&
                                    (kind != 13 || form != 8);

            if (is != (uniform_seen[kind][form] > 0))
                diag("kind %u, form %u: %u", kind, form, uniform_seen[kind][form]);
            all = all && is == (uniform_seen[kind][form] > 0);
        }
    ok(all, "these had all kinds and forms of blocks");
}

int main(void)
{
    for (size_t f = 0; f < sizeof families / sizeof families[0]; f++)
        for (int dtype = 0; dtype < 3; dtype++)
            test(&families[f], (enum cgx_dtype)dtype);
    test_seen();
    ok(cgx_codec_host_named("none") == NULL, "there is no set of another name");
    ok(cgx_codec_host() == cgx_codec_host_named(NULL), "the host codec is that of the fastest set");
    return done_testing();
}
