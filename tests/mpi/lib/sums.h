/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

/* Sums of test data: the data is a pure function of (kind, seed, rank, element), so that every rank
 * can compute the exact sum of all ranks' inputs without a message. */
#ifndef TESTS_MPI_LIB_SUMS_H
#define TESTS_MPI_LIB_SUMS_H

#include <mpi.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

/* ---- the element types of compressed calls ---- */

/* Written from IEEE 754 in double arithmetic, and sharing nothing with the library. */

enum element { ELEMENT_FLOAT32, ELEMENT_FLOAT16, ELEMENT_BFLOAT16 };

/* false for a name other than float32, float16 and bfloat16. */
bool element_parse(const char *name, enum element *type);

size_t element_size(enum element type);

/* MPI_DATATYPE_NULL where this mpi.h has none. */
MPI_Datatype element_datatype(enum element type);

/* Whether there is one; if not, that is a test of the program, skipped. All ranks take part. */
bool element_has_datatype(enum element type);

/* The three below, of 16 bits. */
double element_round_narrow(enum element type, double value);
void element_store_narrow(enum element type, void *buffer, size_t index, double value);
double element_load_narrow(enum element type, const void *buffer, size_t index);

/* VALUE rounded to the type: to nearest, halves to even, overflow to infinity. */
static inline double element_round(enum element type, double value)
{
    return type == ELEMENT_FLOAT32 ? (double)(float)value : element_round_narrow(type, value);
}

/* BUFFER may be misaligned. */
static inline void element_store(enum element type, void *buffer, size_t index, double value)
{
    float single = (float)value;

    if (type == ELEMENT_FLOAT32)
        memcpy((char *)buffer + index * sizeof single, &single, sizeof single);
    else
        element_store_narrow(type, buffer, index, value);
}

static inline double element_load(enum element type, const void *buffer, size_t index)
{
    float single;

    if (type != ELEMENT_FLOAT32)
        return element_load_narrow(type, buffer, index);
    memcpy(&single, (const char *)buffer + index * sizeof single, sizeof single);
    return (double)single;
}

/* Horovod's way to sum float16, which MPI_Op_create takes: INOUT[i] += IN[i], rounded. */
void element_add_float16(void *in, void *inout, int *length, MPI_Datatype *datatype);

/* Half a unit in the last place at the magnitude of VALUE. */
double element_half_ulp(enum element type, double value);

/* ---- data ---- */

enum data_kind {
    DATA_GAUSSIAN,
    DATA_HEAVY,    /* heavy-tailed: most values far below the bucket's largest */
    DATA_SPARSE,   /* one element in 64 is not zero */
    DATA_OFFSET,   /* 100 plus a little: the range does not include zero */
    DATA_SCALES,   /* the magnitude changes from bucket to bucket and from rank to rank */
    DATA_CONSTANT, /* one value for each rank */
    DATA_ONES,
    DATA_ZEROS,
    DATA_TINY, /* around the smallest numbers of the type, subnormal ones included */
    DATA_HUGE, /* 1e30, or for float16 thousands */
    DATA_TAME_KINDS,
    DATA_NONFINITE = DATA_TAME_KINDS, /* a NaN or an infinity here and there */
    DATA_LIMIT, /* here and there all ranks come near the largest number, or their sum exceeds it */
    DATA_KINDS
};

const char *data_name(enum data_kind kind);

/* A uniform 64-bit hash of its arguments. */
uint64_t data_random(uint64_t seed, uint64_t stream, uint64_t index);

/* Representable in TYPE. */
double data_value(enum data_kind kind, enum element type, uint64_t seed, int rank, size_t index);

/* Those of elements FIRST to FIRST + COUNT - 1. */
void data_values(enum data_kind kind, enum element type, uint64_t seed, int rank, size_t first,
                 size_t count, double *values);

/* Elements 0 to COUNT - 1 of RANK's input; BUFFER may be misaligned. */
void data_fill(enum data_kind kind, enum element type, uint64_t seed, int rank, size_t count,
               void *buffer);

/* ---- sums in buffers that live anywhere ---- */

/* DEVICE and MANAGED: of the context that is current when the buffer is made. */
enum place { PLACE_HOST, PLACE_PINNED, PLACE_DEVICE, PLACE_MANAGED, PLACES };

const char *place_name(enum place place);

/* Opens a device on every rank. False: some rank has none, or has a real driver though a SOFT one
 * is needed; then NAME is skipped. */
bool place_begin(const char *name, bool soft);

/* The same, for scenes. */
static inline bool place_any(const char *name)
{
    return place_begin(name, false);
}

/* A buffer of the BYTES at CONTENT; place_read copies it back, also while the program itself cannot
 * touch it. */
void *place_make(enum place place, const void *content, size_t bytes);
void place_read(enum place place, void *content, const void *buffer, size_t bytes);
void place_free(enum place place, void *buffer);

/* The sum of data_fill(kind, type, seed, rank) over all ranks. */
struct placed {
    enum data_kind kind;
    enum element type;
    uint64_t seed;
    size_t count;
    enum place from, to;
    bool in_place;         /* in TO */
    size_t ahead, further; /* bytes that the send and the receive buffer are misaligned by */
    MPI_Datatype datatype; /* 0: the type's own; COUNT elements may be fewer of these */
    MPI_Op op;             /* 0: MPI_SUM */
    bool large;            /* by MPI_Allreduce_c, if the MPI has it */
};

/* A sum of floats, of DATA_GAUSSIAN. */
static inline struct placed placed_floats(uint64_t seed, size_t count, enum place from,
                                          enum place to, bool in_place)
{
    return (struct placed){
        .seed = seed, .count = count, .from = from, .to = to, .in_place = in_place};
}

