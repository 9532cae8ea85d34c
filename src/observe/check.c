/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

#include "observe/check.h"

#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "codec/bucket.h"
#include "codec/peek.h"
#include "coll/split.h"
#include "cuda/memory.h"
#include "cuda/pinned_pool.h"
#include "mpi/config.h"
#include "util/hash.h"
#include "util/log.h"

/* Elements that are reduced and compared at a time: whole buckets. */
#define BLOCK ((size_t)8 * CGX_BUCKET_SIZE_MAX)
#define BLOCK_BUCKETS (BLOCK / CGX_BUCKET_SIZE_MIN)

/* An element that is not within its bound. */
struct finding {
    double excess; /* error over bound; 0: there is none */
    double element, result, exact, bound;
};

struct cgx_check {
    const struct cgx_coll *coll;
    const struct cgx_plan *plan;
    void *copy;        /* of the input, or NULL: it stays as it is */
    const char *input; /* host memory */
    float *scales;
    bool lost; /* this rank has no result */
    uint32_t hash;
    uint64_t beyond;
    double error, exact;
    struct finding worst;
    /* Of a block: elements, magnitudes, scales of the buckets; and the sums of all ranks'. */
    double own[2 * BLOCK + BLOCK_BUCKETS], sums[2 * BLOCK + BLOCK_BUCKETS];
    char result[BLOCK * sizeof(float)];
    float values[BLOCK]; /* those of the result */
};

/* ---- memory ---- */

static void free_check(struct cgx_check *check)
{
    if (check) {
        free(check->copy);
        free(check->scales);
    }
    free(check);
}

/* Copies BYTES of one of the call's buffers, after the work that the caller has queued on it. */
static bool fetch(void *host, const char *buffer, size_t bytes)
{
    const struct cgx_pointer where = cgx_cuda_pointer(buffer);

    if (where.memory != CGX_MEMORY_HOST)
        return cgx_pinned_fetch(&where, host, buffer, bytes) == CGX_OK;
    memcpy(host, buffer, bytes);
    return true;
}

static bool take_input(struct cgx_check *check)
{
    const struct cgx_coll *coll = check->coll;
    size_t bytes = check->plan->count * cgx_dtype_size(check->plan->dtype);
    const struct cgx_pointer where = cgx_cuda_pointer(coll->input);
    bool on_host = where.memory == CGX_MEMORY_HOST;

    check->input = coll->input;
    if (on_host && coll->input != coll->output)
        return true;
    check->copy = malloc(bytes);
    check->input = check->copy;
    if (!check->copy)
        return false;
    if (!on_host && cgx_config()->sync == CGX_SYNC_DEVICE && cgx_pinned_wait(&where) != CGX_OK)
        return false;
    return fetch(check->copy, coll->input, bytes);
}

/* NULL if this rank cannot compare. */
static struct cgx_check *create(const struct cgx_coll *coll)
{
    const struct cgx_plan *plan = coll->schedule->plan;
    size_t buckets = cgx_bucket_count(plan->count, plan->bucket_size);
    struct cgx_check *check = coll->standing != CGX_ABLE ? NULL : calloc(1, sizeof *check);

    if (!check)
        return NULL;
    check->coll = coll;
    check->plan = plan;
    check->hash = CGX_HASH_START;
    check->scales = calloc(buckets, sizeof *check->scales);
    if (check->scales && take_input(check))
        return check;
    free_check(check);
    return NULL;
}

int cgx_check_begin(struct cgx_coll *coll, struct cgx_check **check)
{
    struct cgx_check *made;
    int can, all, code;

    *check = NULL;
    if (!cgx_config()->check)
        return CGX_MPI_SUCCESS;
    made = create(coll);
    can = all = made != NULL;
    code = cgx_mpi_least(coll->comm, &all, 1);
    if (made && code == CGX_MPI_SUCCESS && all) {
        coll->scales = made->scales;
        *check = made;
        return code;
    }
    free_check(made);
    cgx_log(CGX_LOG_DEBUG, "CGX_CHECK: a sum of %zu elements is not compared: %s",
            coll->schedule->plan->count,
            can ? "another rank cannot" : "no memory, or the input cannot be read");
    return code;
}

/* ---- one element ---- */

/* The least magnitude that the type rounds to infinity. */
static double overflow_of(enum cgx_dtype dtype)
{
    return dtype == CGX_FLOAT32 ? 0x1.ffffffp127 : dtype == CGX_FLOAT16 ? 65520 : 0x1.ffp127;
}

