/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

/* Uniform pieces that kernels and the host codec make in equal memory. */
#ifndef CGX_TESTS_UNIFORM_SCENE_H
#define CGX_TESTS_UNIFORM_SCENE_H

#include <math.h>
#include <string.h>

#include "codec/encoding.h"
#include "lib/tap.h"
#include "unit/lib/codec_data.h"
#include "unit/lib/kernels.h"

enum { PIECES = 3, MOST_SOURCES = 35, ELEMENTS = 40 * 4096 };
enum { GUARD = 256, PAYLOAD_BYTES = 1 << 19 };
enum { BUFFER_BYTES = ELEMENTS * 4 + GUARD, HISTORY_BYTES = ELEMENTS + ELEMENTS / 128 };
enum { PAYLOADS = BUFFER_BYTES + HISTORY_BYTES };
enum { MEMORY_BYTES = PAYLOADS + 6 * PAYLOAD_BYTES };

/* The buffer, its history, and as many payloads as the job needs. */
static unsigned char made[MEMORY_BYTES] __attribute__((aligned(256)));
static unsigned char expected[MEMORY_BYTES] __attribute__((aligned(256)));
static unsigned char actual[MEMORY_BYTES] __attribute__((aligned(256)));
static float values[ELEMENTS];

struct plan {
    struct cgx_coding coding;
    unsigned encoding;
    size_t counts[PIECES];
    size_t misalignment; /* of the buffer */
    size_t nsources;
    size_t elements; /* which source is the buffer; NSOURCES: none */
    bool has_history, shows;
    uint64_t seed;
    /* Computed: */
    struct cgx_piece pieces[PIECES];
    size_t each;  /* bytes of a payload */
    size_t bytes; /* of memory that the job takes */
};

static unsigned char *payload_in(const struct plan *plan, unsigned char *memory, size_t number)
{
    return memory + PAYLOADS + number * plan->each;
}

static unsigned char *buffer_in(const struct plan *plan, unsigned char *memory)
{
    return memory + GUARD / 2 + plan->misalignment;
}

static void lay_out(struct plan *plan)
{
    size_t first = 2048, offset = 32;

    for (size_t i = 0; i < PIECES; i++) {
        plan->pieces[i] = (struct cgx_piece){
            .first = first, .count = plan->counts[i], .bits = plan->encoding, .offset = offset};
        first += (plan->counts[i] + 1023) / 1024 * 1024;
        offset += cgx_piece_layout(plan->counts[i], plan->encoding, 0).bytes + 16;
    }
    plan->each = (offset + 255) / 256 * 256;
    plan->bytes = PAYLOADS + (plan->nsources + 2) * plan->each;
    if (first > ELEMENTS || plan->bytes > MEMORY_BYTES)
        bail_out("%zu elements, %zu bytes are too many", first, plan->bytes);
}

/* Which elements are zeros in all sources: in one of three blocks few, many, or all. */
static bool is_zero(const struct plan *plan, size_t i)
{
    static const uint32_t shares[] = {1, 10, 64, 128, 200, 250, 256};
    const uint32_t block = cgx_mix((uint32_t)plan->seed * 77 + (uint32_t)(i / 64));

    return block % 3 == 0 && (cgx_mix((uint32_t)i * 31 + block) & 255) < shares[block / 3 % 7];
}

/* Blocks of many kinds: of all scales, with codes that are too large, of zeros, not finite. */
static void fill(const struct plan *plan, uint64_t *state)
{
    double scale = 1;

    for (size_t i = 0; i < ELEMENTS; i++) {
        static unsigned what;

        if (i % 64 == 0) {
            scale = exp(data_gaussian(state) * (double)(plan->seed % 4));
            what = (unsigned)(data_random(state) % 24);
        }
        values[i] = (float)(data_gaussian(state) * scale);
        if (is_zero(plan, i))
            values[i] = i % 2 ? 0.0f : -0.0f;
        else if (what == 1)
            values[i] *= 0x1p-20f;
        else if (what == 4) /* few levels, and codes of 16 bits */
            values[i] *= i % 64 == plan->seed % 64 ? 100 : 0.1f;
        else if (what == 5)
            values[i] *= 0x1p9f;
        else if (what == 2 && i % 64 == plan->seed % 64 && plan->seed % 3 == 0)
            values[i] = plan->seed % 2 ? cgx_bits_float(0xFFC12345) : -INFINITY;
        else if (what == 3 && i % 4 == 3 && plan->seed % 5 == 0) /* a raw block, with -0 */
            values[i] = i % 64 == 7 ? 0x1.8p100f : -0.0f;
    }
    if (plan->seed % 7 == 0) /* so many that steps are doubled and groups are poisoned */
        for (size_t i = 0; i < ELEMENTS; i += 64)
            values[i] = i / 64 % 3 ? INFINITY : 1000.0f * (float)(i / 4096);
    cgx_codec_host()->kernels.narrow[plan->coding.dtype](values, ELEMENTS - 64,
                                                         buffer_in(plan, made));
}

