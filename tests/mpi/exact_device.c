/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

/* Exact calls on device buffers give the result of PMPI_Allreduce for host buffers, to the bit,
 * including gaps and surroundings of the buffers, wherever each rank's buffers are, with an MPI
 * that is not CUDA-aware. "exact_device gpu|cuda|none": one that is gets device buffers unchanged;
 * it is asked once, and not before MPI_Init. The program stands in for that MPI and has the
 * functions that the library looks for; the argument says which of the two answers yes. */

#include <stdlib.h>

#include "lib/check.h"
#include "lib/device.h"
#include "lib/sums.h"

#define FLOAT16 element_datatype(ELEMENT_FLOAT16)
#define CANARY 0xA5
#define H PLACE_HOST
#define D PLACE_DEVICE
#define M PLACE_MANAGED

/* ---- calls ---- */

enum fill { FLOATS, DOUBLES, HALVES, BYTES, BOOLS };

/* A call, whose buffers are BEFORE bytes, where MPI's address points, and BYTES - BEFORE more. Data
 * that begins elsewhere: SHIFT bytes further on than the buffer's first byte. */
struct call {
    const char *name;
    MPI_Datatype datatype;
    MPI_Op op;
    int count;
    enum fill fill;
    size_t before, bytes, shift;
};

/* Where the buffers of even and of odd ranks are. */
static const struct {
    const char *name;
    enum place send[2], receive[2];
} placements[] = {
    {"device", {D, D}, {D, D}},
    {"from device to host", {D, D}, {H, H}},
    {"from host to device", {H, H}, {D, D}},
    {"even ranks host, odd device", {H, D}, {H, D}},
    {"device and managed", {D, M}, {M, D}},
};
enum { PLACEMENTS = sizeof placements / sizeof placements[0] };

static uint64_t state;

static uint32_t draw(void)
{
    state = state * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)(state >> 33);
}

static void fill(enum fill how, unsigned char *memory, size_t bytes)
{
    static const size_t sizes[] = {sizeof(float), sizeof(double), 2, 1, 1};
    size_t size = sizes[how];

    state = (uint64_t)check_rank + 1;
    for (size_t at = 0; at + size <= bytes; at += size) {
        double real = ((double)draw() + (double)draw() / 0x7fffffff) / 0x7fffffff - 0.5;
        float single = (float)real;
        uint16_t half = (uint16_t)(0x3000 + draw() % 0x0C00); /* 1/8 to 1 */
        unsigned char byte = (unsigned char)draw(), boolean = byte & 1;
        const void *values[] = {&single, &real, &half, &byte, &boolean};

        memcpy(memory + at, values[how], size);
    }
}

/* Whether MEMORY holds WANTED; releases it. */
static bool take_back(enum place where, unsigned char *memory, const unsigned char *wanted,
                      size_t bytes)
{
    unsigned char *content = check_memory(bytes);
    bool equal;

    place_read(where, content, memory, bytes);
    equal = memcmp(content, wanted, bytes) == 0;
    free(content);
    place_free(where, memory);
    return equal;
}

/* What MPI is given for a buffer. */
static void *address(const struct call *call, const unsigned char *memory)
{
    return (void *)((uintptr_t)memory + call->before - call->shift);
}

/* One call with buffers in PLACEMENT against the same call with host buffers. */
static bool is_exact(const struct call *call, MPI_Comm comm, int placement, bool in_place)
{
    enum place from = placements[placement].send[check_rank % 2];
    enum place to = placements[placement].receive[check_rank % 2];
    unsigned char *input = check_memory(call->bytes), *wanted = check_memory(call->bytes);
    unsigned char *send, *receive;
    bool equal;

    memset(wanted, CANARY, call->bytes);
    memset(input, CANARY, call->bytes);
    fill(call->fill, input + call->before % 8, call->bytes - call->before % 8);
    if (in_place)
        memcpy(wanted, input, call->bytes);
    send = place_make(from, input, call->bytes);
    receive = place_make(to, wanted, call->bytes);
    equal = PMPI_Allreduce(in_place ? MPI_IN_PLACE : address(call, input), address(call, wanted),
                           call->count, call->datatype, call->op, comm) == MPI_SUCCESS;
    equal = MPI_Allreduce(in_place ? MPI_IN_PLACE : address(call, send), address(call, receive),
                          call->count, call->datatype, call->op, comm) == MPI_SUCCESS &&
            equal;
    equal = take_back(from, send, input, call->bytes) && equal;
    equal = take_back(to, receive, wanted, call->bytes) && equal;
    free(input);
    free(wanted);
    return equal;
}