/* MPI_Allreduce. False if it failed, changed its send buffer or wrote outside its receive buffer.
 */
bool placed_sum(const struct placed *sum, MPI_Comm comm, void *result);

/* The same with aligned buffers in ordinary memory and in two of them. */
bool placed_reference(const struct placed *sum, MPI_Comm comm, void *result);

/* The same through PMPI_Allreduce. */
bool placed_exact(const struct placed *sum, MPI_Comm comm, void *result);

/* ---- in host memory ---- */

/* A sum that is called in each of the ways that a program may. */
enum sum_shape {
    SUM_SEPARATE,
    SUM_IN_PLACE,
    SUM_MISALIGNED, /* both buffers, differently, by odd numbers of bytes */
    SUM_MIXED,      /* in place on every other rank */
    SUM_LARGE,      /* MPI_Allreduce_c */
    SUM_SHAPES
};

const char *sum_shape_name(enum sum_shape shape);

struct sum {
    enum data_kind kind;
    enum element type;
    uint64_t seed;
    size_t count;
    enum sum_shape shape;
};

/* Sums data_fill(kind, type, seed, rank) through MPI_Allreduce into RESULT. False if the call
 * failed, changed its send buffer or wrote outside its receive buffer. */
bool sum_reduce(const struct sum *sum, MPI_Comm comm, void *result);

/* The same through PMPI_Allreduce. */
bool sum_exact(const struct sum *sum, MPI_Comm comm, void *result);

/* ---- what the library sends ---- */

/* The program that calls any of these defines PMPI_Isend, or with allreduce.c PMPI_Allreduce, which
 * the library finds first since it looks the MPI up through its caller's object (link with
 * -rdynamic). */

/* Payload bytes handed to PMPI_Isend by this process so far; 0 growth across a call means that it
 * was exact. Thread-safe. */
uint64_t traffic_bytes(void);

/* Messages likewise. */
uint64_t traffic_messages(void);

/* Bytes of the longest message so far. */
uint64_t traffic_longest(void);

/* Is called with each message, if it is not NULL. */
extern void (*traffic_look)(const unsigned char *message, size_t bytes);

/* Whether MPI moves all messages, as CGX_INNER_COMMUNICATOR_TYPE says. */
bool traffic_has_all(void);

/* Whether placed_sum on COMM is compressed (which is seen in the messages that are sent), and gives
 * what placed_reference gives on OTHER, which has seen the same sequence of calls, and the same on
 * all ranks. Says on stderr what is not so. */
bool placed_agrees(const struct placed *sum, MPI_Comm comm, MPI_Comm other);

/* In allreduce.c: calls of PMPI_Allreduce by the calling thread so far, the program's own by this
 * name included. */
uint64_t traffic_allreduces(void);

/* Is called with each of them, if it is not NULL. True: that was all, with the value *CODE. */
extern bool (*traffic_allreduce)(const void *from, void *to, int n, MPI_Datatype datatype,
                                 MPI_Op op, MPI_Comm comm, int *code);

/* ---- sums of device buffers in which something goes wrong: device_sum.c ---- */

/* With 4 bits and inputs in [-1, 1]. */

/* What came of a call. */
enum device_end { DEVICE_COMPRESSED, DEVICE_EXACT, DEVICE_ERROR, DEVICE_WRONG, DEVICE_ENDS };

struct device_sum {
    size_t count;
    float *input, *exact, *result;
    char *send, *receive; /* on the device, COUNT elements each */
};

/* After device_open. Buffers and what exact calls keep on the device are there then. */
void device_sum_begin(struct device_sum *sum, size_t count);
void device_sum_end(struct device_sum *sum);

/* After device_reset and device_open: gets the device buffers again, the old ones being gone. */
void device_sum_renew(struct device_sum *sum);

/* The parts of a call: the input goes to the device, then MPI_Allreduce, then what came of it on
 * this rank. */
void device_sum_upload(const struct device_sum *sum);
int device_sum_call(const struct device_sum *sum, bool in_place, MPI_Comm comm);
enum device_end device_sum_look(const struct device_sum *sum, bool in_place, int code);

/* All of them. */
enum device_end device_sum_once(const struct device_sum *sum, bool in_place, MPI_Comm comm);

/* Whether all ranks came to the same END, with the same result where there is one. For all ranks to
 * call. */
bool device_sum_alike(const struct device_sum *sum, enum device_end end);

/* CALLS calls, alternately in place, are right on all ranks; *COMPRESSED: the last was. */
bool device_sum_right(const struct device_sum *sum, int calls, MPI_Comm comm, bool *compressed);

/* ---- calls that fail: faults/call_faults.c ---- */

/* MPI calls of the library's that fail on demand, and messages that are spoilt on their way. The
 * program defines PMPI_Allgather, PMPI_Allreduce, PMPI_Comm_split, PMPI_Irecv, PMPI_Isend and
 * PMPI_Testsome. */

/* The NTH call of CALL from here on ("allgather", "ballot", "irecv", "isend", "split" or
 * "testsome", which must outlive it) fails in this process: it does nothing and returns
 * MPI_ERR_OTHER; other ranks' split succeeds without this one, and a ballot takes place. 0: none
 * does. */
void call_faults_set(const char *call, int nth);

/* Whether the call that is to fail is still to come. */
bool call_faults_expected(void);

/* Changes a copy of BYTES bytes, which is sent in the place of the message. */
typedef void call_faults_change(unsigned char *message, size_t bytes);

/* The NTH message from here on is changed on its way, unless it has more than 64 KiB. 0: none is.
 */
void call_faults_spoil(int nth, call_faults_change *change);

#endif