static struct cgx_history history_in(const struct plan *plan, unsigned char *memory)
{
    if (!plan->has_history)
        return (struct cgx_history){0};
    return (struct cgx_history){.scales = memory + BUFFER_BYTES,
                                .fits = (float *)(void *)(memory + BUFFER_BYTES + ELEMENTS),
                                .age = plan->seed % 2 ? 3 : 40};
}

static void make_history(const struct plan *plan, uint64_t *state)
{
    struct cgx_history history = history_in(plan, made);

    for (size_t i = 0; plan->has_history && i < ELEMENTS; i++) {
        float *fit = &history.fits[i / CGX_BUCKET_MOST];

        if (i % CGX_BUCKET_MOST == 0)
            *fit = data_random(state) % 4 ? 1 : 0;
        history.scales[i] = *fit > 0 ? (uint8_t)data_random(state) : 0;
    }
    for (size_t i = 0; plan->has_history && i < PIECES; i++) {
        size_t end = plan->pieces[i].first + plan->pieces[i].count;

        memset(history.scales + end, 0, (1024 - end % 1024) % 1024);
    }
}

/* Sources are encoded by the host, as divided elements if there is history. */
static void make(struct plan *plan)
{
    uint64_t state = plan->seed * 1000003 + plan->encoding;

    lay_out(plan);
    memset(made, 0xAA, plan->bytes);
    make_history(plan, &state);
    for (size_t i = 0; i < plan->nsources; i++) {
        struct cgx_coding coding = plan->coding;
        struct cgx_work work = {CGX_ENCODE,
                                &coding,
                                plan->pieces,
                                PIECES,
                                .in = buffer_in(plan, made),
                                .out = payload_in(plan, made, i),
                                .history = history_in(plan, made)};

        fill(plan, &state);
        coding.stream += (uint32_t)i + 1;
        coding.step_size *= (float)(1 + i % 3);
        if (cgx_codec_run(cgx_codec_host(), &work) != CGX_OK)
            bail_out("the host codec does not encode");
    }
    fill(plan, &state);
}

static struct kernels_job job_in(const struct plan *plan, enum cgx_operation operation,
                                 unsigned char *memory, const unsigned char **sources)
{
    struct kernels_job job = {.operation = operation,
                              .coding = &plan->coding,
                              .pieces = plan->pieces,
                              .npieces = PIECES,
                              .sources = sources,
                              .buffer = buffer_in(plan, memory),
                              .history = history_in(plan, memory),
                              .payload = payload_in(plan, memory, plan->nsources)};

    if (operation == CGX_DECODE)
        job.payload = payload_in(plan, memory, 0);
    else if (plan->shows)
        job.shown = payload_in(plan, memory, plan->nsources + 1);
    if (operation == CGX_REDUCE)
        job.nsources = plan->nsources;
    for (size_t i = 0; i < plan->nsources; i++)
        sources[i] = i == plan->elements ? NULL : payload_in(plan, memory, i);
    return job;
}

static enum cgx_status run_on_host(const struct kernels_job *job)
{
    bool decodes = job->operation == CGX_DECODE;

    return cgx_codec_run(cgx_codec_host(),
                         &(struct cgx_work){job->operation, job->coding, job->pieces, job->npieces,
                                            job->sources, job->nsources, .history = job->history,
                                            .in = decodes ? job->payload : job->buffer,
                                            .out = decodes ? job->buffer : job->payload});
}

