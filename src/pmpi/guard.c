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

/* A sample of COUNT buckets, one from each group of GROUP buckets. Its place differs from group to
 * group, so that rows of a matrix do not alias. */
struct sample {
    enum cgx_dtype dtype;
    size_t elements; /* of the call */
    size_t bucket_size, count, group;
    uint32_t places;
    bool in_place;         /* the sum is written over the input */
    void *memory;          /* holds the following buffers */
    float *values, *input; /* of one bucket */
    char *fetched;         /* one bucket, in the type of the call */
    char *copy;            /* of the sampled input, if it is in place */
};

static bool is_on_host(const struct cgx_pointer *buffer)
{
    return buffer->memory == CGX_MEMORY_HOST;
}

/* Enters a device buffer's context once for many copies. True: it must be left. */
static bool enter(const struct cgx_pointer *buffer)
{
    return !is_on_host(buffer) && cgx_cuda_enter(buffer) == CGX_OK;
}

static size_t first_of(const struct sample *sample, size_t index)
{
    size_t place = (index * 37 + (size_t)sample->places * 11) % sample->group;

    return (index * sample->group + place) * sample->bucket_size;
}

static size_t count_of(const struct sample *sample, size_t first)
{
    size_t rest = sample->elements - first;

    return rest < sample->bucket_size ? rest : sample->bucket_size;
}

/* Copies the bucket of BUFFER, at WHERE, that begins with element FIRST to the host. */
static bool fetch(const struct sample *sample, const struct cgx_pointer *where, const void *buffer,
                  size_t first, char *host)
{
    size_t size = cgx_dtype_size(sample->dtype), bytes = count_of(sample, first) * size;
    const char *from = (const char *)buffer + first * size;

    if (!is_on_host(where))
        return cgx_pinned_fetch(where, host, from, bytes) == CGX_OK;
    memcpy(host, from, bytes);
    return true;
}

static size_t bucket_bytes(const struct sample *sample)
{
    return sample->bucket_size * cgx_dtype_size(sample->dtype);
}

/* Copies the sampled input, which the sum will overwrite. */
static bool copy_input(struct sample *sample, const struct cgx_call *call)
{
    const struct cgx_pointer *where = &call->receive;
    bool entered = enter(where);
    bool ok = true;

    for (size_t i = 0; ok && i < sample->count; i++)
        ok = fetch(sample, where, call->recvbuf, first_of(sample, i),
                   sample->copy + i * bucket_bytes(sample));
    if (entered)
        cgx_cuda_leave();
    return ok;
}

static size_t at_least_one(size_t value)
{
    return value > 0 ? value : 1;
}

/* Prepares SAMPLE. False if nothing can be said of this call; MPI reports wrong arguments. */
static bool begin(const struct cgx_call *call, uint32_t places, struct sample *sample)
{
    size_t most, buckets, size = cgx_config()->bucket_size;
    const struct cgx_capability capability = cgx_eligible_capability(call);

    *sample = (struct sample){.dtype = capability.dtype,
                              .elements = capability.count,
                              .bucket_size = size,
                              .places = places,
                              .in_place = capability.in_place};
    /* The op is not tested here, since the call may turn out exact for other reasons. */
    if (capability.refusal || capability.op)
        return false;
    most = is_on_host(&call->receive) && is_on_host(&call->send) ? CGX_GUARD_MOST
                                                                 : CGX_GUARD_MOST_DEVICE;
    buckets = sample->elements / size;
    sample->count = cgx_smaller(cgx_larger(buckets / CGX_GUARD_GROUP, CGX_GUARD_LEAST), most);
    sample->count = at_least_one(cgx_smaller(sample->count, buckets));
    sample->group = at_least_one(buckets / sample->count);
    sample->memory = malloc(2 * size * sizeof(float) +
                            (sample->in_place ? sample->count + 1 : 1) * bucket_bytes(sample));
    if (!sample->memory)
        return false;
    sample->values = sample->memory;
    sample->input = sample->values + size;
    sample->fetched = (char *)(sample->input + size);
    sample->copy = sample->fetched + bucket_bytes(sample);
    if (!sample->in_place || copy_input(sample, call))
        return true;
    free(sample->memory);
    return false;
}

/* Reads the sample of sum and input. False if it cannot be read. */
static bool read_sample(struct sample *sample, const struct cgx_call *call, unsigned ranks,
                        struct cgx_closeness *closeness, struct cgx_taking *taking)
{
    for (size_t i = 0; i < sample->count; i++) {
        size_t first = first_of(sample, i), count = count_of(sample, first);
        const char *input = sample->fetched;

        if (!fetch(sample, &call->receive, call->recvbuf, first, sample->fetched))
            return false;
        cgx_peek_elements(sample->dtype, sample->fetched, count, sample->values);
        if (cgx_recent_wants(taking))
            cgx_recent_take(taking, sample->values, count, 0);
        if (sample->in_place)
            input = sample->copy + i * bucket_bytes(sample);
        else if (!fetch(sample, &call->send, call->sendbuf, first, sample->fetched))
            return false;
        cgx_peek_elements(sample->dtype, input, count, sample->input);
        cgx_closeness_add(closeness, sample->input, sample->values, count, ranks);
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
    bool can = begin(call, guard->places, &sample), entered = false, sampled;
    int code = cgx_exact(call, reason);

    memset(words, 0, CGX_CONSENSUS_WORDS * sizeof words[0]);
    cgx_float_enter(&caller);
    if (can)
        entered = enter(&call->receive);
    taking = cgx_recent_begin(guard->recent, guard->places, sample.count);
    sampled = can && code == CGX_MPI_SUCCESS &&
              read_sample(&sample, call, guard->ranks, &closeness, &taking);
    if (sampled) {
        change = cgx_recent_end(&taking);
        cgx_consensus_vote(&closeness, cgx_change_of(&change), guard->rank, words);
    } else if (guard->recent) {
        cgx_recent_forget(guard->recent);
    }
    cgx_float_leave(&caller);
    if (entered)
        cgx_cuda_leave();
    if (can)
        free(sample.memory);
    return code;
}
