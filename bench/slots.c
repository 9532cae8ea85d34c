/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

#include "slots.h"

#include <stdlib.h>
#include <string.h>

#include "codec/encoding.h"
#include "codec/quant.h"
#include "codec/uniform/uniform.h"
#include "cuda/kernels.h"
#include "cuda/work.h"

#define TABLE_BYTES 256  /* the piece, then the sources */
#define TABLE_SOURCES 64 /* where the sources are in a table, behind the piece */

/* A long time on, so that histories are what they come to be. */
#define AGE 64

const char *const slots_operations[OPERATIONS] = {"encode", "decode", "reduce-8"};
static const enum cgx_operation operations[OPERATIONS] = {CGX_ENCODE, CGX_DECODE, CGX_REDUCE};

const struct slots_kind slots_kinds[SLOTS_KINDS] = {
    {"maxmin", CGX_FAMILY_MAXMIN, false},
    {"uniform", CGX_FAMILY_UNIFORM, false},
    {"uniform+history", CGX_FAMILY_UNIFORM, true},
};

/* What SLOT keeps, as the kernels are given it and as WORK, which says which kernel it is. */
static void keep(const struct slots *slots, unsigned slot, struct cgx_kernel_args *args,
                 struct cgx_work *work)
{
    void *at = (void *)(uintptr_t)(slots->kept + 2 * slot * slots->piece.count);

    if (slots->kind->has_history) {
        work->history = cgx_history_in(at, slots->piece.count, AGE);
        args->scales = work->history.scales;
        args->fits = work->history.fits;
        args->age = AGE;
    }
}

static CUdeviceptr payload_of(const struct slots *slots, unsigned slot, unsigned source)
{
    return slots->payloads + ((size_t)slot * (SOURCES + 1) + source) * slots->stride;
}

/* Whether it takes more than one kernel, as the library launches them. */
static bool launch_uniform(const struct slots *slots, const struct cgx_work *work,
                           struct cgx_kernel_args *args)
{
    struct cgx_cuda_work there = {
        .module = slots->module, .marks = slots->marks, .marks_are_clear = true};

    if (slots->kind->family != CGX_FAMILY_UNIFORM || work->operation == CGX_DECODE)
        return false;
    if (cgx_cuda_launch_uniform(&there, work, (uint32_t)cgx_kernel_tiles(&slots->piece), args) !=
        CGX_OK)
        bench_must(1, "cgx_cuda_launch_uniform");
    return true;
}

/* With what payloads, or sums of them, are encoded: the step of a sum is as much larger as it is.
 */
static struct cgx_coding coding_of(const struct slots *slots, enum operation operation)
{
    struct cgx_coding coding = slots->coding;

    coding.step_size *= operation == REDUCE ? SOURCES : 1;
    return coding;
}

void slots_launch(const struct slots *slots, enum operation operation, unsigned slot,
                  unsigned payload)
{
    const struct cgx_coding coding = coding_of(slots, operation);
    CUdeviceptr table = slots->tables + (size_t)slot * TABLE_BYTES;
    CUdeviceptr buffer =
        (operation == ENCODE ? slots->elements : slots->results) + slot * slots->bytes;
    struct cgx_kernel_args args = {
        .pieces = (const void *)(uintptr_t)table,
        .sources = (const void *)(uintptr_t)(table + TABLE_SOURCES),
        .buffer = (void *)(uintptr_t)buffer,
        .payload = (void *)(uintptr_t)payload_of(slots, slot, payload),
        .status = (void *)(uintptr_t)(slots->tables + (size_t)slots->count * TABLE_BYTES),
        .npieces = 1,
        .nsources = operation == REDUCE ? SOURCES : 0,
        .key = cgx_call_key(coding.call),
        .step_size = coding.step_size};
    struct cgx_work work = {.operation = operations[operation], .coding = &coding};
    void *parameters[] = {&args};
    CUfunction kernel;

    keep(slots, slot, &args, &work);
    if (launch_uniform(slots, &work, &args))
        return;
    kernel = cgx_cuda_module_kernel(slots->module, slots->kind->family, &work);
    bench_must(slots->device.cuda->cuLaunchKernel(kernel, (unsigned)cgx_kernel_tiles(&slots->piece),
                                                  1, 1, CGX_KERNEL_THREADS, 1, 1, 0, NULL,
                                                  parameters, NULL),
               "cuLaunchKernel");
}

