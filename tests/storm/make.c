/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

#include "make.h"

#include "mpi/lib/check.h"
#include "mpi/lib/sum.h"

static const char *const names[] = {
    "float32",         "float16", "two bytes by an op", "float32 max",
    "float32 product", "int",     "unsigned xor",       "short"};

static MPI_Datatype pair = MPI_DATATYPE_NULL;
static MPI_Op half_sum = MPI_OP_NULL;

const char *make_name(enum storm_what what)
{
    return names[what];
}

enum element make_type(enum storm_what what)
{
    return what == STORM_FLOAT16 || what == STORM_OPAQUE16 || what == STORM_SHORT ? ELEMENT_FLOAT16
                                                                                  : ELEMENT_FLOAT32;
}

/* 0 for what the type of the data has anyway. */
static void find_objects(enum storm_what what, MPI_Datatype *datatype, MPI_Op *op)
{
    *datatype = what == STORM_INT     ? MPI_INT
                : what == STORM_BITS  ? MPI_UNSIGNED
                : what == STORM_SHORT ? MPI_SHORT
                                      : 0;
    *op = what == STORM_MAX       ? MPI_MAX
          : what == STORM_PRODUCT ? MPI_PROD
          : what == STORM_BITS    ? MPI_BXOR
                                  : 0;
    if (what != STORM_OPAQUE16)
        return;
    if (pair == MPI_DATATYPE_NULL) {
        MPI_Type_contiguous(2, MPI_BYTE, &pair);
        MPI_Type_commit(&pair);
        MPI_Op_create(element_add_float16, 1, &half_sum);
    }
    *datatype = pair;
    *op = half_sum;
}

void make_end(void)
{
    if (pair == MPI_DATATYPE_NULL)
        return;
    MPI_Op_free(&half_sum);
    MPI_Type_free(&pair);
}

struct placed make_sum(const struct storm_call *call, uint64_t seed)
{
    struct placed sum = {.kind = call->kind,
                         .type = make_type(call->what),
                         .seed = seed,
                         .count = call->count,
                         .from = call->from,
                         .to = call->to,
                         .in_place = call->in_place,
                         .ahead = call->ahead,
                         .further = call->further};

    find_objects(call->what, &sum.datatype, &sum.op);
    return sum;
}

bool make_call(const struct storm_call *call, const struct placed *sum, MPI_Comm comm, void *result)
{
    struct sum large = {sum->kind, sum->type, sum->seed, sum->count, SUM_LARGE};

    if (call->large && call->what < STORM_OPAQUE16 && call->from == PLACE_HOST &&
        call->to == PLACE_HOST)
        return sum_reduce(&large, comm, result);
    return placed_sum(sum, comm, result);
}

/* ---- communicators ---- */

const char *make_comm_name(enum make_comm kind)
{
    static const char *const kinds[] = {"the world",          "a duplicate",           "reversed",
                                        "even and odd ranks", "all but the last rank", "blocks"};

    return kinds[kind];
}

MPI_Comm make_comm(enum make_comm kind, int *group)
{
    MPI_Comm comm = MPI_COMM_WORLD;
    int key = kind == MAKE_REVERSED ? -check_rank : check_rank;

    *group = kind == MAKE_SPLIT    ? check_rank % 2
             : kind == MAKE_MOST   ? check_rank == check_size - 1
             : kind == MAKE_BLOCKS ? check_rank >= 3
                                   : 0;
    if (kind == MAKE_DUP)
        MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    else if (kind != MAKE_WORLD)
        MPI_Comm_split(MPI_COMM_WORLD, kind == MAKE_MOST && *group ? MPI_UNDEFINED : *group, key,
                       &comm);
    return comm;
}
