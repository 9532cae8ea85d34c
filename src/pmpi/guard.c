/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

#include "pmpi/guard.h"

#include <stdlib.h>
#include <string.h>

#include "codec/peek.h"
#include "cuda/memory.h"
#include "cuda/pinned_pool.h"
#include "mpi/config.h"
#include "pmpi/eligible.h"
#include "pmpi/exact.h"
#include "util/float_state.h"

/* A bucket of each of COUNT groups, never the same place twice running, so that rows of a matrix do
 * not alias. */
struct sample {
    enum cgx_dtype dtype;
    size_t elements; /* of the call */
    size_t bucket_size, count, group;
    uint32_t number;
    char *copy;            /* of the buckets of the input; NULL: it is still where it was */
    char *fetched;         /* of one bucket in device memory */
    float *values, *input; /* of one bucket */
};

static bool is_on_host(const struct cgx_pointer *buffer)
{
    return buffer->memory == CGX_MEMORY_HOST;
}

/* Many copies of one buffer enter its context once. True: leave. */
static bool enter(const struct cgx_pointer *buffer)
{
    return !is_on_host(buffer) && cgx_pinned_enter(buffer) == CGX_OK;
}

static size_t first_of(const struct sample *sample, size_t index)
{
    size_t place = (index * 37 + (size_t)sample->number * 11) % sample->group;

    return (index * sample->group + place) * sample->bucket_size;
}

static size_t count_of(const struct sample *sample, size_t first)
{
    size_t rest = sample->elements - first;

    return rest < sample->bucket_size ? rest : sample->bucket_size;
}

/* Copies elements of BUFFER, which is where WHERE says, to the host. */
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

/* What the sum is about to be written over. */
static bool copy_input(struct sample *sample, const struct cgx_call *call)
{
    const struct cgx_pointer *where = &call->receive;
    bool entered = enter(where);
    bool waits = !is_on_host(where) && cgx_config()->sync == CGX_SYNC_DEVICE;
    bool had = !waits || cgx_pinned_wait(where) == CGX_OK;

    sample->copy = malloc(sample->count * bucket_bytes(sample));
    had = had && sample->copy != NULL;
    for (size_t i = 0; had && i < sample->count; i++)
        had = fetch(sample, where, call->recvbuf, first_of(sample, i),
                    sample->copy + i * bucket_bytes(sample));
    if (entered)
        cgx_pinned_leave();
    return had;
}

static void release(struct sample *sample)
{
    free(sample->copy);
    free(sample->fetched);
    free(sample->values);
    free(sample->input);
}

/* False: nothing can be said of this call. Whoever has wrong arguments is told by MPI. */
static bool begin(const struct cgx_call *call, uint32_t number, struct sample *sample)
{
    const struct cgx_settings *settings = cgx_config();
    bool in_place = call->sendbuf == cgx_mpi()->IN_PLACE;
    size_t most, buckets;

    *sample = (struct sample){
        .elements = (size_t)call->count, .bucket_size = settings->bucket_size, .number = number};
    if (cgx_eligible_dtype(call, &sample->dtype) ||
        cgx_eligible_buffers(call, sample->dtype, CGX_BUFFERS_ALL))
        return false;
    most = is_on_host(&call->receive) && is_on_host(&call->send) ? CGX_GUARD_MOST
                                                                 : CGX_GUARD_MOST_DEVICE;
    buckets = sample->elements / sample->bucket_size;
    sample->count = buckets / CGX_GUARD_GROUP;
    if (sample->count > most)
        sample->count = most;
    if (sample->count == 0)
        sample->count = 1;
    sample->group = buckets / sample->count;
    if (sample->group == 0)
        sample->group = 1;
    sample->fetched = malloc(bucket_bytes(sample));
    sample->values = malloc(sample->bucket_size * sizeof(float));
    sample->input = malloc(sample->bucket_size * sizeof(float));
    if (sample->fetched && sample->values && sample->input &&
        (!in_place || copy_input(sample, call)))
        return true;
    release(sample);
    return false;
}

/* False if what there is to see cannot be read. */
static bool look(struct sample *sample, const struct cgx_call *call, unsigned ranks,
                 struct cgx_closeness *closeness)
{
    for (size_t i = 0; i < sample->count; i++) {
        size_t first = first_of(sample, i), count = count_of(sample, first);
        const char *input = sample->fetched;

        if (!fetch(sample, &call->receive, call->recvbuf, first, sample->fetched))
            return false;
        cgx_peek_elements(sample->dtype, sample->fetched, count, sample->values);
        if (sample->copy)
            input = sample->copy + i * bucket_bytes(sample);
        else if (!fetch(sample, &call->send, call->sendbuf, first, sample->fetched))
            return false;
        cgx_peek_elements(sample->dtype, input, count, sample->input);
        cgx_closeness_add(closeness, sample->input, sample->values, count, ranks);
    }
    return true;
}

int cgx_guard_exact(const struct cgx_call *call, enum cgx_reason reason, unsigned ranks,
                    uint32_t number, uint32_t words[CGX_OPINION_WORDS])
{
    struct cgx_closeness closeness = {0};
    union cgx_float_state caller;
    struct sample sample;
    bool can = begin(call, number, &sample), entered;
    int code = cgx_exact(call, reason);

    cgx_opinion_none(words);
    if (!can)
        return code;
    entered = enter(&call->receive);
    cgx_float_enter(&caller);
    if (code == CGX_MPI_SUCCESS && look(&sample, call, ranks, &closeness))
        cgx_opinion(&closeness, words);
    cgx_float_leave(&caller);
    if (entered)
        cgx_pinned_leave();
    release(&sample);
    return code;
}
