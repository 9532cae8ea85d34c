/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

#include "pmpi/call.h"

#include <math.h>

#include "codec/codec.h"
#include "cuda/memory.h"
#include "cuda/pinned_pool.h"
#include "mpi/config.h"
#include "util/float_state.h"
#include "util/trace.h"

/* The looks at a window after which rank 0 says how many there will be. */
#define FIRST_SAID 3

/* Pairs of elements that show whether a matrix is symmetric, and those after which most others show
 * that they are none. */
#define PAIRS 512
#define FEW_PAIRS 32

/* Elements of a call's sum or input. */
struct elements {
    const struct cgx_pointer *where;
    const char *at;
    enum cgx_dtype dtype;
    size_t count;
};

static struct elements sum_of(const struct cgx_request *request, enum cgx_dtype dtype)
{
    return (struct elements){&request->receive, request->recvbuf, dtype, (size_t)request->count};
}

static struct elements input_of(const struct cgx_request *request, enum cgx_dtype dtype)
{
    return (struct elements){request->in_place ? &request->receive : &request->send,
                             cgx_request_input(request), dtype, (size_t)request->count};
}

/* ---- samples ---- */

/* Reads RUNS of ELEMENTS, as VALUES that follow each other. Device memory is read after all earlier
 * work of the legacy default stream and of streams that synchronise with it. */
static bool read_device(const struct elements *elements, const struct cgx_strided *runs,
                        float *values)
{
    const size_t bytes = runs->count * runs->bytes;
    enum cgx_status status;
    void *memory;

    if (cgx_cuda_enter(elements->where) != CGX_OK)
        return false;
    status = cgx_pinned_take(elements->where, bytes, &memory);
    if (status == CGX_OK) {
        status = cgx_pinned_gather(elements->where, memory, runs);
        if (status == CGX_OK)
            cgx_peek_elements(elements->dtype, memory, bytes / cgx_dtype_size(elements->dtype),
                              values);
        cgx_pinned_give(elements->where, memory);
    }
    cgx_cuda_leave();
    return status == CGX_OK;
}

static bool read_runs(const struct elements *elements, const struct cgx_strided *runs,
                      float *values)
{
    const size_t run = runs->bytes / cgx_dtype_size(elements->dtype);

    if (elements->where->memory != CGX_MEMORY_HOST)
        return read_device(elements, runs, values);
    for (size_t i = 0; i < runs->count; i++)
        cgx_peek_elements(elements->dtype, elements->at + i * runs->stride, run, values + i * run);
    return true;
}

static bool read_sample(const struct elements *elements, size_t most, struct cgx_sample *sample)
{
    const struct cgx_strided runs =
        cgx_sample_runs(elements->at, elements->count, elements->dtype, most);

    sample->run = cgx_sample_run(elements->count, most);
    return read_runs(elements, &runs, sample->values);
}

/* ---- symmetric matrices ---- */

/* Whether ELEMENTS, in host memory, are a symmetric matrix, by pairs on both sides of its diagonal.
 * Those of diagonal matrices would all be zeros. */
static bool is_symmetric(const struct elements *elements)
{
    const size_t rows = (size_t)sqrt((double)elements->count),
                 size = cgx_dtype_size(elements->dtype);
    double difference = 0, squares = 0;
    bool equal = true;

    if (elements->where->memory != CGX_MEMORY_HOST || rows * rows != elements->count)
        return false;
    for (size_t i = 0; i < PAIRS && equal; i++) {
        size_t row = i * 7919 % rows, column = (i * 104729 + rows / 2) % rows;
        float upper, lower;

        if (row == column)
            continue;
        cgx_peek_elements(elements->dtype, elements->at + (row * rows + column) * size, 1, &upper);
        cgx_peek_elements(elements->dtype, elements->at + (column * rows + row) * size, 1, &lower);
        difference += ((double)upper - (double)lower) * ((double)upper - (double)lower);
        squares += (double)upper * (double)upper + (double)lower * (double)lower;
        equal = i < FEW_PAIRS || difference <= 1e-4 * squares;
    }
    return squares > 0 && equal;
}

/* ---- exact calls ---- */

/* What is read of this rank's input of an exact call. */
struct input {
    double size; /* 0: unknown, and so is ... */
    struct cgx_sample sample;
};

static void see_input(const struct elements *elements, struct input *input)
{
    if (read_sample(elements, CGX_LOOK_INPUT_RUN, &input->sample))
        input->size = cgx_sample_size(&input->sample);
}

/* Compares INPUT, if it is known, with what the other ranks bring to SUM. */
static void compare_input(const struct input *input, const struct cgx_sample *sum,
                          struct cgx_sum_traits *traits)
{
    const struct cgx_sample *sample = &input->sample;
    struct cgx_sample others = {.run = 1};
    struct cgx_sketch own, rest;

    if (input->size == 0)
        return;
    for (size_t i = 0; i < CGX_LOOK_PLACES; i++)
        others.values[i] = sum->values[i * sum->run] - sample->values[i * sample->run];
    own = cgx_sketch_of(sample);
    rest = cgx_sketch_of(&others);
    traits->alike = cgx_sketch_agrees(&own, rest.signs);
    traits->alone = cgx_sketch_is_alone(&own, rest.signs);
}