static double half_ulp(enum cgx_dtype dtype, double value)
{
    static const int digits[] = {24, 11, 8}, least[] = {-149, -24, -133};
    int exponent;

    frexp(value, &exponent);
    exponent -= digits[dtype];
    return ldexp(0.5, exponent < least[dtype] ? least[dtype] : exponent);
}

static double bound_of(const struct cgx_check *check, double exact, double magnitude, double scales)
{
    double share = check->plan->rounding == CGX_ROUNDING_NEAREST ? 0.5 : 1;
    double bound = share * (1 + 0x1p-8) * scales +
                   check->coll->schedule->ranks * 0x1p-24 * (magnitude + scales);

    return bound + half_ulp(check->plan->dtype, fabs(exact) + bound);
}

static void note(struct cgx_check *check, struct finding finding)
{
    check->beyond++;
    if (!(finding.excess <= check->worst.excess))
        check->worst = finding;
}

/* ---- a block ---- */

/* Elements [first, first + count) of the buffer: whole buckets. */
struct block {
    size_t first;
    size_t count;
    size_t buckets;
    double *exact, *magnitude, *scales;
};

static struct block block_at(const struct cgx_check *check, size_t first, size_t end,
                             double *memory)
{
    struct block block = {.first = first, .count = end - first < BLOCK ? end - first : BLOCK};

    block.buckets = cgx_bucket_count(block.count, check->plan->bucket_size);
    block.exact = memory;
    block.magnitude = block.exact + block.count;
    block.scales = block.magnitude + block.count;
    return block;
}

/* What this rank adds to the sums, and its result of the block. */
static void fill(struct cgx_check *check, const struct block *block)
{
    const struct cgx_plan *plan = check->plan;
    size_t size = cgx_dtype_size(plan->dtype);

    cgx_peek_elements(plan->dtype, check->input + block->first * size, block->count, check->values);
    for (size_t i = 0; i < block->count; i++) {
        block->exact[i] = check->values[i];
        block->magnitude[i] = fabs(block->exact[i]);
    }
    for (size_t i = 0; i < block->buckets; i++)
        block->scales[i] = check->scales[block->first / plan->bucket_size + i];
    if (!check->lost &&
        !fetch(check->result, (const char *)check->coll->output + block->first * size,
               block->count * size))
        check->lost = true;
    if (check->lost)
        return;
    check->hash = cgx_hash(check->hash, check->result, block->count * size);
    cgx_peek_elements(plan->dtype, check->result, block->count, check->values);
}

/* Magnitudes below stay finite in any order of addition. */
static double limit_of(enum cgx_dtype dtype)
{
    return dtype == CGX_FLOAT16 ? overflow_of(dtype) : 0x1p125;
}

/* Scales are not known, and elements need not be finite. That is right near an overflow alone:
 * scales are at most twice the largest magnitude. */
static void compare_poisoned(struct cgx_check *check, const struct block *block, size_t first,
                             size_t end)
{
    double overflow = overflow_of(check->plan->dtype), largest = 0;

    for (size_t i = first; i < end; i++) {
        double result = check->values[i];

        if (!(block->magnitude[i] <= largest) && !isnan(largest))
            largest = block->magnitude[i];
        if (!(fabs(block->exact[i]) < overflow) && isfinite(result))
            note(check, (struct finding){INFINITY, (double)(block->first + i), result,
                                         block->exact[i], 0});
    }
    if (4.0 * check->coll->schedule->ranks * largest < limit_of(check->plan->dtype))
        note(check, (struct finding){INFINITY, (double)(block->first + first), NAN,
                                     block->exact[first], 0});
}

static void compare_bucket(struct cgx_check *check, const struct block *block, size_t first,
                           size_t end, double scales)
{
    for (size_t i = first; i < end; i++) {
        double result = check->values[i], exact = block->exact[i];
        double error = fabs(result - exact);
        double bound = bound_of(check, exact, block->magnitude[i], scales);
        bool overflows = !(fabs(exact) < overflow_of(check->plan->dtype));
        bool may = !(block->magnitude[i] < limit_of(check->plan->dtype)) && !isfinite(result);

        if (overflows ? isfinite(result) : !(error <= bound) && !may)
            note(check, (struct finding){isfinite(error) ? error / bound : INFINITY,
                                         (double)(block->first + i), result, exact, bound});
        if (isfinite(error)) {
            check->error += error * error;
            check->exact += exact * exact;
        }
    }
}

