/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

/* Calls that must not be compressed give the result of PMPI_Allreduce, to the bit, and the library
 * sends no messages of its own:
 *   exact sums [TYPE]   recurring sums, none of which the settings allow to be compressed
 *   exact half          sums of float16, in which MPICH 4.0 alone aborts
 *   exact forward       odd arguments reach the MPI once, as they are, and its value returns: the
 *                       program answers such calls itself, since MPI libraries crash on some */
#define _GNU_SOURCE

#include <dlfcn.h>
#include <stdlib.h>

#include "codec/quant.h"
#include "lib/check.h"
#include "lib/sums.h"

/* ---- sums ---- */

/* A step of three sums, done often enough for any warm-up. */
static void play_sums(void)
{
    static const size_t counts[] = {1024, 100003, 16384};
    enum element type = ELEMENT_FLOAT32;
    float *result = check_memory(100003 * sizeof(float));
    float *exact = check_memory(100003 * sizeof(float));
    uint64_t before = traffic_messages();
    bool good = true, equal = true;
    MPI_Comm off = MPI_COMM_NULL;

    if (scene_argument(1))
        element_parse(scene_argument(1), &type);
    if (!element_has_datatype(type))
        return;
    if (type != ELEMENT_FLOAT32) {
        off = comms_new();
        comms_hint(off, "cgx_enable", "0");
    }
    for (int i = 0; i < 60; i++) {
        struct sum sum = {DATA_GAUSSIAN, type, (uint64_t)i, counts[i % 3],
                          (enum sum_shape)(i / 3 % SUM_SHAPES)};

        good = sum_reduce(&sum, MPI_COMM_WORLD, result) && good;
        if (off == MPI_COMM_NULL)
            sum_exact(&sum, MPI_COMM_WORLD, exact);
        else /* by the library, since MPICH 4.0 aborts */
            sum_reduce(&sum, off, exact);
        equal = memcmp(result, exact, sum.count * element_size(type)) == 0 && equal;
    }
    check(good, "calls succeed");
    check(equal, "results are those of PMPI_Allreduce, to the bit");
    if (!check_set("CGX_ENABLE", "observe"))
        check(traffic_messages() == before, "nothing is sent besides");
    if (off != MPI_COMM_NULL)
        MPI_Comm_free(&off);
    free(result);
    free(exact);
}

/* ---- half ---- */

#define HALVES 1001
#define FLOAT16 element_datatype(ELEMENT_FLOAT16)
#define UNTOUCHED 0x1234

/* Whole numbers, whose sums are exact in float16. */
static float value(int rank, int i)
{
    return (float)(rank + 1) * (float)(i % 300 - 150);
}

static float sum_of_values(int first, int last, int i)
{
    float sum = 0;

    for (int rank = first; rank <= last; rank++)
        sum += value(rank, i);
    return sum;
}

/* 16-bit words that begin at an odd address. */
static uint16_t *misaligned(void *memory)
{
    return (uint16_t *)((char *)memory + 1);
}

static void put(void *words, int i, uint16_t word)
{
    memcpy((char *)words + 2 * i, &word, sizeof word);
}

static uint16_t get(const void *words, int i)
{
    uint16_t word;

    memcpy(&word, (const char *)words + 2 * i, sizeof word);
    return word;
}

static void fill(void *words, int rank)
{
    for (int i = 0; i < HALVES; i++)
        put(words, i, cgx_to_float16(value(rank, i)));
}

static bool holds_sums(const void *words, int first, int last)
{
    bool good = true;

    for (int i = 0; i < HALVES; i++)
        good = good && get(words, i) == cgx_to_float16(sum_of_values(first, last, i));
    return good;
}

static void test_halves(void *send, void *receive)
{
    int last = check_size - 1;

    fill(send, check_rank);
    MPI_Allreduce(send, receive, HALVES, FLOAT16, MPI_SUM, MPI_COMM_WORLD);
    check(holds_sums(receive, 0, last), "the sum");
    check(holds_sums(send, check_rank, check_rank), "the input is left alone");
    MPI_Allreduce(MPI_IN_PLACE, send, HALVES, FLOAT16, MPI_SUM, MPI_COMM_WORLD);
    check(holds_sums(send, 0, last), "the sum in place");
#if MPI_VERSION >= 4
    fill(send, check_rank);
    memset(receive, 0, 2 * HALVES);
    MPI_Allreduce_c(send, receive, HALVES, FLOAT16, MPI_SUM, MPI_COMM_WORLD);
    check(holds_sums(receive, 0, last), "the sum by MPI_Allreduce_c");
#endif
    fill(send, check_rank);
    memset(receive, 0, 2 * HALVES);
    MPI_Allreduce(send, receive, HALVES, FLOAT16, MPI_SUM, MPI_COMM_SELF);
    check(holds_sums(receive, check_rank, check_rank), "the sum of one");

    put(receive, 0, UNTOUCHED);
    MPI_Allreduce(send, receive, 0, FLOAT16, MPI_SUM, MPI_COMM_WORLD);
    check(get(receive, 0) == UNTOUCHED, "no elements, nothing written");
}

