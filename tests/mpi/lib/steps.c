/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

#include "steps.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "check.h"
#include "collectives.h"
#include "comms.h"
#include "oracle.h"
#include "traffic.h"

/* The stream of values that ranks have in common. */
#define COMMON 1000

/* Parts FIRST to END - 1 are one buffer. */
struct call {
    size_t first, end, count;
    uint64_t seed;
    size_t bytes;
    unsigned char *input, *result, *exact;
    unsigned char *all; /* the inputs of all ranks, a record behind each */
};

/* What a rank has to say of a call of its own. */
struct record {
    uint64_t digest; /* of the result */
    uint64_t good;   /* the call succeeded and did not touch its input */
    uint64_t messages, bytes, collectives;
};

/* What one rank finds of its share of the buckets. */
struct verdict {
    double squares[STEPS_PARTS];
    double differs[STEPS_PARTS], disorder[STEPS_PARTS]; /* elements */
    double laundered, beyond;                           /* elements */
};

void steps_begin(struct steps *steps, MPI_Comm comm, const struct steps_part *parts, size_t nparts)
{
    const char *bits = getenv("CGX_COMPRESSION_QUANTIZATION_BITS");

    *steps = (struct steps){.least = bits ? (unsigned)atoi(bits) : 4, .nparts = nparts};
    memcpy(steps->parts, parts, nparts * sizeof *parts);
    MPI_Comm_dup(comm, &steps->comm);
    PMPI_Comm_set_errhandler(steps->comm, MPI_ERRORS_RETURN);
}

void steps_end(struct steps *steps)
{
    MPI_Comm_free(&steps->comm);
}

/* ---- data ---- */

static void fill(const struct steps *steps, const struct call *call, int rank)
{
    double *values = check_memory(2 * call->count * sizeof *values);
    double *common = values + call->count;
    size_t element = 0;

    for (size_t i = call->first; i < call->end; i++) {
        const struct steps_part *part = &steps->parts[i];
        uint64_t seed = call->seed + i;

        data_values(part->kind, ELEMENT_FLOAT32, seed, rank, 0, part->count, values);
        if (part->common > 0)
            data_values(part->kind, ELEMENT_FLOAT32, seed, COMMON, 0, part->count, common);
        for (size_t k = 0; k < part->count; k++) {
            double value = values[k];

            if (part->common > 0)
                value += part->common * (common[k] - value);
            element_store(steps->type, call->input, element++,
                          (double)(float)(part->scale * value));
        }
    }
    free(values);
}

static struct call open_call(const struct steps *steps, size_t first, int rank, int ranks)
{
    struct call call = {.first = first, .end = first, .seed = steps->taken * 1000};

    do
        call.count += steps->parts[call.end++].count;
    while (call.end < steps->nparts && steps->parts[call.end].joined);
    call.bytes = call.count * element_size(steps->type);
    call.input = check_memory(call.bytes + sizeof(struct record));
    call.result = check_memory(call.bytes);
    call.exact = check_memory(call.bytes);
    call.all = check_memory((call.bytes + sizeof(struct record)) * (size_t)ranks);
    fill(steps, &call, rank);
    return call;
}

static void close_call(const struct call *call)
{
    free(call->input);
    free(call->result);
    free(call->exact);
    free(call->all);
}

/* The sum that is looked at. */
static struct record reduce(const struct steps *steps, const struct call *call, bool in_place)
{
    void *send = place_make(steps->place, call->input, call->bytes);
    void *receive = place_make(steps->place, call->input, call->bytes);
    struct record before = {0, 0, traffic_messages(), traffic_bytes(), collectives_entered()};
    struct record record = {0};

    record.good = MPI_Allreduce(in_place ? MPI_IN_PLACE : send, receive, (int)call->count,
                                element_datatype(steps->type), MPI_SUM, steps->comm) == MPI_SUCCESS;
    record.messages = traffic_messages() - before.messages;
    record.bytes = traffic_bytes() - before.bytes;
    record.collectives = collectives_entered() - before.collectives;
    place_read(steps->place, call->result, send, call->bytes);
    if (memcmp(call->result, call->input, call->bytes) != 0)
        record.good = false;
    place_read(steps->place, call->result, receive, call->bytes);
    record.digest = check_digest(call->result, call->bytes);
    place_free(steps->place, send);
    place_free(steps->place, receive);
    return record;
}

static bool say(bool holds, int rank, const struct steps *steps, const struct call *call,
                const char *what)
{
    if (!holds && rank == 0)
        fprintf(stderr, "step %llu, %zu elements from part %zu on: %s\n",
                (unsigned long long)steps->taken, call->count, call->first, what);
    return holds;
}

/* Every rank gets the inputs of all, and what they have to say. */
static bool exchange(struct steps *steps, const struct call *call, const struct record *own,
                     int rank, int ranks)
{
    int bytes = (int)(call->bytes + sizeof *own);
    bool good = true, same = true;

    memcpy(call->input + call->bytes, own, sizeof *own);
    PMPI_Allgather(call->input, bytes, MPI_BYTE, call->all, bytes, MPI_BYTE, steps->comm);
    for (int p = 0; p < ranks; p++) {
        struct record record;

        memcpy(&record, call->all + (size_t)bytes * (size_t)p + call->bytes, sizeof record);
        good = good && record.good;
        same = same && record.digest == own->digest;
        steps->messages += record.messages;
        steps->bytes += record.bytes;
        steps->collectives += record.collectives;
    }
    steps->digest = steps->digest * 3 ^ own->digest;
    good = say(good, rank, steps, call, "an error, or the input was changed");
    return say(same, rank, steps, call, "not the same on all ranks") && good;
}