/* On the owner, which has the sums. */
static void compare(struct cgx_check *check, const struct block *block)
{
    unsigned bucket_size = check->plan->bucket_size;

    for (size_t b = 0; b < block->buckets; b++) {
        size_t first = b * bucket_size;
        size_t end = first + bucket_size < block->count ? first + bucket_size : block->count;

        if (isnan(block->scales[b]))
            compare_poisoned(check, block, first, end);
        else
            compare_bucket(check, block, first, end, block->scales[b]);
    }
}

/* ---- a call ---- */

/* The owner of a chunk gets the sums and compares. */
static int compare_chunk(struct cgx_check *check, unsigned owner)
{
    const struct cgx_coll *coll = check->coll;
    struct cgx_range range = cgx_split_part(check->plan, coll->schedule->ranks, owner, 1, 0);
    size_t end = range.end * check->plan->unit;
    int code = CGX_MPI_SUCCESS;

    if (end > check->plan->count)
        end = check->plan->count;
    for (size_t first = range.first * check->plan->unit; first < end; first += BLOCK) {
        struct block block = block_at(check, first, end, check->own);

        fill(check, &block);
        /* Not in place: MPICH 4.0.2 reads from MPI_IN_PLACE where the root is not rank 0. */
        code = coll->mpi->Reduce(check->own, check->sums, (int)(2 * block.count + block.buckets),
                                 coll->mpi->DOUBLE, coll->mpi->SUM, (int)owner, coll->comm);
        if (code != CGX_MPI_SUCCESS)
            return code;
        block = block_at(check, first, end, check->sums);
        if (owner == coll->rank && !check->lost)
            compare(check, &block);
    }
    return code;
}

/* Rank 0 says what the worst of all ranks' findings is, of excess MOST. */
static int report(const struct cgx_check *check, double most, uint64_t beyond)
{
    const struct cgx_coll *coll = check->coll;
    struct finding worst = check->worst;
    int from = worst.excess >= most ? (int)coll->rank : INT_MAX;
    int code = cgx_mpi_least(coll->comm, &from, 1);

    if (code == CGX_MPI_SUCCESS)
        code = coll->mpi->Bcast(&worst, sizeof worst / sizeof(double), coll->mpi->DOUBLE, from,
                                coll->comm);
    if (code == CGX_MPI_SUCCESS && coll->rank == 0)
        cgx_log(CGX_LOG_ERROR,
                "CGX_CHECK: %llu of %zu elements of a sum are not within their bound; the worst is "
                "element %.0f: %.9g for %.9g, bound %.3g",
                (unsigned long long)beyond, check->plan->count, worst.element, worst.result,
                worst.exact, worst.bound);
    return code;
}

/* Brings the findings of all ranks together. */
static int gather(const struct cgx_check *check, struct cgx_checked *checked)
{
    const struct cgx_coll *coll = check->coll;
    const struct cgx_mpi *mpi = coll->mpi;
    double sums[] = {check->lost, (double)check->beyond, check->error, check->exact};
    double most[] = {check->worst.excess, check->hash, -(double)check->hash};
    int code = mpi->Allreduce(mpi->IN_PLACE, sums, 4, mpi->DOUBLE, mpi->SUM, coll->comm);

    if (code == CGX_MPI_SUCCESS)
        code = mpi->Allreduce(mpi->IN_PLACE, most, 3, mpi->DOUBLE, mpi->MAX, coll->comm);
    if (code != CGX_MPI_SUCCESS || sums[0] > 0)
        return code;
    *checked = (struct cgx_checked){.done = true,
                                    .beyond = (uint64_t)sums[1],
                                    .differs = most[1] != -most[2],
                                    .error = sums[2],
                                    .exact = sums[3]};
    if (checked->differs && coll->rank == 0)
        cgx_log(CGX_LOG_ERROR, "CGX_CHECK: ranks have different sums of %zu elements",
                check->plan->count);
    return checked->beyond > 0 ? report(check, most[0], checked->beyond) : code;
}

int cgx_check_end(struct cgx_check *check, enum cgx_outcome outcome, struct cgx_checked *checked)
{
    int code = CGX_MPI_SUCCESS;

    *checked = (struct cgx_checked){.done = false};
    if (!check)
        return code;
    /* LOST is of this rank alone: others have a result and go on. */
    if (outcome == CGX_OUTCOME_DONE || outcome == CGX_OUTCOME_LOST) {
        check->lost = outcome == CGX_OUTCOME_LOST;
        for (unsigned owner = 0; code == CGX_MPI_SUCCESS && owner < check->coll->schedule->ranks;
             owner++)
            code = compare_chunk(check, owner);
        if (code == CGX_MPI_SUCCESS)
            code = gather(check, checked);
    }
    free_check(check);
    return code;
}
