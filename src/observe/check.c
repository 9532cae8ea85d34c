/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

#include "observe/check.h"

#include <limits.h>
#include <math.h>
#include <stdlib.h>

#include "codec/bucket.h"
#include "coll/split.h"
#include "cuda/memory.h"
#include "mpi/config.h"
#include "mpi/errors.h"
#include "mpi/stall.h"
#include "observe/check_bound.h"
#include "observe/compare.h"
#include "util/hash.h"
#include "util/log.h"

/* Elements that are summed and compared at a time: whole buckets. */
#define BLOCK ((size_t)8 * CGX_BUCKET_SIZE_MAX)
#define BLOCK_BUCKETS (BLOCK / CGX_BUCKET_SIZE_MIN)

struct cgx_check {
    const struct cgx_coll *coll;
    const struct cgx_plan *plan;
    void *copy;        /* of the input; NULL: the input itself, which stays unchanged */
    const char *input; /* in host memory */
    uint8_t *history;  /* a copy of the call's scale codes, by element; NULL: no history */
    float *scales;
    bool lost; /* this rank has no result */
    uint32_t hash;
    struct cgx_compared found;
    /* Of a block: elements, magnitudes and bucket scales of this rank, and their sums over all
     * ranks. */
    double mine[2 * BLOCK + BLOCK_BUCKETS], sums[2 * BLOCK + BLOCK_BUCKETS];
    char result[BLOCK * sizeof(float)];
    float values[BLOCK]; /* elements of the block */
};

/* ---- memory ---- */

static void free_check(struct cgx_check *check)
{
    if (check) {
        free(check->copy);
        free(check->scales);
        free(check->history);
    }
    free(check);
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
    return cgx_compare_fetch(check->copy, coll->input, bytes);
}

static bool take_history(struct cgx_check *check)
{
    const struct cgx_coll *coll = check->coll;

    if (!coll->history.scales)
        return true;
    check->history = malloc(check->plan->count);
    return check->history &&
           cgx_compare_fetch(check->history, coll->history.scales, check->plan->count);
}

/* NULL if this rank cannot compare. */
static struct cgx_check *create(const struct cgx_coll *coll)
{
    const struct cgx_plan *plan = coll->schedule->plan;
    size_t buckets = cgx_bucket_count(plan->count, plan->bucket_size);
    struct cgx_check *check = coll->vote != CGX_ABLE ? NULL : calloc(1, sizeof *check);

    if (!check)
        return NULL;
    check->coll = coll;
    check->plan = plan;
    check->hash = CGX_HASH_START;
    check->scales = calloc(buckets, sizeof *check->scales);
    if (check->scales && take_input(check) && take_history(check))
        return check;
    free_check(check);
    return NULL;
}

int cgx_check_begin(struct cgx_coll *coll, struct cgx_check **check)
{
    struct cgx_check *made;
    int can, all, code;

    *check = NULL;
    if (cgx_config()->enable != CGX_ENABLE_CHECK)
        return CGX_MPI_SUCCESS;
    made = create(coll);
    can = all = made != NULL;
    code = cgx_errors_least(coll->caller, &all, 1);
    if (made && code == CGX_MPI_SUCCESS && all) {
        coll->scales = made->scales;
        *check = made;
        return code;
    }
    free_check(made);
    cgx_log(CGX_LOG_DEBUG, "check: a sum of %zu elements is not compared: %s",
            coll->schedule->plan->count,
            can ? "another rank cannot" : "no memory, or the input cannot be read");
    return code;
}

/* ---- a block ---- */

static struct cgx_check_block block_at(const struct cgx_check *check, size_t first, size_t end,
                                       double *memory)
{
    struct cgx_check_block block = {.first = first,
                                    .count = end - first < BLOCK ? end - first : BLOCK};

    block.buckets = cgx_bucket_count(block.count, check->plan->bucket_size);
    block.exact = memory;
    block.magnitude = block.exact + block.count;
    block.scales = block.magnitude + block.count;
    block.history = check->history ? check->history + first : NULL;
    return block;
}

/* Sets this rank's part of the sums, and reads its result of BLOCK. */
static void fill(struct cgx_check *check, const struct cgx_check_block *block)
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
        !cgx_compare_fetch(check->result, (const char *)check->coll->output + block->first * size,
                           block->count * size))
        check->lost = true;
    if (check->lost)
        return;
    check->hash = cgx_hash(check->hash, check->result, block->count * size);
    cgx_peek_elements(plan->dtype, check->result, block->count, check->values);
}