/* Copies what kernels show from the payload to where the host looks. */
static void show(const struct plan *plan, const struct kernels_job *job)
{
    for (size_t i = 0; i < PIECES; i++) {
        const struct cgx_piece *piece = &plan->pieces[i];

        memcpy(job->shown + piece->offset, job->payload + piece->offset,
               cgx_uniform_bytes(piece->count));
    }
}

/* Kinds of blocks that encoders have written, a bit for each: of inputs and of sums. */
static unsigned seen[2];

static void note_kinds(const struct plan *plan, enum cgx_operation operation,
                       const unsigned char *payload)
{
    for (size_t i = 0; i < PIECES; i++) {
        struct cgx_uniform_layout layout = cgx_uniform_layout_of(plan->counts[i]);

        for (size_t b = 0; b * CGX_UNIFORM_BLOCK < plan->counts[i]; b++)
            seen[operation == CGX_REDUCE] |=
                1u << (payload[plan->pieces[i].offset + layout.kinds + b / 2] >> b % 2 * 4 & 15);
    }
}

static bool is_same(const struct plan *plan, enum cgx_operation operation, enum cgx_status wanted)
{
    const unsigned char *sources[MOST_SOURCES];
    struct kernels_job job = job_in(plan, operation, expected, sources), other;
    enum cgx_status host, device;
    size_t at = 0;

    memcpy(expected, made, plan->bytes);
    memcpy(actual, made, plan->bytes);
    host = run_on_host(&job);
    other = job_in(plan, operation, actual, sources);
    device = kernels_run(&other, actual, plan->bytes);
    if (host != CGX_OK || device != CGX_OK) {
        if (host != wanted || device != wanted)
            diag("status %d on the host, %d", host, device);
        return host == wanted && device == wanted;
    }
    if (operation != CGX_DECODE) {
        note_kinds(plan, operation, job.payload);
        kernels_clear_unused(plan->pieces, PIECES, job.payload);
        kernels_clear_unused(plan->pieces, PIECES, other.payload);
    }
    if (job.shown) {
        show(plan, &job);
        kernels_clear_unused(plan->pieces, PIECES, other.shown);
    }
    while (at < plan->bytes && expected[at] == actual[at])
        at++;
    if (at < plan->bytes)
        diag("operation %d, %s, encoding %u, seed %llu: byte %zu%s", operation,
             data_dtypes[plan->coding.dtype], plan->encoding, (unsigned long long)plan->seed,
             at < PAYLOADS ? at : (at - PAYLOADS) % plan->each,
             at < PAYLOADS ? " of the buffer or history" : " of a payload");
    return at == plan->bytes && wanted == CGX_OK;
}

static struct plan plan_of(unsigned i, enum cgx_dtype dtype)
{
    static const size_t misalignments[] = {0, 4, 2, 1, 8, 3};
    static const size_t counts[][PIECES] = {
        {1024, 4096, 63}, {5000, 1024, 64 * 17}, {2048, 1024, 1}, {9 * 1024, 4096, 4096 + 65}};
    static const float steps[] = {0, 0.5f, 0.06f, 1.3f, 0.01f}, floors[] = {0, 0.25f, 0.01f};
    struct plan plan = {.coding = {.dtype = dtype,
                                   .call = i,
                                   .turn = 250 + i,
                                   .stage = i % 4,
                                   .stream = 4,
                                   .step_size = steps[i % 5],
                                   .error = ldexpf(1, -2 - (int)(i % 15)),
                                   .floor = floors[i % 3]},
                        .encoding = CGX_UNIFORM + 1 + i % CGX_UNIFORM_WIDTHS,
                        .misalignment = misalignments[i % 6],
                        .nsources = 1 + i % 4,
                        .shows = i % 2,
                        .seed = i};

    memcpy(plan.counts, counts[i % 4], sizeof plan.counts);
    plan.counts[0] = (plan.counts[0] + 1023) / 1024 * 1024;
    plan.counts[1] = (plan.counts[1] + 1023) / 1024 * 1024;
    plan.elements = i % 5 < plan.nsources ? i % 5 : plan.nsources;
    return plan;
}

#endif