/* Of some elements from FIRST on. */
struct bucket {
    size_t first;
    int ranks;
    const double *inputs; /* rank p's are STRIDE * p behind */
    size_t stride;
    double allowed; /* the error of quantisations */
};

/* Element INDEX of the bucket, of PART. */
static void judge_element(const struct steps *steps, const struct call *call,
                          const struct bucket *bucket, size_t index, size_t part,
                          struct verdict *verdict)
{
    const enum element type = steps->type;
    double sum = 0, magnitude = 0, ordered = 0, error;
    double allowed = bucket->allowed;
    double result = element_load(type, call->result, bucket->first + index);
    float running = 0;

    for (int p = 0; p < bucket->ranks; p++) {
        double input = bucket->inputs[(size_t)p * bucket->stride + index];

        sum += input;
        magnitude += fabs(input);
        running = p == 0 ? (float)input : running + (float)input;
    }
    ordered = element_round(type, (double)running);
    verdict->disorder[part] += !(ordered == result || (isnan(ordered) && isnan(result)));
    if (type == ELEMENT_FLOAT32)
        verdict->differs[part] +=
            element_load(type, call->exact, bucket->first + index) != result && !isnan(result);
    if (!isfinite(element_round(type, sum))) {
        verdict->laundered += isfinite(result);
        return;
    }
    if (!isfinite(allowed))
        return;
    error = fabs(result - sum);
    allowed += 2 * magnitude * bucket->ranks * 0x1p-24 + element_half_ulp(type, sum);
    verdict->beyond += !(error <= allowed);
    verdict->squares[part] += error * error;
}

/* This rank's share of the buckets. Errors of uniform quantisation, whose steps are not known here,
 * may be of any size. */
static void judge(const struct steps *steps, const struct call *call, int rank, int ranks,
                  struct verdict *verdict)
{
    struct oracle oracle = oracle_from_environment(steps->type, steps->comm);
    const size_t size = oracle.scheme.bucket, each = call->bytes + sizeof(struct record);
    double *inputs = check_memory((size_t)ranks * size * sizeof *inputs);
    size_t part = call->first, part_end = steps->parts[part].count;

    oracle.scheme.bits = steps->least;
    for (size_t first = (size_t)rank * size; first < call->count; first += size * (size_t)ranks) {
        struct bucket bucket = {first, ranks, inputs, size, INFINITY};
        size_t n = call->count - first < size ? call->count - first : size;

        bool finite = true;

        for (int p = 0; p < ranks; p++)
            for (size_t i = 0; i < n; i++) {
                double input = element_load(steps->type, call->all + (size_t)p * each, first + i);

                inputs[(size_t)p * size + i] = input;
                finite = finite && isfinite(input);
            }
        if (oracle.maxmin && finite)
            bucket.allowed = quantisations_error(&oracle, &oracle.scheme, inputs, size, n);
        for (size_t i = 0; i < n; i++) {
            while (first + i >= part_end)
                part_end += steps->parts[++part].count;
            judge_element(steps, call, &bucket, i, part, verdict);
        }
    }
    free(inputs);
}

/* One call, judged into VERDICT. */
static bool sum(struct steps *steps, const struct call *call, int rank, int ranks,
                struct verdict *verdict)
{
    struct record record =
        reduce(steps, call, (steps->taken + (uint64_t)rank + call->first) % 3 == 0);
    bool good = exchange(steps, call, &record, rank, ranks);

    if (steps->type == ELEMENT_FLOAT32)
        PMPI_Allreduce(call->input, call->exact, (int)call->count, MPI_FLOAT, MPI_SUM, steps->comm);
    judge(steps, call, rank, ranks, verdict);
    return good;
}

/* ---- steps ---- */

/* Makes the ranks' verdicts one. */
static bool settle(struct steps *steps, struct verdict *verdict, int rank)
{
    PMPI_Allreduce(MPI_IN_PLACE, verdict, sizeof *verdict / sizeof(double), MPI_DOUBLE, MPI_SUM,
                   steps->comm);
    for (size_t i = 0; i < steps->nparts; i++) {
        steps->found[i].square = verdict->squares[i];
        steps->found[i].exact = steps->type == ELEMENT_FLOAT32 && verdict->differs[i] == 0;
        steps->found[i].ordered = verdict->disorder[i] == 0;
    }
    if (rank == 0 && verdict->laundered + verdict->beyond > 0)
        fprintf(stderr, "step %llu: %g elements finite where the sum is not, %g beyond the bound\n",
                (unsigned long long)steps->taken, verdict->laundered, verdict->beyond);
    return verdict->laundered + verdict->beyond == 0;
}

bool steps_take(struct steps *steps)
{
    struct verdict verdict = {.beyond = 0};
    bool good = true;
    int rank, ranks;

    PMPI_Comm_rank(steps->comm, &rank);
    PMPI_Comm_size(steps->comm, &ranks);
    steps->messages = steps->bytes = steps->collectives = 0;
    for (size_t i = 0; i < steps->nparts;) {
        struct call call = open_call(steps, i, rank, ranks);

        good &= sum(steps, &call, rank, ranks, &verdict);
        close_call(&call);
        i = call.end;
    }
    good &= settle(steps, &verdict, rank);
    steps->taken++;
    return good;
}

bool steps_take_all(struct steps *steps, int n)
{
    bool good = true;

    for (int i = 0; i < n; i++)
        good &= steps_take(steps);
    return good;
}

bool steps_take_both(struct steps *steps, struct steps *other, int n)
{
    bool good = true;

    for (int i = 0; i < n; i++) {
        good &= steps_take(steps);
        good &= steps_take(other);
    }
    return good;
}

size_t steps_exact(const struct steps *steps)
{
    size_t exact = 0;

    for (size_t i = 0; i < steps->nparts; i++)
        exact += steps->found[i].exact;
    return exact;
}