static void test_call(const struct call *call, MPI_Comm comm, bool intracommunicator)
{
    bool equal = true;

    for (int placement = 0; placement < PLACEMENTS; placement++)
        for (int in_place = 0; in_place < (intracommunicator ? 2 : 1); in_place++)
            if (!is_exact(call, comm, placement, in_place)) {
                check_note("rank %d: %s%s", check_rank, placements[placement].name,
                           in_place ? ", in place" : "");
                equal = false;
            }
    check(equal, "%s: as with host buffers, to the bit", call->name);
}

/* ---- predefined types ---- */

static void test_predefined(void)
{
    const struct call calls[] = {
        {"sum of floats", MPI_FLOAT, MPI_SUM, 3001, FLOATS, 64, 12100, 0},
        {"misaligned floats", MPI_FLOAT, MPI_SUM, 1000, FLOATS, 3, 4011, 0},
        {"one float", MPI_FLOAT, MPI_MAX, 1, FLOATS, 4, 12, 0},
        {"product of doubles", MPI_DOUBLE, MPI_PROD, 501, DOUBLES, 8, 4024, 0},
        {"least double", MPI_DOUBLE, MPI_MIN, 501, DOUBLES, 8, 4024, 0},
        {"sum of bytes", MPI_INT8_T, MPI_SUM, 999, BYTES, 5, 1010, 0},
        {"sum of integers", MPI_INT, MPI_SUM, 999, BYTES, 4, 4004, 0},
        {"exclusive or of integers", MPI_UINT16_T, MPI_BXOR, 999, BYTES, 4, 2004, 0},
        {"bits of bytes", MPI_BYTE, MPI_BAND, 999, BYTES, 1, 1001, 0},
        {"largest long integer", MPI_UINT64_T, MPI_MAX, 99, BYTES, 8, 808, 0},
        {"booleans", MPI_C_BOOL, MPI_LOR, 99, BOOLS, 1, 104, 0},
        {"sum of complex floats", MPI_C_FLOAT_COMPLEX, MPI_SUM, 99, FLOATS, 8, 808, 0},
        {"product of complex doubles", MPI_C_DOUBLE_COMPLEX, MPI_PROD, 99, DOUBLES, 16, 1616, 0},
        {"addresses", MPI_AINT, MPI_SUM, 99, BYTES, 8, 808, 0},
        {"largest float and where", MPI_FLOAT_INT, MPI_MAXLOC, 99, FLOATS, 8, 808, 0},
        {"least pair of integers", MPI_2INT, MPI_MINLOC, 99, BYTES, 8, 808, 0},
        {"pairs with padding: double and int", MPI_DOUBLE_INT, MPI_MAXLOC, 99, DOUBLES, 16, 1616,
         0},
        {"pairs with padding: short and int", MPI_SHORT_INT, MPI_MINLOC, 99, BYTES, 8, 808, 0},
        {"a call large enough to be compressed", MPI_FLOAT, MPI_SUM, 40000, FLOATS, 16, 160032, 0},
    };

    for (size_t i = 0; i < sizeof calls / sizeof calls[0]; i++)
        test_call(&calls[i], MPI_COMM_WORLD, true);
    test_call(&calls[0], MPI_COMM_SELF, true);
}

