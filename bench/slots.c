/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

#include "slots.h"

#include <stdlib.h>
#include <string.h>

#include "codec/quant.h"
#include "cuda/kernels.h"

#define TABLE_BYTES 256  /* the piece, then the sources */
#define TABLE_SOURCES 64 /* where those are */

static const enum cgx_kernel kernels[OPERATIONS] = {CGX_KERNEL_ENCODE, CGX_KERNEL_DECODE,
                                                    CGX_KERNEL_DECODE_ADD, CGX_KERNEL_REDUCE};

static CUdeviceptr payload_of(const struct slots *slots, unsigned slot, unsigned source)
{
    return slots->payloads + ((size_t)slot * (SOURCES + 1) + source) * slots->stride;
}

void slots_launch(const struct slots *slots, enum operation operation, unsigned slot,
                  unsigned payload)
{
    bool reads = operation == ENCODE;
    CUdeviceptr table = slots->tables + (size_t)slot * TABLE_BYTES;
    CUdeviceptr buffer = (reads ? slots->elements : slots->results) + slot * slots->bytes;
    struct cgx_kernel_args args = {
        .pieces = (const void *)(uintptr_t)table,
        .sources = (const void *)(uintptr_t)(table + TABLE_SOURCES),
        .buffer = (void *)(uintptr_t)buffer,
        .payload = (void *)(uintptr_t)payload_of(slots, slot, payload),
        .status = (void *)(uintptr_t)(slots->tables + (size_t)slots->count * TABLE_BYTES),
        .npieces = 1,
        .nsources = operation == REDUCE ? SOURCES : 0,
        .bucket_size = BUCKET_SIZE};
    unsigned tiles = (unsigned)((slots->piece.count + CGX_KERNEL_TILE - 1) / CGX_KERNEL_TILE);
    void *parameters[] = {&args};

    bench_must(slots->device.cuda->cuLaunchKernel(
                   slots->module.kernels[kernels[operation]][slots->coding.dtype], tiles, 1, 1,
                   CGX_KERNEL_THREADS, 1, 1, 0, NULL, parameters, NULL),
               "cuLaunchKernel");
}

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

bool slots_are_right(const struct slots *slots)
{
    const struct cgx_cuda *cuda = slots->device.cuda;
    const struct cgx_codec *host = cgx_codec_host();
    unsigned char *elements = malloc(slots->bytes), *payload = aligned_alloc(16, slots->stride);
    unsigned char *found = malloc(slots->stride);
    const unsigned char *sources[SOURCES];
    unsigned slot = slots->count - 1;
    uint32_t status = 0;
    bool right = elements != NULL && payload != NULL && found != NULL;

    for (int i = 0; i < SOURCES; i++)
        sources[i] = payload;
    if (right) {
        slots_launch(slots, REDUCE, slot, SOURCES);
        bench_must(
            cuda->cuMemcpyDtoH(elements, slots->elements + slot * slots->bytes, slots->bytes),
            "cuMemcpyDtoH");
        bench_must(cuda->cuMemcpyDtoH(found, payload_of(slots, slot, SOURCES), slots->stride),
                   "cuMemcpyDtoH");
        bench_must(cuda->cuMemcpyDtoH(&status, slots->tables + (size_t)slots->count * TABLE_BYTES,
                                      sizeof status),
                   "cuMemcpyDtoH");
        host->encode(&slots->coding, &slots->piece, 1, elements, payload);
        host->reduce(&slots->coding, &slots->piece, 1, sources, SOURCES, NULL, payload);
        right = status == 0 && memcmp(found, payload, slots->stride) == 0;
    }
    free(elements);
    free(payload);
    free(found);
    return right;
}

void slots_allocate(struct slots *slots)
{
    size_t count = slots->bytes / cgx_dtype_size(slots->coding.dtype);
    /* 8 bits take most. */
    size_t stride = cgx_piece_layout(count, 8, BUCKET_SIZE, slots->coding.dtype).bytes;
    uint32_t none = 0;

    slots->elements = bench_allocate(&slots->device, slots->count * slots->bytes);
    slots->results = bench_allocate(&slots->device, slots->count * slots->bytes);
    slots->payloads = bench_allocate(&slots->device, slots->count * (SOURCES + 1) * stride);
    slots->tables = bench_allocate(&slots->device, slots->count * TABLE_BYTES + sizeof none);
    bench_must(slots->device.cuda->cuMemcpyHtoD(slots->tables + slots->count * TABLE_BYTES, &none,
                                                sizeof none),
               "cuMemcpyHtoD");
    slots->piece.count = count;
    fill_elements(slots);
    bench_must(
        slots->device.copy(slots->results, slots->elements, slots->count * slots->bytes, NULL),
        "cuMemcpyDtoDAsync");
}

void slots_release(const struct slots *slots)
{
    slots->device.cuda->cuMemFree(slots->tables);
    slots->device.cuda->cuMemFree(slots->payloads);
    slots->device.cuda->cuMemFree(slots->results);
    slots->device.cuda->cuMemFree(slots->elements);
}

void slots_encode(struct slots *slots, unsigned bits)
{
    slots->piece.bits = bits;
    slots->stride =
        cgx_piece_layout(slots->piece.count, bits, BUCKET_SIZE, slots->coding.dtype).bytes;
    fill_tables(slots);
    for (unsigned slot = 0; slot < slots->count; slot++)
        for (unsigned source = 0; source <= SOURCES; source++)
            slots_launch(slots, ENCODE, slot, source);
}
