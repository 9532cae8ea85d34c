/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

#include "unit/lib/kernels.h"

#include <string.h>

#include "codec/encoding.h"
#include "lib/tap.h"
#include "unit/lib/codec_data.h"

#define GUARD 256 /* before the buffer and between payloads */
#define BUFFER_BYTES (1u << 20)
#define PAYLOAD_BYTES (1u << 19)
#define PAYLOADS (GUARD + BUFFER_BYTES)
#define MEMORY_BYTES (PAYLOADS + SCENE_SOURCES * PAYLOAD_BYTES)
#define ELEMENTS (BUFFER_BYTES / 4 - 64)

/* As made; where the host codec works; where the kernels do. */
static unsigned char made[MEMORY_BYTES] __attribute__((aligned(256)));
static unsigned char expected[MEMORY_BYTES] __attribute__((aligned(256)));
static unsigned char actual[MEMORY_BYTES] __attribute__((aligned(256)));
static float values[ELEMENTS];
static enum cgx_status last_status;

static size_t element_size(const struct scene *scene)
{
    return cgx_dtype_size(scene->plan.coding.dtype);
}

static unsigned char *buffer_in(const struct scene *scene, unsigned char *memory)
{
    return memory + GUARD + scene->plan.misalignment;
}

static unsigned char *payload_in(unsigned char *memory, size_t source)
{
    return memory + PAYLOADS + source * PAYLOAD_BYTES;
}

static size_t used_bytes(const struct scene *scene)
{
    return PAYLOADS + (scene->plan.nsources > 0 ? scene->plan.nsources : 1) * PAYLOAD_BYTES;
}

unsigned char *scene_payload(const struct scene *scene, size_t source)
{
    (void)scene;
    return payload_in(made, source);
}

enum cgx_status scene_status(void)
{
    return last_status;
}

/* ---- making ---- */

/* Every other run of values is of a kind of its own; the others are made fast: few levels or many,
 * of any size, near zero or far from it. */
static void fill_run(uint64_t *state, float *run, size_t count)
{
    uint64_t r = data_random(state);
    float scale = cgx_bits_float((uint32_t)(r % 240 + 4) << 23);
    float offset = (float)(int)(r >> 8 & 255) * (r >> 16 & 3 ? 0 : 1.0f);
    unsigned levels = r >> 20 & 1 ? 9 : 1u << 20;

    if (r >> 24 & 1) {
        data_fill((enum data_kind)(data_random(state) % DATA_KINDS), data_random(state), run,
                  count);
        return;
    }
    for (size_t i = 0; i < count; i++)
        run[i] = scale * (offset + (float)(data_random(state) % levels) - (float)(levels / 2));
}

static float strange_value(uint64_t *state)
{
    static const uint32_t bits[] = {0x7F800000, 0xFF800000, 0x7FC00000, 0xFFFFFFFF, 0x7F800001,
                                    0x7E000000, 0xFE000000, 0x7DFFFFFF, 0x7F7FFFFF, 0xFF7FFFFF};

    return cgx_bits_float(bits[data_random(state) % 10]);
}

static void make_elements(const struct scene *scene, uint64_t *state)
{
    enum cgx_dtype dtype = scene->plan.coding.dtype;
    size_t half = CGX_MAXMIN_BUCKET / 2;

    for (size_t i = 0; i < scene->elements; i += half) {
        size_t n = scene->elements - i < half ? scene->elements - i : half;
        uint64_t r = data_random(state);

        fill_run(state, values + i, n);
        if (dtype == CGX_FLOAT16 && r % 8 != 0) /* of its range, or most were zero or infinite */
            for (size_t j = i; j < i + n; j++)
                if (fabsf(values[j]) >= 60000)
                    values[j] = fmodf(values[j], 60000);
        if (r >> 8 & 1 && i > 0) /* the bucket of one run */
            memcpy(values + i, values + i - half, n * sizeof *values);
        if ((r >> 16) % 16 == 0)
            values[i + r % n] = strange_value(state);
    }
    cgx_codec_host()->kernels.narrow[dtype](values, scene->elements, buffer_in(scene, made));
}

static void make_pieces(struct scene *scene)
{
    const struct scene_plan *plan = &scene->plan;
    const size_t unit = CGX_MAXMIN_BUCKET;
    size_t first = unit, offset = 32;

    for (size_t i = 0; i < plan->npieces; i++) {
        scene->pieces[i] = (struct cgx_piece){
            .first = first, .count = plan->counts[i], .bits = plan->bits[i], .offset = offset};
        scene->elements = first + plan->counts[i];
        first = (scene->elements + unit - 1) / unit * unit + unit;
        offset += cgx_piece_layout(plan->counts[i], plan->bits[i], plan->coding.dtype).bytes +
                  (i % 2 ? 0 : 16);
    }
    scene->payload_bytes = (offset + 15) / 16 * 16;
    if (scene->elements > ELEMENTS || scene->payload_bytes + GUARD > PAYLOAD_BYTES)
        bail_out("a scene of %zu elements is too large", scene->elements);
}