/* MPICH 4.0 aborts in its own sum of these: the reference is the library's on host buffers. */
static void test_half(void)
{
    enum { COUNT = 1001 };
    uint16_t input[COUNT], wanted[COUNT], result[COUNT];
    void *send, *receive;

    fill(HALVES, (unsigned char *)input, sizeof input);
    MPI_Allreduce(input, wanted, COUNT, FLOAT16, MPI_SUM, MPI_COMM_WORLD);
    send = device_clone(input, sizeof input);
    receive = device_alloc(sizeof input);
    MPI_Allreduce(send, receive, COUNT, FLOAT16, MPI_SUM, MPI_COMM_WORLD);
    device_download(result, receive, sizeof result);
    check(memcmp(result, wanted, sizeof result) == 0, "sum of half precision");
    /* Even ranks in host memory. */
    memcpy(result, input, sizeof result);
    MPI_Allreduce(MPI_IN_PLACE, check_rank % 2 ? send : result, COUNT, FLOAT16, MPI_SUM,
                  MPI_COMM_WORLD);
    if (check_rank % 2)
        device_download(result, send, sizeof result);
    check(memcmp(result, wanted, sizeof result) == 0, "sum of half precision, in place, mixed");
    device_free(send);
    device_free(receive);
}

/* A thread of the program that never used CUDA may pass on what another allocated. */
static void test_no_context(void)
{
    int input = check_rank + 1, wanted, result;
    void *send = device_clone(&input, sizeof input), *receive = device_alloc(sizeof input);

    PMPI_Allreduce(&input, &wanted, 1, MPI_INT, MPI_PROD, MPI_COMM_WORLD);
    device_close();
    MPI_Allreduce(send, receive, 1, MPI_INT, MPI_PROD, MPI_COMM_WORLD);
    device_open(check_rank);
    device_download(&result, receive, sizeof result);
    check(result == wanted, "a thread without a CUDA context");
    device_free(send);
    device_free(receive);
}

/* ---- derived types and ops of the program ---- */

/* Where the floats of an element are, for the op. */
static struct {
    int floats;
    MPI_Aint at[8];
} layout;

/* Not commutative: a + b / 2. */
static void add_half(void *in, void *inout, int *count, MPI_Datatype *datatype)
{
    MPI_Aint bound, extent;

    PMPI_Type_get_extent(*datatype, &bound, &extent);
    for (int i = 0; i < *count; i++)
        for (int k = 0; k < layout.floats; k++) {
            float left, right;

            memcpy(&left, (char *)in + i * extent + layout.at[k], sizeof left);
            memcpy(&right, (char *)inout + i * extent + layout.at[k], sizeof right);
            right = left + right / 2;
            memcpy((char *)inout + i * extent + layout.at[k], &right, sizeof right);
        }
}

static void test_derived_call(const struct call *call, MPI_Comm comm, bool intracommunicator)
{
    struct call with_type = *call;

    PMPI_Type_commit(&with_type.datatype);
    test_call(&with_type, comm, intracommunicator);
    PMPI_Type_free(&with_type.datatype);
}

static void set_layout(int floats, MPI_Aint stride)
{
    layout.floats = floats;
    for (int i = 0; i < floats; i++)
        layout.at[i] = i * stride;
}

static void test_derived(MPI_Comm comm, bool intracommunicator)
{
    struct call vector = {"a vector with gaps", 0, 0, 7, FLOATS, 32, 7 * 44 + 64, 0};
    struct call backward = {"a vector that goes backward", 0, 0, 5, FLOATS, 32, 5 * 36 + 64, 0};
    struct call spread = {"a type with a larger extent", 0, 0, 9, FLOATS, 8, 9 * 12 + 16, 0};
    struct call dense = {"a type without gaps", 0, 0, 30, FLOATS, 8, 30 * 12 + 16, 0};
    struct call far = {
        "data that begins far from the buffer's address", 0, 0, 6, FLOATS, 8, 64, 8192};
    struct call reversed = {"a negative extent", 0, 0, 9, FLOATS, 8 + 8 * 8, 8 + 9 * 8 + 8, 0};
    const MPI_Aint shift = 8192;
    const int one = 1;
    MPI_Op op;

    PMPI_Op_create(add_half, 0, &op);
    vector.op = backward.op = spread.op = dense.op = far.op = reversed.op = op;

    set_layout(3, 20);
    PMPI_Type_vector(3, 1, 5, MPI_FLOAT, &vector.datatype);
    test_derived_call(&vector, comm, intracommunicator);
    set_layout(3, -16);
    PMPI_Type_vector(3, 1, -4, MPI_FLOAT, &backward.datatype);
    test_derived_call(&backward, comm, intracommunicator);
    set_layout(1, 0);
    PMPI_Type_create_resized(MPI_FLOAT, 0, 12, &spread.datatype);
    test_derived_call(&spread, comm, intracommunicator);
    set_layout(3, 4);
    PMPI_Type_contiguous(3, MPI_FLOAT, &dense.datatype);
    test_derived_call(&dense, comm, intracommunicator);
    set_layout(1, 0);
    /* MPICH 4.0 crashes in it on more ranks, with host buffers too. */
    PMPI_Type_create_resized(MPI_FLOAT, 0, -8, &reversed.datatype);
    test_derived_call(&reversed, MPI_COMM_SELF, true);
    layout.at[0] = shift;
    PMPI_Type_create_hindexed(1, &one, &shift, MPI_FLOAT, &far.datatype);
    test_derived_call(&far, comm, intracommunicator);
    PMPI_Op_free(&op);
}

