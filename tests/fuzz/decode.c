/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

/* Any payload of max-min quantisation: all kernels decode and reduce it alike or refuse it alike;
 * what a reduction encodes is accepted; and nothing outside is touched. */
#include "codec/encoding.h"
#include "codec/host_kernels.h"
#include "fuzz/fuzz.h"

/* Most scenes have few elements: they say as much, and take less time. Others have up to 5116. */
#define FEW 160
#define SEVERAL 4
#define STEP 5

/* Of kernels: the portable one comes first. */
#define SETS 2

struct scene {
    struct cgx_coding coding;
    struct cgx_piece piece;
    size_t buckets, bytes, elements; /* the last two: bytes of a payload and of its elements */
    unsigned char *payload, *values;
};

static struct scene take_scene(struct fuzz_input *input)
{
    unsigned encoding = fuzz_encoding(input);
    struct scene scene = {.coding = {.dtype = (enum cgx_dtype)fuzz_take(input, 3)},
                          .piece = {.bits = encoding}};
    unsigned high = fuzz_take(input, 256), drawn = high * 256 + fuzz_take(input, 256);

    scene.piece.count = 1 + (high < SEVERAL ? drawn * STEP : drawn % FEW);
    scene.buckets = cgx_bucket_count(scene.piece.count, cgx_encoding_quantiser(encoding)->bucket);
    scene.bytes = cgx_piece_layout(scene.piece.count, encoding, scene.coding.dtype).bytes;
    scene.elements = scene.piece.count * cgx_dtype_size(scene.coding.dtype);
    scene.payload = fuzz_block(input, scene.bytes);
    scene.values = fuzz_block(input, scene.elements);
    return scene;
}

static enum cgx_status decode(const struct scene *scene, const struct cgx_codec *codec,
                              const unsigned char *payload, unsigned char *elements)
{
    return cgx_codec_run(codec, &(struct cgx_work){.operation = CGX_DECODE,
                                                   .coding = &scene->coding,
                                                   .pieces = &scene->piece,
                                                   .npieces = 1,
                                                   .in = payload,
                                                   .out = elements});
}

/* Of the payload twice, and of elements. */
static enum cgx_status reduce(const struct scene *scene, const struct cgx_codec *codec,
                              unsigned char *sum)
{
    const unsigned char *sources[] = {scene->payload, NULL, scene->payload};

    return cgx_codec_run(codec, &(struct cgx_work){.operation = CGX_REDUCE,
                                                   .coding = &scene->coding,
                                                   .pieces = &scene->piece,
                                                   .npieces = 1,
                                                   .sources = sources,
                                                   .nsources = 3,
                                                   .in = scene->values,
                                                   .out = sum});
}

/* The kernels of CODEC decode as the portable ones did, with STATUS, to ELEMENTS. */
static void check_decoding(const struct scene *scene, const struct cgx_codec *codec,
                           enum cgx_status status, const unsigned char *elements)
{
    unsigned char *elements_too = malloc(scene->elements);

    fuzz_require(elements_too != NULL, "there is memory");
    fuzz_require(decode(scene, codec, scene->payload, elements_too) == status,
                 "all kernels decode or refuse alike");
    fuzz_require(status != CGX_OK || memcmp(elements, elements_too, scene->elements) == 0,
                 "all kernels decode to the same bytes");
    free(elements_too);
}

/* The kernels of CODEC reduce as the portable ones did, with STATUS, to SUM. */
static void check_reduction(const struct scene *scene, const struct cgx_codec *codec,
                            enum cgx_status status, const unsigned char *sum)
{
    unsigned char *elements = malloc(scene->elements);
    unsigned char *sum_too = aligned_alloc(16, scene->bytes);

    fuzz_require(elements && sum_too, "there is memory");
    fuzz_require(reduce(scene, codec, sum_too) == status, "all kernels reduce what they decode");
    if (status == CGX_OK) {
        fuzz_require(memcmp(sum, sum_too, scene->bytes) == 0,
                     "all kernels reduce to the same bytes");
        fuzz_require(decode(scene, codec, sum, elements) == CGX_OK, "a sum is accepted");
    }
    free(elements);
    free(sum_too);
}

/* Those that the processor has, which is slow to ask in a virtual machine. */
static void find_sets(const struct cgx_codec *sets[SETS])
{
    static const char *const names[SETS] = {"portable", "avx2"};

    for (int i = 0; i < SETS; i++)
        sets[i] = cgx_codec_host_named(names[i]);
}

/* By the portable kernels, and by those of OTHERS. */
static void reduce_by(const struct scene *scene, const struct cgx_codec *portable,
                      const struct cgx_codec *const others[SETS - 1], enum cgx_status status)
{
    unsigned char *sum = aligned_alloc(16, scene->bytes);

    fuzz_require(sum != NULL, "there is memory");
    fuzz_require(reduce(scene, portable, sum) == status, "what is decoded is reduced");
    for (int i = 0; i < SETS - 1; i++)
        if (others[i])
            check_reduction(scene, others[i], status, sum);
    free(sum);
}

/* A reduction, which takes four times as long as decoding, has every third input. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const struct cgx_codec *sets[SETS];
    const struct cgx_codec *others[SETS - 1];
    struct fuzz_input input = {data, size};
    struct scene scene = take_scene(&input);
    unsigned char *elements = malloc(scene.elements);
    enum cgx_status status;

    if (!sets[0])
        find_sets(sets);
    fuzz_require(elements != NULL, "there is memory");
    for (unsigned i = 0; i < SETS - 1; i++)
        others[i] = fuzz_has_turn(data, size, i, SETS - 1) ? sets[i + 1] : NULL;
    status = decode(&scene, sets[0], scene.payload, elements);
    fuzz_require(status == CGX_OK || status == CGX_ERR_FORMAT, "a payload is decoded or refused");
    for (int i = 0; i < SETS - 1; i++)
        if (others[i])
            check_decoding(&scene, others[i], status, elements);
    if (fuzz_has_turn(data, size, 0, 3))
        reduce_by(&scene, sets[0], others, status);
    free(elements);
    free(scene.values);
    free(scene.payload);
    return 0;
}