#define VARIANCE (1.0 / 3) /* of elements */

/* Near enough to Gaussian gradients, the same in every MiB. */
static void fill_elements(const struct slots *slots)
{
    static unsigned char block[MIB];
    size_t size = cgx_dtype_size(slots->coding.dtype);
    uint64_t state = 1;

    for (size_t at = 0; at < MIB; at += size) {
        float sum = -2;
        uint16_t half;

        state = state * 6364136223846793005u + 1442695040888963407u;
        for (int k = 0; k < 4; k++)
            sum += (float)(state >> 16 * k & 0xFFFF) * 0x1p-16f;
        half = slots->coding.dtype == CGX_FLOAT16 ? cgx_to_float16(sum) : cgx_to_bfloat16(sum);
        memcpy(block + at, size == 4 ? (const void *)&sum : &half, size);
    }
    for (size_t at = 0; at < slots->count * slots->bytes; at += MIB)
        bench_must(slots->device.cuda->cuMemcpyHtoD(slots->elements + at, block, MIB),
                   "cuMemcpyHtoD");
}

static void fill_tables(const struct slots *slots)
{
    for (unsigned slot = 0; slot < slots->count; slot++) {
        const struct cgx_kernel_piece piece = {.count = slots->piece.count,
                                               .bits = slots->piece.bits};
        unsigned char table[TABLE_BYTES] = {0};

        memcpy(table, &piece, sizeof piece);
        for (unsigned source = 0; source < SOURCES; source++) {
            CUdeviceptr payload = payload_of(slots, slot, source);

            memcpy(table + TABLE_SOURCES + source * sizeof payload, &payload, sizeof payload);
        }
        bench_must(slots->device.cuda->cuMemcpyHtoD(slots->tables + (size_t)slot * TABLE_BYTES,
                                                    table, TABLE_BYTES),
                   "cuMemcpyHtoD");
    }
}

void slots_allocate(struct slots *slots)
{
    size_t count = slots->bytes / cgx_dtype_size(slots->coding.dtype);
    /* No other encoding takes more. */
    size_t stride =
        cgx_piece_layout(count, CGX_UNIFORM + CGX_UNIFORM_WIDTHS, slots->coding.dtype).bytes;

    slots->elements = bench_allocate(&slots->device, slots->count * slots->bytes);
    slots->results = bench_allocate(&slots->device, slots->count * slots->bytes);
    slots->payloads = bench_allocate(&slots->device, slots->count * (SOURCES + 1) * stride);
    slots->kept = bench_allocate(&slots->device, slots->count * 2 * count);
    slots->piece.count = count;
    slots->marks =
        bench_allocate(&slots->device, cgx_kernel_marks_bytes(cgx_kernel_tiles(&slots->piece)));
    slots->tables = bench_allocate(&slots->device, slots->count * TABLE_BYTES + sizeof(uint32_t));
    fill_elements(slots);
    bench_must(
        slots->device.copy(slots->results, slots->elements, slots->count * slots->bytes, NULL),
        "cuMemcpyDtoDAsync");
}

void slots_release(const struct slots *slots)
{
    slots->device.cuda->cuMemFree(slots->tables);
    slots->device.cuda->cuMemFree(slots->marks);
    slots->device.cuda->cuMemFree(slots->kept);
    slots->device.cuda->cuMemFree(slots->payloads);
    slots->device.cuda->cuMemFree(slots->results);
    slots->device.cuda->cuMemFree(slots->elements);
}