/* Rank 0 on one side, the rest on the other: each side gets the other's sum. */
static void test_intercommunicator(void *send, void *receive)
{
    bool alone = check_rank == 0;
    MPI_Comm side, both;

    PMPI_Comm_split(MPI_COMM_WORLD, alone, 0, &side);
    PMPI_Intercomm_create(side, 0, MPI_COMM_WORLD, alone ? 1 : 0, 1, &both);
    fill(send, check_rank);
    MPI_Allreduce(send, receive, HALVES, FLOAT16, MPI_SUM, both);
    check(holds_sums(receive, alone ? 1 : 0, alone ? check_size - 1 : 0),
          "the other group's sum on an intercommunicator");
    PMPI_Comm_free(&both);
    PMPI_Comm_free(&side);
}

static void test_special(uint16_t *send, uint16_t *receive)
{
    bool first = check_rank == 0;

    send[0] = first ? 0x7C00 : 0xC000; /* inf */
    send[1] = 0x7BFF;                  /* overflow */
    send[2] = first ? 0x7E01 : 0x3C00; /* NaN */
    send[3] = 0x0001;                  /* subnormal */
    send[4] = 0x8000;                  /* -0 */
    MPI_Allreduce(send, receive, 5, FLOAT16, MPI_SUM, MPI_COMM_WORLD);
    check(receive[0] == 0x7C00, "infinity stays");
    check(receive[1] == 0x7C00, "overflow is infinite");
    check((receive[2] & 0x7FFF) > 0x7C00, "NaN stays");
    check(receive[3] == check_size, "subnormal numbers are summed");
    check(receive[4] == 0x8000, "-0 stays");
}

/* The MPI library says what is wrong, as it would without us. */
static void test_errors(uint16_t *send)
{
    int code, class;

    PMPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    code = MPI_Allreduce(send, NULL, HALVES, FLOAT16, MPI_SUM, MPI_COMM_WORLD);
    PMPI_Error_class(code, &class);
    check(class == MPI_ERR_BUFFER, "no buffer is an error");
    code = MPI_Allreduce(send, send, HALVES, FLOAT16, MPI_SUM, MPI_COMM_WORLD);
    PMPI_Error_class(code, &class);
    check(class == MPI_ERR_BUFFER, "the same buffer twice is an error");
    PMPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL);
}

/* 2048 + 1 + 1 is 2050, but 2048 if it is rounded after each addition. */
static void test_rounding(uint16_t *send, uint16_t *receive)
{
    char version[MPI_MAX_LIBRARY_VERSION_STRING];
    int length;

    PMPI_Get_library_version(version, &length);
    if (strncmp(version, "MPICH Version:\t4.0", 18) != 0 || check_size != 3) {
        check_note("rounding is this library's on 3 ranks of MPICH 4.0 only");
        return;
    }
    for (int i = 0; i < 3; i++)
        send[i] = i == check_rank ? 0x6800 : 0x3C00;
    MPI_Allreduce(send, receive, 3, FLOAT16, MPI_SUM, MPI_COMM_WORLD);
    check(receive[0] == 0x6801 && receive[1] == 0x6801 && receive[2] == 0x6801,
          "sums are rounded once");
}

static void play_half(void)
{
    uint16_t *send, *receive;

    if (!element_has_datatype(ELEMENT_FLOAT16))
        return;
    send = check_memory(2 * HALVES + 2);
    receive = check_memory(2 * HALVES + 2);
    test_halves(send, receive);
    test_halves(misaligned(send), misaligned(receive));
    test_intercommunicator(send, receive);
    test_special(send, receive);
    test_errors(send);
    test_rounding(send, receive);
    free(send);
    free(receive);
}

/* ---- forward ---- */

#define ANSWER 4711 /* what no MPI returns */

/* The arguments of the latest call. */
static struct {
    const void *from;
    void *to;
    long long count;
    MPI_Datatype datatype;
    MPI_Op op;
    MPI_Comm comm;
    int calls;
} seen;

static bool answering; /* calls are not passed on */

static void record(const void *from, void *to, long long count, MPI_Datatype datatype, MPI_Op op,
                   MPI_Comm comm)
{
    seen.from = from;
    seen.to = to;
    seen.count = count;
    seen.datatype = datatype;
    seen.op = op;
    seen.comm = comm;
    seen.calls++;
}