void scene_all_widths(struct scene_plan *plan, unsigned i)
{
    for (unsigned p = 0; p < plan->npieces; p++) {
        unsigned bits = 1 + (p + i) % (unsigned)plan->npieces;

        plan->bits[p] = bits > 8 ? CGX_BITS_EXACT : bits;
        plan->counts[p] = (size_t)CGX_MAXMIN_BUCKET * (1 + (p + i) % 3);
    }
}

void scene_make(struct scene *scene, const struct scene_plan *plan)
{
    uint64_t state = plan->seed;
    size_t payloads = plan->nsources > 0 ? plan->nsources : 1;

    scene->plan = *plan;
    make_pieces(scene);
    memset(made, 0xAA, used_bytes(scene));
    for (size_t i = 0; i < payloads; i++) {
        struct cgx_coding coding = plan->coding;

        coding.stream += (uint32_t)i + 1;
        make_elements(scene, &state);
        if (cgx_codec_run(cgx_codec_host(),
                          &(struct cgx_work){CGX_ENCODE, &coding, scene->pieces, plan->npieces,
                                             .in = buffer_in(scene, made),
                                             .out = payload_in(made, i)}) != CGX_OK)
            bail_out("the host codec does not encode");
    }
    if (payloads > 1)
        make_elements(scene, &state);
}

/* ---- what the host codec does ---- */

static enum cgx_status run_on_host(const struct kernels_job *job)
{
    bool decodes = job->operation == CGX_DECODE;

    return cgx_codec_run(cgx_codec_host(),
                         &(struct cgx_work){job->operation, job->coding, job->pieces, job->npieces,
                                            job->sources, job->nsources,
                                            .in = decodes ? job->payload : job->buffer,
                                            .out = decodes ? job->buffer : job->payload});
}

/* ---- comparing ---- */

/* Makes equal what an operation that failed may have left different. */
static void forgive_destination(const struct scene *scene, const struct kernels_job *job)
{
    for (size_t i = 0; i < job->npieces; i++) {
        const struct cgx_piece *piece = &job->pieces[i];
        size_t bytes = piece->count * element_size(scene);
        size_t at = (size_t)(job->buffer - expected) + piece->first * element_size(scene);

        if (job->operation == CGX_REDUCE) {
            at = (size_t)(job->payload - expected) + piece->offset;
            bytes = cgx_piece_layout(piece->count, piece->bits, job->coding->dtype).bytes;
        }
        memcpy(expected + at, actual + at, bytes);
    }
}

static void tell_difference(const struct scene *scene, const struct kernels_job *job,
                            enum cgx_status wanted, enum cgx_status got)
{
    size_t bytes = used_bytes(scene), at = 0;

    while (at < bytes && expected[at] == actual[at])
        at++;
    diag("operation %d, %s, misalignment %zu, seed %llu: status %d for "
         "%d, byte %zu of %zu",
         job->operation, data_dtypes[job->coding->dtype], scene->plan.misalignment,
         (unsigned long long)scene->plan.seed, got, wanted, at, bytes);
    if (at == bytes)
        return;
    if (at < PAYLOADS)
        diag("element %zd of the buffer",
             ((ptrdiff_t)at - GUARD - (ptrdiff_t)scene->plan.misalignment) /
                 (ptrdiff_t)element_size(scene));
    else
        diag("byte %zu of payload %zu", (at - PAYLOADS) % PAYLOAD_BYTES,
             (at - PAYLOADS) / PAYLOAD_BYTES);
    for (size_t i = 0; i < scene->plan.npieces; i++)
        diag("piece %zu: %zu elements from %zu at %u bits, offset %zu", i, scene->pieces[i].count,
             scene->pieces[i].first, scene->pieces[i].bits, scene->pieces[i].offset);
}

static struct kernels_job job_in(const struct scene *scene, enum cgx_operation operation,
                                 unsigned char *memory, const unsigned char **sources)
{
    const struct scene_plan *plan = &scene->plan;
    struct kernels_job job = {.operation = operation,
                              .coding = &plan->coding,
                              .pieces = scene->pieces,
                              .npieces = plan->npieces,
                              .sources = sources,
                              .nsources = plan->nsources,
                              .buffer = buffer_in(scene, memory),
                              .payload = payload_in(memory, 0)};

    for (size_t i = 0; i < plan->nsources; i++)
        sources[i] = i == plan->buffer_source ? NULL : payload_in(memory, i);
    if (operation == CGX_REDUCE)
        job.payload = payload_in(memory, plan->own_source);
    return job;
}

bool scene_is_same(const struct scene *scene, enum cgx_operation operation)
{
    const unsigned char *sources[SCENE_SOURCES];
    size_t bytes = used_bytes(scene);
    struct kernels_job job = job_in(scene, operation, expected, sources);
    enum cgx_status wanted, got;
    bool same;

    memcpy(expected, made, bytes);
    memcpy(actual, made, bytes);
    wanted = run_on_host(&job);
    job = job_in(scene, operation, actual, sources);
    got = kernels_run(&job, actual, bytes);
    job = job_in(scene, operation, expected, sources);
    if (wanted == CGX_ERR_FORMAT && got == wanted)
        forgive_destination(scene, &job);
    last_status = got;
    same = got == wanted && memcmp(expected, actual, bytes) == 0;
    if (!same)
        tell_difference(scene, &job, wanted, got);
    return same;
}