void slots_encode(struct slots *slots, unsigned width)
{
    slots->width = width;
    slots->coding.step_size = cgx_uniform_step(VARIANCE, 1, cgx_uniform_error(width));
    slots->piece.bits = cgx_quantisers[slots->kind->family].first + width;
    slots->stride =
        cgx_piece_layout(slots->piece.count, slots->piece.bits, slots->coding.dtype).bytes;
    bench_must(slots->device.cuda->cuMemsetD8Async(slots->kept, 0,
                                                   slots->count * 2 * slots->piece.count, NULL),
               "cuMemsetD8Async");
    fill_tables(slots);
    for (unsigned slot = 0; slot < slots->count; slot++)
        for (unsigned source = 0; source <= SOURCES; source++)
            slots_launch(slots, ENCODE, slot, source);
}

size_t slots_used(const struct slots *slots, unsigned source)
{
    CUdeviceptr payload = payload_of(slots, slots->count - 1, source);
    unsigned char head[sizeof(struct cgx_uniform_head)];

    if (slots->kind->family != CGX_FAMILY_UNIFORM)
        return slots->stride;
    bench_must(slots->device.cuda->cuMemcpyDtoH(head, payload, sizeof head), "cuMemcpyDtoH");
    return cgx_uniform_used(head, slots->piece.count);
}

/* ---- are results right? ---- */

/* Whether BYTES at AT are as EXPECTED. */
static bool holds(const struct slots *slots, CUdeviceptr at, const void *expected, size_t bytes)
{
    void *found = malloc(bytes);
    bool same;

    bench_must(found != NULL ? slots->device.cuda->cuMemcpyDtoH(found, at, bytes)
                             : CUDA_ERROR_OUT_OF_MEMORY,
               "cuMemcpyDtoH");
    same = found && bytes > 0 && memcmp(found, expected, bytes) == 0;
    free(found);
    return same;
}

/* The first operation that gives others than ELEMENTS, PAYLOAD and SUM, which the host codec makes
 * of the elements. */
static const char *compare(const struct slots *slots, unsigned char *elements,
                           unsigned char *payload, unsigned char *sum)
{
    const struct cgx_codec *host = cgx_codec_host();
    const struct cgx_coding coding = coding_of(slots, ENCODE), summed = coding_of(slots, REDUCE);
    unsigned last = slots->count - 1;
    const unsigned char *sources[SOURCES];
    const uint32_t fine = 0;

    for (int i = 0; i < SOURCES; i++)
        sources[i] = payload;
    bench_must(slots->device.cuda->cuMemcpyDtoH(elements, slots->elements + last * slots->bytes,
                                                slots->bytes),
               "cuMemcpyDtoH");
    cgx_codec_run(host, &(struct cgx_work){CGX_ENCODE, &coding, &slots->piece, 1, .in = elements,
                                           .out = payload});
    cgx_codec_run(host, &(struct cgx_work){CGX_DECODE, &coding, &slots->piece, 1, .in = payload,
                                           .out = elements});
    cgx_codec_run(host, &(struct cgx_work){CGX_REDUCE, &summed, &slots->piece, 1, sources, SOURCES,
                                           .in = NULL, .out = sum});
    if (!holds(slots, payload_of(slots, last, 0), payload, slots_used(slots, 0)))
        return slots_operations[ENCODE];
    if (!holds(slots, slots->results + last * slots->bytes, elements, slots->bytes))
        return slots_operations[DECODE];
    if (!holds(slots, payload_of(slots, last, SOURCES), sum, slots_used(slots, SOURCES)) ||
        !holds(slots, slots->tables + slots->count * TABLE_BYTES, &fine, sizeof fine))
        return slots_operations[REDUCE];
    return NULL;
}

const char *slots_find_wrong(const struct slots *slots)
{
    unsigned char *elements = malloc(slots->bytes), *payload = aligned_alloc(16, slots->stride),
                  *sum = aligned_alloc(16, slots->stride);
    const char *wrong = "no memory to check";

    for (int operation = 0; operation < OPERATIONS; operation++)
        slots_launch(slots, (enum operation)operation, slots->count - 1,
                     operation == REDUCE ? SOURCES : 0);
    if (elements != NULL && payload != NULL && sum != NULL)
        wrong = compare(slots, elements, payload, sum);
    free(sum);
    free(payload);
    free(elements);
    return wrong;
}
