/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

#define _GNU_SOURCE

#include "mpi/ops.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stddef.h>
#include <string.h>

#include "mpi/table.h"
#include "util/float_state.h"

/* An op may depend on its datatype, so each datatype has an answer. */
#define ANSWERS 4

struct answer {
    cgx_mpi_datatype datatype; /* NULL: free */
    enum cgx_op_class class;
    struct cgx_op_reach reach; /* if it is a sum */
};

struct record {
    cgx_mpi_op op; /* NULL: free */
    struct cgx_op_source source;
    struct answer answers[ANSWERS];
};

static struct record records[CGX_OPS_MAX];
static unsigned used; /* records from here on were never used */
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;

static struct record *find_record(cgx_mpi_op op)
{
    for (unsigned i = 0; i < used; i++)
        if (records[i].op == op)
            return &records[i];
    return NULL;
}

static struct answer *find_answer(struct record *record, cgx_mpi_datatype datatype)
{
    for (int i = 0; i < ANSWERS; i++)
        if (record->answers[i].datatype == datatype)
            return &record->answers[i];
    return NULL;
}

static bool lies_in(const void *address, const char *part_of_path)
{
    Dl_info info;

    return dladdr(address, &info) != 0 && strstr(info.dli_fname, part_of_path);
}

/* Whether the function may be called with C's arguments and only computes. Closures of ctypes,
 * cffi, numba or Julia are in no shared object. */
static bool is_plain(const struct cgx_op_source *source)
{
    const void *function = (const void *)source->function;
    Dl_info info;

    return source->commute && dladdr(function, &info) != 0 && !lies_in(function, "mpi4py") &&
           !lies_in(source->caller, "libmpichcxx") && !lies_in(source->caller, "libmpicxx") &&
           !lies_in(source->caller, "libmpi_cxx");
}

void cgx_op_created(cgx_mpi_op op, const struct cgx_op_source *source)
{
    bool plain = is_plain(source);
    struct record *record;

    pthread_mutex_lock(&mutex);
    /* A record is left over if the program freed its op by MPI's PMPI_ name. */
    record = find_record(op);
    if (record)
        record->op = NULL;
    record = plain ? find_record(NULL) : NULL;
    if (plain && !record && used < CGX_OPS_MAX)
        record = &records[used++];
    if (record)
        *record = (struct record){.op = op, .source = *source};
    pthread_mutex_unlock(&mutex);
}

void cgx_op_freed(cgx_mpi_op op)
{
    struct record *record;

    if (!cgx_op_is_user(op))
        return;
    pthread_mutex_lock(&mutex);
    record = find_record(op);
    if (record)
        record->op = NULL;
    pthread_mutex_unlock(&mutex);
}

void cgx_op_type_freed(cgx_mpi_datatype datatype)
{
    if (!datatype)
        return;
    pthread_mutex_lock(&mutex);
    for (unsigned i = 0; i < used; i++) {
        struct answer *answer = find_answer(&records[i], datatype);

        if (answer)
            answer->datatype = NULL;
    }
    pthread_mutex_unlock(&mutex);
}

bool cgx_op_is_user(cgx_mpi_op op)
{
    return cgx_mpi()->looks_created(op);
}

/* *SOURCE is set if the answer is CGX_OP_UNTESTED; *SOURCE and *REACH if it is a sum. */
static enum cgx_op_class look_up(cgx_mpi_op op, cgx_mpi_datatype datatype,
                                 struct cgx_op_source *source, struct cgx_op_reach *reach)
{
    enum cgx_op_class class = CGX_OP_OTHER;
    struct record *record;
    struct answer *answer;

    if (!cgx_op_is_user(op) || !datatype)
        return CGX_OP_OTHER;
    pthread_mutex_lock(&mutex);
    record = find_record(op);
    answer = record ? find_answer(record, datatype) : NULL;
    if (answer) {
        class = answer->class;
        *source = record->source;
        *reach = answer->reach;
    } else if (record && find_answer(record, NULL)) {
        class = CGX_OP_UNTESTED;
        *source = record->source;
    }
    pthread_mutex_unlock(&mutex);
    return class;
}

