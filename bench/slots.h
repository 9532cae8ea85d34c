/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

/* The kernels with data to work on: several slots of the same, used in turn, so that little of what
 * a kernel reads is in the cache. */
#ifndef BENCH_SLOTS_H
#define BENCH_SLOTS_H

#include "codec/codec.h"
#include "cuda/module.h"
#include "device.h"

#define MIB ((size_t)1 << 20)
#define SOURCES 8

enum operation { ENCODE, DECODE, REDUCE, OPERATIONS };

/* Which kernels: those of a family, with a history or without. */
struct slots_kind {
    const char *name;
    enum cgx_family family;
    bool has_history;
};
#define SLOTS_KINDS 3
extern const struct slots_kind slots_kinds[SLOTS_KINDS];

/* One type, width and size. Each slot has elements, results, payloads and a table of its own. */
struct slots {
    struct bench_device device;
    struct cgx_cuda_module *module;
    const struct slots_kind *kind;
    struct cgx_coding coding;
    struct cgx_piece piece;
    unsigned width; /* of the piece */
    size_t bytes;   /* of the elements of a slot, a multiple of a MiB */
    size_t stride;  /* of payloads, of which a slot has SOURCES + 1, the result last */
    unsigned count;
    CUdeviceptr elements, results, payloads;
    CUdeviceptr kept;   /* history of each slot, two bytes for each element */
    CUdeviceptr marks;  /* of uniform quantisation, for one operation at a time */
    CUdeviceptr tables; /* and behind them the status word */
};

/* Gets memory and fills it, for slots of the BYTES, type and COUNT that are set, and all widths. */
void slots_allocate(struct slots *slots);
void slots_release(const struct slots *slots);

/* All payloads are then those of WIDTH, and what is kept is as from such calls before. */
void slots_encode(struct slots *slots, unsigned width);

/* The bytes that payload SOURCE uses of those that it may. */
size_t slots_used(const struct slots *slots, unsigned source);

/* Queues OPERATION, with payload PAYLOAD, on the legacy default stream. Encode reads elements,
 * decode writes results, reduce sums all payloads but the last. */
void slots_launch(const struct slots *slots, enum operation operation, unsigned slot,
                  unsigned payload);

/* Carries out encode, decode and reduce, of a kind that keeps nothing, on the last slot, and
 * compares what they give with the host codec's bytes: NULL, or the name of the first operation
 * that gives others. Results are overwritten. */
const char *slots_find_wrong(const struct slots *slots);

extern const char *const slots_operations[OPERATIONS];

#endif