/* ---- a call ---- */

/* Sums the chunk of OWNER there, and compares it. */
static int compare_chunk(struct cgx_check *check, unsigned owner)
{
    const struct cgx_coll *coll = check->coll;
    struct cgx_element_range range =
        cgx_split_part(check->plan, coll->schedule->ranks, owner, 1, 0);
    size_t end = range.end * check->plan->unit;
    int code = CGX_MPI_SUCCESS;

    if (end > check->plan->count)
        end = check->plan->count;
    for (size_t first = range.first * check->plan->unit; first < end; first += BLOCK) {
        struct cgx_check_block block = block_at(check, first, end, check->mine);

        fill(check, &block);
        /* MPI_IN_PLACE is avoided, since MPICH 4.0.2 reads from it if the root is not rank 0. */
        cgx_stall_enter();
        code = coll->mpi->Reduce(check->mine, check->sums, (int)(2 * block.count + block.buckets),
                                 coll->mpi->DOUBLE, coll->mpi->SUM, (int)owner, coll->comm);
        cgx_stall_leave();
        if (code != CGX_MPI_SUCCESS)
            return code;
        block = block_at(check, first, end, check->sums);
        if (owner == coll->rank && !check->lost)
            cgx_check_bound(check->plan, coll->schedule->ranks, &block, check->values,
                            &check->found);
    }
    return code;
}

/* Rank 0 logs the worst finding of all ranks, whose excess is MOST. */
static int report(const struct cgx_check *check, double most, uint64_t beyond)
{
    const struct cgx_coll *coll = check->coll;
    struct cgx_excess worst = check->found.worst;
    int from = worst.excess >= most ? (int)coll->rank : INT_MAX;
    int code = cgx_mpi_least(coll->comm, &from, 1);

    cgx_stall_enter();
    if (code == CGX_MPI_SUCCESS)
        code = coll->mpi->Bcast(&worst, sizeof worst / sizeof(double), coll->mpi->DOUBLE, from,
                                coll->comm);
    cgx_stall_leave();
    if (code == CGX_MPI_SUCCESS && coll->rank == 0)
        cgx_log(CGX_LOG_ERROR,
                "check: %llu of %zu elements of a sum are not within their bound; the worst is "
                "element %.0f: %.9g instead of %.9g, bound %.3g",
                (unsigned long long)beyond, check->plan->count, worst.element, worst.result,
                worst.exact, worst.bound);
    return code;
}

/* Combines the findings of all ranks. */
static int gather(const struct cgx_check *check, struct cgx_checked *checked)
{
    const struct cgx_coll *coll = check->coll;
    const struct cgx_mpi *mpi = coll->mpi;
    double sums[] = {check->lost, (double)check->found.beyond, check->found.error,
                     check->found.exact, check->found.scaled};
    double most[] = {check->found.worst.excess, check->hash, -(double)check->hash};
    int code = cgx_mpi_reduce(coll->comm, sums, 5, mpi->DOUBLE, mpi->SUM);

    if (code == CGX_MPI_SUCCESS)
        code = cgx_mpi_reduce(coll->comm, most, 3, mpi->DOUBLE, mpi->MAX);
    if (code != CGX_MPI_SUCCESS || sums[0] > 0)
        return code;
    *checked = (struct cgx_checked){.done = true,
                                    .beyond = (uint64_t)sums[1],
                                    .differs = most[1] != -most[2],
                                    .error = sums[2],
                                    .exact = sums[3],
                                    .scaled = sums[4]};
    if (checked->differs && coll->rank == 0)
        cgx_log(CGX_LOG_ERROR, "check: ranks have different sums of %zu elements",
                check->plan->count);
    return checked->beyond > 0 ? report(check, most[0], checked->beyond) : code;
}

int cgx_check_end(struct cgx_check *check, enum cgx_outcome outcome, struct cgx_checked *checked)
{
    int code = CGX_MPI_SUCCESS;

    *checked = (struct cgx_checked){.done = false};
    if (!check)
        return code;
    /* LOST is the outcome of this rank alone; others have a result and go on. */
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
