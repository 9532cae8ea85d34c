/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

/* Pieces of uniform quantisation, which are as long as they say: what any elements are encoded to
 * is decoded to within half a step, zeros to zeros. Then some of its bytes change, or all are
 * others: kernels decode it to what doc/format.md says or refuse it, reduce it alike, and touch
 * nothing outside. */
#include <math.h>

#include "codec/encoding.h"
#include "codec/host_kernels.h"
#include "fuzz/fuzz.h"
#include "unit/lib/uniform_reference.h"

#define MOST 2100
#define SETS 3

struct scene {
    struct cgx_coding coding;
    struct cgx_piece piece;
    size_t bytes; /* of a piece at the most */
    float *values, *decoded;
    unsigned char *payload, *sum;
};

static struct scene take_scene(struct fuzz_input *input)
{
    static const float floors[] = {0, 0.25f, 0.01f, 1e-6f};
    struct scene scene = {.coding = {.stream = fuzz_take(input, 8)},
                          .piece = {.bits = CGX_UNIFORM + 1}};

    scene.coding.step_size = ldexpf(1, (int)fuzz_take(input, 236) - 109);
    scene.coding.floor = floors[fuzz_take(input, 4)];
    scene.piece.count = 1 + (fuzz_take(input, 256) * 256 + fuzz_take(input, 256)) % MOST;
    scene.bytes = cgx_uniform_bytes(scene.piece.count);
    scene.payload = aligned_alloc(16, scene.bytes);
    scene.sum = aligned_alloc(16, scene.bytes);
    scene.decoded = malloc(scene.piece.count * sizeof(float));
    fuzz_require(scene.payload && scene.sum && scene.decoded, "there is memory");
    return scene;
}

static void free_scene(const struct scene *scene)
{
    free(scene->values);
    free(scene->decoded);
    free(scene->payload);
    free(scene->sum);
}

static enum cgx_status run(const struct scene *scene, const struct cgx_codec *codec,
                           enum cgx_operation operation, const void *in, void *out)
{
    const unsigned char *sources[] = {scene->payload, NULL, scene->payload};

    return cgx_codec_run(codec, &(struct cgx_work){operation, &scene->coding, &scene->piece, 1,
                                                   sources, 3, .in = in, .out = out});
}

/* Whether Y may be what X is decoded to: a level beyond the largest float is an infinity, and
 * blocks with elements that are not finite may be poisoned. Codes of 16 bits are of values that are
 * rounded to 2^-9 of a step. */
static bool is_near(double x, double y, double step, bool is_poisoned)
{
    double bound = step * (0.5 + 0x1p-8) + fabs(x) * 0x1p-22;

    if (is_poisoned || !isfinite(x))
        return isnan(y) || y == x;
    return isfinite(y) ? fabs(y - x) <= bound && (y == 0) == (x == 0)
                       : fabs(x) + bound >= 0x1.fffffep127 && x * y > 0;
}

static void check_elements(const struct scene *scene)
{
    const struct cgx_uniform_layout layout = cgx_uniform_layout_of(scene->piece.count);
    double step = 0;

    for (size_t i = 0; i < scene->piece.count; i++) {
        unsigned kind = scene->payload[layout.kinds + i / 128] >> i / 64 % 2 * 4 & 15;

        if (i % CGX_UNIFORM_GROUP == 0)
            step = ldexp((double)scene->coding.step_size,
                         scene->payload[layout.exponents + i / CGX_UNIFORM_GROUP] - 24);
        fuzz_require(is_near((double)scene->values[i], (double)scene->decoded[i], step,
                             kind == CGX_UNIFORM_POISON),
                     "elements are within half a step, or their block is poisoned");
    }
}

/* Encoded by the portable kernels, and by those of CODEC. */
static void check_encoding(const struct scene *scene, const struct cgx_codec *codec)
{
    size_t used = cgx_uniform_used(scene->payload, scene->piece.count);

    fuzz_require(run(scene, codec, CGX_ENCODE, scene->values, scene->sum) == CGX_OK &&
                     memcmp(scene->sum, scene->payload, used) == 0,
                 "all kernels encode to the same bytes");
}

