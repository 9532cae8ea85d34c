/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

#include <stdlib.h>
#include <string.h>

#include "slots.h"

const char *const slots_operations[OPERATIONS] = {"encode", "decode", "reduce-8"};

/* Of one slot, in host memory. */
struct check {
    const struct slots *slots;
    unsigned char *elements, *found, *results; /* as the elements of a slot */
    unsigned char *payload, *sum, *got;        /* as its payloads */
};

static void bring(const struct check *check, void *to, CUdeviceptr from, size_t bytes)
{
    bench_must(check->slots->device.cuda->cuMemcpyDtoH(to, from, bytes), "cuMemcpyDtoH");
}

/* What the host codec makes of the elements. */
static void expect(const struct check *check, enum operation operation)
{
    const struct cgx_codec *host = cgx_codec_host();
    const struct slots *slots = check->slots;
    const struct cgx_coding coding = slots_coding(slots, operation);
    const unsigned char *sources[SOURCES];

    for (int i = 0; i < SOURCES; i++)
        sources[i] = check->payload;
    if (operation == ENCODE)
        cgx_codec_run(host, &(struct cgx_work){CGX_ENCODE, &coding, &slots->piece, 1,
                                               .in = check->elements, .out = check->payload});
    else if (operation == DECODE)
        cgx_codec_run(host, &(struct cgx_work){CGX_DECODE, &coding, &slots->piece, 1,
                                               .in = check->payload, .out = check->results});
    else
        cgx_codec_run(host, &(struct cgx_work){CGX_REDUCE, &coding, &slots->piece, 1, sources,
                                               SOURCES, .in = NULL, .out = check->sum});
}

static bool is_right(const struct check *check, enum operation operation)
{
    const struct slots *slots = check->slots;
    unsigned slot = slots->count - 1, payload = operation == REDUCE ? SOURCES : 0;
    CUdeviceptr results = slots->results + slot * slots->bytes;
    size_t used;

    slots_launch(slots, operation, slot, payload);
    expect(check, operation);
    if (operation == DECODE) {
        bring(check, check->found, results, slots->bytes);
        return memcmp(check->found, check->results, slots->bytes) == 0;
    }
    used = slots_used(slots, payload);
    bring(check, check->got, slots_payload(slots, slot, payload), used);
    return used > 0 &&
           memcmp(check->got, operation == REDUCE ? check->sum : check->payload, used) == 0;
}

static const char *find_wrong(const struct check *check)
{
    const struct slots *slots = check->slots;
    uint32_t status = 0;

    bring(check, check->elements, slots->elements + (slots->count - 1) * slots->bytes,
          slots->bytes);
    for (int operation = 0; operation < OPERATIONS; operation++) {
        if (!is_right(check, (enum operation)operation))
            return slots_operations[operation];
        bring(check, &status, slots->tables + (size_t)slots->count * SLOTS_TABLE_BYTES,
              sizeof status);
        if (status != 0)
            return slots_operations[operation];
    }
    return NULL;
}

const char *slots_find_wrong(const struct slots *slots)
{
    size_t bytes = slots->bytes, stride = slots->stride;
    const struct check check = {.slots = slots,
                                .elements = malloc(bytes),
                                .found = malloc(bytes),
                                .results = malloc(bytes),
                                .payload = aligned_alloc(16, stride),
                                .sum = aligned_alloc(16, stride),
                                .got = aligned_alloc(16, stride)};
    const char *wrong = "no memory to check";

    if (check.elements && check.found && check.results && check.payload && check.sum && check.got)
        wrong = find_wrong(&check);
    free(check.got);
    free(check.sum);
    free(check.payload);
    free(check.results);
    free(check.found);
    free(check.elements);
    return wrong;
}