/* SUM: NULL if it shows nothing. */
static void look_at_sum(const struct elements *sum, const struct input *input,
                        struct cgx_comm *state, struct cgx_callsite *site)
{
    struct cgx_window *window = &site->window;
    struct cgx_sample sample;
    enum cgx_look look;
    struct cgx_sum_traits traits = {.placed = site->key.position != CGX_POSITION_NONE};

    if (!sum || !read_sample(sum, CGX_LOOK_SUM_RUN, &sample)) {
        cgx_window_look(window, NULL, &traits);
        return;
    }
    if (!window->kept)
        window->kept = cgx_kept_create(CGX_LOOK_PLACES * sample.run);
    if (input->size > 0 && cgx_sample_is_whole(&input->sample))
        traits.shows = CGX_LOOK_WHOLE;
    else if (is_symmetric(sum))
        traits.shows = CGX_LOOK_SYMMETRIC;
    compare_input(input, &sample, &traits);
    look = cgx_window_look(window, &sample, &traits);
    if (look != CGX_LOOK_ODD)
        cgx_sizes_add(&site->inputs.sizes, input->size);
    if (look <= CGX_LOOK_GRADIENT)
        cgx_range_add(&state->sizes[site->key.type], input->size);
}

int cgx_look_exact(struct cgx_record *record, struct cgx_comm *state, enum cgx_reason reason,
                   struct cgx_callsite *site, bool can)
{
    const struct cgx_request *request = record->request;
    const struct elements sum = sum_of(request, site->dtype);
    const struct elements own = input_of(request, site->dtype);
    struct input input;
    union cgx_float_state caller;
    int64_t begun;
    int code;

    input.size = 0;
    if (site->window.looks == 0)
        site->window.told = state->stream.recurrence->step > 0;
    cgx_float_enter(&caller);
    if (can) /* now, since the sum may overwrite it */
        see_input(&own, &input);
    cgx_float_leave(&caller);
    if (site->worth)
        cgx_worth_begin_exact(site->worth);
    begun = cgx_trace_clock();
    code = cgx_exact(record, reason);
    cgx_callsite_took(site, CGX_WAY_EXACT, begun);
    cgx_float_enter(&caller);
    look_at_sum(can && code == CGX_MPI_SUCCESS ? &sum : NULL, &input, state, site);
    cgx_float_leave(&caller);
    cgx_callsite_note(site, &(struct cgx_site_note){.event = CGX_EVENT_LOOKED});
    if (site->window.looks == FIRST_SAID && !site->window.told)
        record->looks = site->window.looks;
    return code;
}

/* The sample is spread over the sum, which has at least as many elements, at an odd distance, so
 * that columns of a matrix do not alias. */
void cgx_look_result(const struct cgx_request *request, struct cgx_comm *state,
                     const struct cgx_callsite *site)
{
    const struct elements sum = sum_of(request, site->dtype);
    const size_t size = cgx_dtype_size(sum.dtype);
    const struct cgx_strided runs = {.at = sum.at,
                                     .bytes = size,
                                     .stride =
                                         ((sum.count / CGX_RESEMBLANCE_SAMPLE - 1) | 1) * size,
                                     .count = CGX_RESEMBLANCE_SAMPLE};
    float values[CGX_RESEMBLANCE_SAMPLE];
    union cgx_float_state caller;

    if (!cgx_recurrence_samples(state->stream.recurrence))
        return;
    cgx_float_enter(&caller);
    if (read_runs(&sum, &runs, values))
        cgx_recurrence_result(state->stream.recurrence, values, runs.count);
    cgx_float_leave(&caller);
}

/* ---- compressed calls ---- */

void cgx_look_prepare(const struct cgx_request *request, struct cgx_comm *state,
                      struct cgx_callsite *site, struct cgx_coll *coll)
{
    const struct elements input = input_of(request, site->dtype);
    const bool unseen = !site->shared.clear && cgx_config()->warmup > 0;

    coll->looks = true;
    if (coll->vote != CGX_ABLE)
        return;
    if (!site->inputs.kept)
        site->inputs.kept =
            cgx_kept_create(CGX_LOOK_PLACES * cgx_sample_run(input.count, CGX_LOOK_INPUT_RUN));
    coll->inputs = &site->inputs;
    coll->traits.unseen = unseen;
    if (site->key.position == CGX_POSITION_NONE || site->inputs.sizes.count == 0)
        coll->traits.range = &state->sizes[site->key.type];
    if (unseen && is_symmetric(&input))
        coll->traits.shows = CGX_LOOK_SYMMETRIC;
}

void cgx_look_ran(const struct cgx_coll *coll, struct cgx_comm *state, struct cgx_callsite *site)
{
    cgx_sizes_add(&site->inputs.sizes, coll->size);
    cgx_range_add(&state->sizes[site->key.type], coll->size);
}