/* The payload, whatever it holds, which the portable kernels have decoded and reduced. */
static void check_payload(const struct scene *scene, const struct cgx_codec *codec,
                          enum cgx_status status)
{
    float *decoded = malloc(scene->piece.count * sizeof *decoded);
    unsigned char *sum = aligned_alloc(16, scene->bytes);

    fuzz_require(decoded && sum, "there is memory");
    fuzz_require(run(scene, codec, CGX_DECODE, scene->payload, decoded) == status,
                 "all kernels decode or refuse alike");
    if (status == CGX_OK)
        for (size_t i = 0; i < scene->piece.count; i++)
            fuzz_require(decoded[i] == scene->decoded[i] ||
                             (isnan(decoded[i]) && isnan(scene->decoded[i])),
                         "all kernels decode to the same elements");
    fuzz_require(run(scene, codec, CGX_REDUCE, scene->values, sum) == status,
                 "what is decoded is reduced");
    if (status == CGX_OK)
        fuzz_require(memcmp(sum, scene->sum, cgx_uniform_used(scene->sum, scene->piece.count)) ==
                             0 &&
                         run(scene, codec, CGX_DECODE, sum, decoded) == CGX_OK,
                     "all kernels reduce to the same bytes, which are decoded");
    free(decoded);
    free(sum);
}

/* Changes some bytes of the payload, or ALL. */
#define ALL 8
static void change(const struct scene *scene, unsigned changes, struct fuzz_input *input)
{
    if (changes == ALL) {
        unsigned char *bytes = fuzz_block(input, scene->bytes);

        memcpy(scene->payload, bytes, scene->bytes);
        free(bytes);
        return;
    }
    for (; changes > 0; changes--) {
        size_t at = fuzz_take(input, 256) * (size_t)256 + fuzz_take(input, 256);

        scene->payload[at % scene->bytes] ^= (unsigned char)fuzz_take(input, 256);
    }
}

/* Whether the payload has a meaning, and what DECODED is has it. */
static bool has_meaning(const struct scene *scene, enum cgx_status status)
{
    float *meant = malloc((scene->piece.count + 63) / 64 * 64 * sizeof *meant);
    bool accepted, same;

    fuzz_require(meant != NULL, "there is memory");
    accepted = uniform_decode(scene->payload, 0, scene->piece.count, meant);
    same = accepted == (status == CGX_OK);
    for (size_t i = 0; accepted && i < scene->piece.count; i++)
        same = same && cgx_float_bits(meant[i]) == cgx_float_bits(scene->decoded[i]);
    free(meant);
    return same;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const char *const names[SETS] = {"portable", "avx2", "avx2-shifts"};
    static const struct cgx_codec *sets[SETS];
    const struct cgx_codec *others[SETS] = {NULL};
    struct fuzz_input input = {data, size};
    struct scene scene = take_scene(&input);
    unsigned changes = fuzz_take(&input, ALL + 1);
    enum cgx_status status;

    if (!sets[0])
        for (int i = 0; i < SETS; i++)
            sets[i] = cgx_codec_host_named(names[i]);
    for (unsigned i = 1; i < SETS; i++)
        others[i] = fuzz_has_turn(data, size, i - 1, SETS - 1) ? sets[i] : NULL;
    scene.values = fuzz_block(&input, scene.piece.count * sizeof(float));
    memset(scene.payload, 0x55, scene.bytes);
    fuzz_require(run(&scene, sets[0], CGX_ENCODE, scene.values, scene.payload) == CGX_OK &&
                     run(&scene, sets[0], CGX_DECODE, scene.payload, scene.decoded) == CGX_OK,
                 "elements are encoded, and decoded");
    check_elements(&scene);
    for (int i = 1; i < SETS; i++)
        if (others[i])
            check_encoding(&scene, others[i]);
    change(&scene, changes, &input);
    status = run(&scene, sets[0], CGX_DECODE, scene.payload, scene.decoded);
    fuzz_require(status == CGX_OK || status == CGX_ERR_FORMAT, "a payload is decoded or refused");
    fuzz_require(has_meaning(&scene, status), "it is decoded as specified");
    fuzz_require(run(&scene, sets[0], CGX_REDUCE, scene.values, scene.sum) == status,
                 "what is decoded is reduced");
    for (int i = 1; i < SETS; i++)
        if (others[i])
            check_payload(&scene, others[i], status);
    free_scene(&scene);
    return 0;
}