static bool answer(const void *from, void *to, int count, MPI_Datatype datatype, MPI_Op op,
                   MPI_Comm comm, int *code)
{
    record(from, to, count, datatype, op, comm);
    *code = ANSWER;
    return answering;
}

#if MPI_VERSION >= 4
int PMPI_Allreduce_c(const void *from, void *to, MPI_Count count, MPI_Datatype datatype, MPI_Op op,
                     MPI_Comm comm)
{
    int (*next)(const void *, void *, MPI_Count, MPI_Datatype, MPI_Op, MPI_Comm);

    record(from, to, count, datatype, op, comm);
    *(void **)&next = dlsym(RTLD_NEXT, "PMPI_Allreduce_c");
    return answering ? ANSWER : next(from, to, count, datatype, op, comm);
}
#endif

static void test_call(const char *name, const void *from, void *to, int count,
                      MPI_Datatype datatype, MPI_Op op, MPI_Comm comm)
{
    bool good;

    memset(&seen, 0, sizeof seen);
    answering = true;
    good = MPI_Allreduce(from, to, count, datatype, op, comm) == ANSWER;
    answering = false;
    good = good && seen.calls == 1 && seen.from == from && seen.to == to && seen.count == count &&
           seen.datatype == datatype && seen.op == op && seen.comm == comm;
    check(good, "%s: passed on once, as it is", name);
}

#if MPI_VERSION >= 4
static void test_large(const void *from, void *to, MPI_Count count)
{
    bool good;

    memset(&seen, 0, sizeof seen);
    answering = true;
    good = MPI_Allreduce_c(from, to, count, MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD) == ANSWER;
    answering = false;
    good = good && seen.calls == 1 && seen.from == from && seen.to == to && seen.count == count;
    check(good, "MPI_Allreduce_c of %lld: passed on once, as it is", (long long)count);
}
#endif

static void play_forward(void)
{
    enum { N = 4096 };
    float *buffer = calloc(2 * N, sizeof(float)), *other = buffer + N;
    MPI_Comm world = MPI_COMM_WORLD;

    traffic_allreduce = answer;
    /* Ranks compare settings in the fourth call that could be compressed, at the latest. */
    for (int i = 0; i < 4; i++)
        MPI_Allreduce(buffer, other, N, MPI_FLOAT, MPI_SUM, world);
    test_call("negative count", buffer, other, -1, MPI_FLOAT, MPI_SUM, world);
    test_call("most negative count", buffer, other, -2147483647 - 1, MPI_FLOAT, MPI_SUM, world);
    test_call("no elements", NULL, NULL, 0, MPI_FLOAT, MPI_SUM, world);
    test_call("no elements in place", MPI_IN_PLACE, NULL, 0, MPI_FLOAT, MPI_SUM, world);
    test_call("aliased buffers", buffer, buffer, N, MPI_FLOAT, MPI_SUM, world);
    test_call("NULL send buffer", NULL, other, N, MPI_FLOAT, MPI_SUM, world);
    test_call("NULL receive buffer", buffer, NULL, N, MPI_FLOAT, MPI_SUM, world);
    test_call("MPI_IN_PLACE as receive buffer", buffer, MPI_IN_PLACE, N, MPI_FLOAT, MPI_SUM, world);
    test_call("no datatype", buffer, other, N, MPI_DATATYPE_NULL, MPI_SUM, world);
    test_call("no op", buffer, other, N, MPI_FLOAT, MPI_OP_NULL, world);
    test_call("an op that floats do not have", buffer, other, N, MPI_FLOAT, MPI_BAND, world);
    test_call("no communicator", buffer, other, N, MPI_FLOAT, MPI_SUM, MPI_COMM_NULL);
    test_call("a handle that is none", buffer, other, N, (MPI_Datatype)0x12345678, MPI_SUM, world);
    test_call("doubles", buffer, other, N / 2, MPI_DOUBLE, MPI_SUM, world);
    test_call("few floats", buffer, other, 1000, MPI_FLOAT, MPI_SUM, world);
#if MPI_VERSION >= 4
    test_large(buffer, other, -1);
    test_large(buffer, other, 0);
    test_large(buffer, other, 1000);
    test_large(buffer, buffer, N);
#endif
    free(buffer);
}

int main(int argc, char **argv)
{
    static const struct scene scenes[] = {
        {"sums", play_sums, NULL, false},
        {"half", play_half, NULL, false},
        {"forward", play_forward, NULL, false},
    };

    return scenes_main(argc, argv, scenes, sizeof scenes / sizeof scenes[0]);
}