static void test_intercommunicator(void)
{
    const struct call sum = {
        "sum of floats on an intercommunicator", MPI_FLOAT, MPI_SUM, 301, FLOATS, 8, 1220, 0};
    MPI_Comm across;

    if (check_size < 2)
        return;
    across = comms_across();
    test_call(&sum, across, false);
    check_note("on an intercommunicator:");
    test_derived(across, false);
    PMPI_Comm_free(&across);
}

/* ---- an MPI that is CUDA-aware ---- */

static const char *says = "none";
static int asked_gpu, asked_cuda;
static const void *got_send, *got_receive;
static int calls;

int MPIX_GPU_query_support(int gpu_type, int *is_supported);
int MPIX_Query_cuda_support(void);

int MPIX_GPU_query_support(int gpu_type, int *is_supported)
{
    asked_gpu++;
    *is_supported = gpu_type == 0 && strcmp(says, "gpu") == 0;
    return MPI_SUCCESS;
}

int MPIX_Query_cuda_support(void)
{
    asked_cuda++;
    return strcmp(says, "cuda") == 0;
}

/* Of the calls that the library is to see. */
static bool answer(const void *sendbuf, void *recvbuf, int count, MPI_Datatype datatype, MPI_Op op,
                   MPI_Comm comm, int *code)
{
    (void)count, (void)datatype, (void)op, (void)comm;
    calls++;
    got_send = sendbuf;
    got_receive = recvbuf;
    *code = MPI_SUCCESS;
    return true;
}

static void call_aware(const void *send, void *receive)
{
    traffic_allreduce = answer;
    MPI_Allreduce(send, receive, 100, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
    traffic_allreduce = NULL;
}

static int test_aware(int argc, char **argv)
{
    bool there = device_open(0), yes;
    void *send = NULL, *receive = NULL;

    says = argv[1];
    yes = strcmp(says, "none") != 0;
    if (there) {
        send = device_alloc(400);
        receive = device_alloc(400);
        call_aware(send, receive);
    }
    check_begin(&argc, &argv);
    if (!check_has(there, "an MPI that is CUDA-aware", "no CUDA driver, or no device"))
        return check_end();
    check(calls == 1 && asked_gpu == 0 && asked_cuda == 0, "it is not asked before MPI_Init");
    for (int i = 0; i < 3; i++)
        call_aware(send, receive);
    check(calls == 4, "each call is one call");
    check(asked_gpu == 1 && asked_cuda <= 1, "it is asked once");
    check((got_send == send) == yes && (got_receive == receive) == yes,
          yes ? "it gets the device buffers" : "it gets others");
    return check_end();
}

int main(int argc, char **argv)
{
    if (argc > 1)
        return test_aware(argc, argv);
    check_begin(&argc, &argv);
    if (!place_begin("device buffers", false))
        return check_end();
    test_predefined();
    if (element_has_datatype(ELEMENT_FLOAT16))
        test_half();
    test_no_context();
    test_derived(MPI_COMM_WORLD, true);
    test_intercommunicator();
    return check_end();
}