static void keep(cgx_mpi_op op, cgx_mpi_datatype datatype, enum cgx_op_class class)
{
    struct record *record;
    struct answer *room;

    pthread_mutex_lock(&mutex);
    record = find_record(op);
    room = record ? find_answer(record, NULL) : NULL;
    if (room && !find_answer(record, datatype))
        *room = (struct answer){.datatype = datatype, .class = class};
    pthread_mutex_unlock(&mutex);
}

/* Keeps that the op was tested up to REACH: whether it is a sum there. */
static void keep_reach(cgx_mpi_op op, cgx_mpi_datatype datatype, bool is_sum,
                       const struct cgx_op_reach *reach)
{
    struct record *record;
    struct answer *answer;

    pthread_mutex_lock(&mutex);
    record = find_record(op);
    answer = record ? find_answer(record, datatype) : NULL;
    if (answer && !is_sum)
        answer->class = CGX_OP_OTHER;
    if (answer)
        answer->reach = *reach;
    pthread_mutex_unlock(&mutex);
}

enum cgx_op_class cgx_op_known(cgx_mpi_op op, cgx_mpi_datatype datatype)
{
    struct cgx_op_source source;
    struct cgx_op_reach reach;

    return look_up(op, datatype, &source, &reach);
}

enum cgx_op_class cgx_op_ask(cgx_mpi_op op, cgx_mpi_datatype datatype, const uint16_t *words,
                             size_t count)
{
    struct cgx_op_source source;
    struct cgx_op_reach reach;
    enum cgx_op_class class = look_up(op, datatype, &source, &reach);
    union cgx_float_state caller;

    if (class != CGX_OP_UNTESTED)
        return class;
    /* Not under the mutex, since this calls a function of the program. */
    cgx_float_enter(&caller);
    class = cgx_op_try(&source, datatype, words, count);
    cgx_float_leave(&caller);
    if (class != CGX_OP_UNTESTED)
        keep(op, datatype, class);
    return class;
}

enum cgx_op_class cgx_op_confirm(cgx_mpi_op op, cgx_mpi_datatype datatype, unsigned ranks,
                                 const struct cgx_op_extremes *seen)
{
    struct cgx_op_source source;
    struct cgx_op_reach reach;
    enum cgx_op_class class = look_up(op, datatype, &source, &reach);
    union cgx_float_state caller;
    bool is_sum;

    if (class == CGX_OP_OTHER || class == CGX_OP_UNTESTED)
        return class;
    cgx_float_enter(&caller);
    is_sum = cgx_op_reaches(class, ranks, seen, &reach);
    if (!is_sum) {
        is_sum = cgx_op_extend(&source, datatype, class, ranks, seen, &reach);
        keep_reach(op, datatype, is_sum, &reach);
    }
    cgx_float_leave(&caller);
    return is_sum ? class : CGX_OP_OTHER;
}

/* ---- ops of large counts ---- */

static cgx_mpi_user_function_c *functions[CGX_OP_LARGE_MAX];

/* An op's function gets no argument that identifies the op. So each large function needs a small
 * one of its own, whose number has two octal digits. */
#define ROWS(X) X(0) X(1) X(2) X(3) X(4) X(5) X(6) X(7)
#define COLUMNS(X, row) \
    X(0##row##0)        \
    X(0##row##1) X(0##row##2) X(0##row##3) X(0##row##4) X(0##row##5) X(0##row##6) X(0##row##7)

#define DEFINE(number)                                                           \
    static void call_##number(void *in, void *inout, int *count, void *datatype) \
    {                                                                            \
        cgx_mpi_count large = *count;                                            \
                                                                                 \
        functions[number](in, inout, &large, datatype);                          \
    }
#define DEFINE_ROW(row) COLUMNS(DEFINE, row)
ROWS(DEFINE_ROW)

#define NAME(number) call_##number,
#define NAME_ROW(row) COLUMNS(NAME, row)
static cgx_mpi_user_function *const callers[CGX_OP_LARGE_MAX] = {ROWS(NAME_ROW)};

cgx_mpi_user_function *cgx_op_from_large(cgx_mpi_user_function_c *function)
{
    cgx_mpi_user_function *caller = NULL;

    pthread_mutex_lock(&mutex);
    for (int i = 0; i < CGX_OP_LARGE_MAX && !caller; i++) {
        if (!functions[i])
            functions[i] = function;
        if (functions[i] == function)
            caller = callers[i];
    }
    pthread_mutex_unlock(&mutex);
    return caller;
}
