/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

#include "pmpi/guard.h"

#include <stdlib.h>
#include <string.h>

#include "codec/bucket.h"
#include "cuda/memory.h"
#include "cuda/pinned_pool.h"
#include "mpi/config.h"
#include "pmpi/eligible.h"
#include "pmpi/exact.h"
#include "util/float_state.h"
#include "util/integers.h"

/* A buffer of the call. COPY: its sampled buckets, one behind the other; NULL: they are read where
 * they are. */
struct buffer {
    const struct cgx_pointer *where;
    const char *at;
    char *copy;
};

/* A sample of COUNT buckets, one from each group of GROUP buckets. Its place differs from group to
 * group, so that rows of a matrix do not alias. */
struct sample {
    enum cgx_dtype dtype;
    size_t elements; /* of the call */
    size_t bucket_size, count, group;
    uint32_t places;
    bool in_place; /* the sum is written over the input */
    struct buffer sum, input;
    const struct cgx_pointer *device; /* whose pinned memory MEMORY is; NULL: from malloc */
    void *memory;                     /* the copies, and then one bucket each of: */
    float *sums, *inputs;
};

static bool is_on_host(const struct cgx_pointer *buffer)
{
    return buffer->memory == CGX_MEMORY_HOST;
}

static size_t first_of(const struct sample *sample, size_t index)
{
    size_t place = (index * 37 + (size_t)sample->places * 11) % sample->group;

    return (index * sample->group + place) * sample->bucket_size;
}

/* The elements of a sampled bucket; only that of a call without a whole bucket has fewer. */
static size_t count_of(const struct sample *sample)
{
    return cgx_smaller(sample->elements, sample->bucket_size);
}

static struct cgx_picked runs_of(const struct sample *sample, const size_t *offsets)
{
    return (struct cgx_picked){.offsets = offsets,
                               .size = count_of(sample) * cgx_dtype_size(sample->dtype),
                               .count = sample->count};
}

/* Copies sampled buckets one by one. */
static bool copy_each(const struct buffer *buffer, const struct cgx_picked *runs)
{
    bool on_host = is_on_host(buffer->where), ok = true;

    for (size_t i = 0; ok && i < runs->count; i++) {
        char *to = buffer->copy + i * runs->size;
        const char *from = buffer->at + runs->offsets[i];

        if (on_host)
            memcpy(to, from, runs->size);
        else
            ok = cgx_pinned_fetch(buffer->where, to, from, runs->size) == CGX_OK;
    }
    return ok;
}

/* Copies the sampled buckets of BUFFER, if they are not read where they are. Managed memory may be
 * on the host, from where a kernel would fetch whole pages. */
static bool copy(const struct sample *sample, const struct buffer *buffer, bool may_load)
{
    size_t offsets[CGX_GUARD_MOST];
    struct cgx_picked runs = runs_of(sample, offsets);

    if (!buffer->copy)
        return true;
    runs.at = (size_t)(buffer->copy - (char *)sample->memory);
    for (size_t i = 0; i < runs.count; i++)
        offsets[i] = first_of(sample, i) * cgx_dtype_size(sample->dtype);
    return (buffer->where->memory == CGX_MEMORY_DEVICE && runs.count > 1 &&
            cgx_pinned_pick(buffer->where, sample->memory, buffer->at, &runs, may_load) ==
                CGX_OK) ||
           copy_each(buffer, &runs);
}

/* ---- memory ---- */

static bool get_memory(struct sample *sample)
{
    const struct cgx_picked runs = runs_of(sample, NULL);
    const size_t values = sample->bucket_size * sizeof(float);
    bool copies_input = sample->in_place || !is_on_host(sample->input.where);
    bool copies_sum = !is_on_host(sample->sum.where);
    size_t input = copies_input ? cgx_picked_bytes(&runs) : 0;
    size_t copies = input + (copies_sum ? cgx_picked_bytes(&runs) : 0), bytes = copies + 2 * values;

    sample->device = copies_sum                         ? sample->sum.where
                     : !is_on_host(sample->input.where) ? sample->input.where
                                                        : NULL;
    if (!sample->device)
        sample->memory = malloc(bytes);
    else if (cgx_pinned_take(sample->device, bytes, &sample->memory) != CGX_OK)
        return false;
    if (!sample->memory)
        return false;
    sample->input.copy = copies_input ? sample->memory : NULL;
    sample->sum.copy = copies_sum ? (char *)sample->memory + input : NULL;
    sample->sums = (float *)(void *)((char *)sample->memory + copies);
    sample->inputs = sample->sums + sample->bucket_size;
    return true;
}

static void free_memory(const struct sample *sample)
{
    if (!sample->memory || !sample->device)
        free(sample->memory);
    else
        cgx_pinned_give(sample->device, sample->memory);
}

/* ---- sampling ---- */

static size_t at_least_one(size_t value)
{
    return value > 0 ? value : 1;
}

/* Enters a device buffer's context once for many calls of the driver. True: it must be left. */
static bool enter(const struct buffer *buffer)
{
    return !is_on_host(buffer->where) && cgx_cuda_enter(buffer->where) == CGX_OK;
}

/* Copies the sampled input, which the sum will overwrite. No kernels are loaded for it: that may
 * wait for work of the program which itself waits for a rank that is in this call already. */
static bool copy_input(struct sample *sample)
{
    bool entered = enter(&sample->input);
    bool ok = get_memory(sample) && copy(sample, &sample->input, false);

    if (entered)
        cgx_cuda_leave();
    return ok;
}

/* Prepares SAMPLE. False if nothing can be said of this call; MPI reports wrong arguments. */
static bool begin(const struct cgx_call *call, const struct cgx_guard *guard, struct sample *sample)
{
    size_t most, buckets, size = cgx_config()->bucket_size;
    const struct cgx_capability capability = cgx_eligible_capability(call);

    *sample = (struct sample){.dtype = guard->dtype,
                              .elements = (size_t)call->count,
                              .bucket_size = size,
                              .places = guard->places,
                              .in_place = capability.in_place,
                              .sum = {.where = &call->receive, .at = call->recvbuf},
                              .input = {.where = &call->send, .at = call->sendbuf}};
    if (capability.refusal)
        return false;
    if (sample->in_place)
        sample->input = sample->sum;
    most = is_on_host(&call->receive) && is_on_host(&call->send) ? CGX_GUARD_MOST
                                                                 : CGX_GUARD_MOST_DEVICE;
    buckets = sample->elements / size;
    sample->count = cgx_smaller(cgx_larger(buckets / CGX_GUARD_GROUP, CGX_GUARD_LEAST), most);
    sample->count = at_least_one(cgx_smaller(sample->count, buckets));
    sample->group = at_least_one(buckets / sample->count);
    return !sample->in_place || copy_input(sample);
}

/* Widens bucket INDEX of the sample of BUFFER. */
static void widen(const struct sample *sample, const struct buffer *buffer, size_t index,
                  float *values)
{
    size_t size = cgx_dtype_size(sample->dtype), count = count_of(sample);
    const char *bucket = buffer->copy ? buffer->copy + index * count * size
                                      : buffer->at + first_of(sample, index) * size;

    cgx_peek_elements(sample->dtype, bucket, count, values);
}

static bool copy_rest(struct sample *sample)
{
    bool entered = enter(&sample->sum);
    bool ok = (sample->memory || get_memory(sample)) && copy(sample, &sample->sum, true) &&
              (sample->in_place || copy(sample, &sample->input, true));

    if (entered)
        cgx_cuda_leave();
    return ok;
}

/* Reads the sample of sum and input. False if it cannot be read. */
static bool read_sample(struct sample *sample, unsigned ranks, struct cgx_closeness *closeness,
                        struct cgx_taking *taking)
{
    size_t count = count_of(sample);

    if (!copy_rest(sample))
        return false;
    for (size_t i = 0; i < sample->count; i++) {
        widen(sample, &sample->sum, i, sample->sums);
        if (cgx_recent_wants(taking))
            cgx_recent_take(taking, sample->sums, count, 0);
        widen(sample, &sample->input, i, sample->inputs);
        cgx_closeness_add(closeness, sample->inputs, sample->sums, count, ranks);
    }
    return true;
}

int cgx_guard_exact(const struct cgx_call *call, enum cgx_reason reason,
                    const struct cgx_guard *guard, uint32_t words[CGX_CONSENSUS_WORDS])
{
    struct cgx_closeness closeness = {.threshold = guard->threshold};
    struct cgx_taking taking;
    struct cgx_change change;
    union cgx_float_state caller;
    struct sample sample;
    bool can = begin(call, guard, &sample), sampled;
    int code = cgx_exact(call, reason);

    memset(words, 0, CGX_CONSENSUS_WORDS * sizeof words[0]);
    cgx_float_enter(&caller);
    taking = cgx_recent_begin(guard->recent, guard->places, sample.count);
    sampled =
        can && code == CGX_MPI_SUCCESS && read_sample(&sample, guard->ranks, &closeness, &taking);
    if (sampled) {
        change = cgx_recent_end(&taking);
        cgx_consensus_vote(&closeness, cgx_change_of(&change), guard->rank, words);
    } else if (guard->recent) {
        cgx_recent_forget(guard->recent);
    }
    cgx_float_leave(&caller);
    free_memory(&sample);
    return code;
}
