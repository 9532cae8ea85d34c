/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

#define _GNU_SOURCE

#include "sums.h"

#include <stdlib.h>

#include "../../lib/tap.h"
#include "check.h"
#include "device.h"

#define MARGIN 64
#define MARK 0xA5
#define PAGE 4096

const char *place_name(enum place place)
{
    static const char *const names[PLACES] = {"host", "pinned", "device", "managed"};

    return names[place];
}

bool place_begin(const char *name, bool soft)
{
    return check_has(device_open(check_rank), name, "no CUDA driver, or no device") &&
           (!soft || check_has(device_is_soft(), name, "no software driver"));
}

static void *pinned_memory(size_t bytes)
{
    void *memory;

    bytes = (bytes + PAGE - 1) / PAGE * PAGE;
    if (posix_memalign(&memory, PAGE, bytes) != 0)
        bail_out("out of memory");
    device_pin(memory, bytes);
    return memory;
}

void *place_make(enum place place, const void *content, size_t bytes)
{
    void *buffer;

    if (place == PLACE_DEVICE)
        return device_clone(content, bytes);
    buffer = place == PLACE_HOST     ? check_memory(bytes)
             : place == PLACE_PINNED ? pinned_memory(bytes)
                                     : device_alloc_managed(bytes);
    memcpy(buffer, content, bytes);
    return buffer;
}

void place_read(enum place place, void *content, const void *buffer, size_t bytes)
{
    if (place == PLACE_DEVICE)
        device_download(content, buffer, bytes);
    else
        memcpy(content, buffer, bytes);
}

void place_free(enum place place, void *buffer)
{
    if (place == PLACE_DEVICE || place == PLACE_MANAGED) {
        device_free(buffer);
        return;
    }
    if (place == PLACE_PINNED)
        device_unpin(buffer);
    free(buffer);
}

/* ---- one sum ---- */

static size_t bytes_of(const struct placed *sum)
{
    return sum->count * element_size(sum->type);
}

static int call(const struct placed *sum, const void *from, void *to, MPI_Comm comm, bool exact)
{
    MPI_Datatype datatype = sum->datatype ? sum->datatype : element_datatype(sum->type);
    MPI_Op op = sum->op ? sum->op : MPI_SUM;
    MPI_Aint bound, extent;
    int count;

    PMPI_Type_get_extent(datatype, &bound, &extent);
    count = (int)(bytes_of(sum) / (size_t)extent);
    if (exact)
        return PMPI_Allreduce(from, to, count, datatype, op, comm);
#if MPI_VERSION >= 4
    if (sum->large)
        return MPI_Allreduce_c(from, to, count, datatype, op, comm);
#endif
    return MPI_Allreduce(from, to, count, datatype, op, comm);
}

/* A buffer and what is to be in it, of the sum's bytes SHIFT bytes behind a margin. */
struct framed {
    enum place place;
    size_t bytes, shift;
    unsigned char *content;
    unsigned char *buffer;
};

/* INPUT NULL: full of marks. */
static struct framed frame(const struct placed *sum, enum place place, size_t shift,
                           const void *input)
{
    struct framed made = {place, bytes_of(sum) + 2 * MARGIN, MARGIN + shift, NULL, NULL};

    made.content = check_memory(made.bytes);
    memset(made.content, MARK, made.bytes);
    if (input)
        memcpy(made.content + made.shift, input, bytes_of(sum));
    made.buffer = place_make(place, made.content, made.bytes);
    return made;
}

/* An address, which the program may not be able to touch. */
static void *inside(const struct framed *framed)
{
    return (void *)((uintptr_t)framed->buffer + framed->shift);
}

/* Whether the buffer holds what is to be in it, the sum's bytes apart where RESULT receives these;
 * releases it. */
static bool unframe(struct framed *framed, void *result, size_t bytes)
{
    unsigned char *now = check_memory(framed->bytes);
    bool equal;

    place_read(framed->place, now, framed->buffer, framed->bytes);
    if (result) {
        memcpy(result, now + framed->shift, bytes);
        memcpy(framed->content + framed->shift, result, bytes);
    }
    equal = memcmp(now, framed->content, framed->bytes) == 0;
    free(now);
    free(framed->content);
    place_free(framed->place, framed->buffer);
    return equal;
}

static void *make_input(const struct placed *sum, MPI_Comm comm)
{
    void *input = check_memory(bytes_of(sum));
    int rank;

    PMPI_Comm_rank(comm, &rank);
    data_fill(sum->kind, sum->type, sum->seed, rank, sum->count, input);
    return input;
}

bool placed_sum(const struct placed *sum, MPI_Comm comm, void *result)
{
    void *input = make_input(sum, comm);
    struct framed to = frame(sum, sum->to, sum->further, sum->in_place ? input : NULL);
    bool good;

    if (sum->in_place) {
        good = call(sum, MPI_IN_PLACE, inside(&to), comm, false) == MPI_SUCCESS;
    } else {
        struct framed from = frame(sum, sum->from, sum->ahead, input);

        good = call(sum, inside(&from), inside(&to), comm, false) == MPI_SUCCESS;
        good = unframe(&from, NULL, 0) && good;
    }
    good = unframe(&to, result, bytes_of(sum)) && good;
    free(input);
    return good;
}

static bool plain(const struct placed *sum, MPI_Comm comm, void *result, bool exact)
{
    void *input = make_input(sum, comm);
    bool good = call(sum, input, result, comm, exact) == MPI_SUCCESS;

    free(input);
    return good;
}

bool placed_reference(const struct placed *sum, MPI_Comm comm, void *result)
{
    return plain(sum, comm, result, false);
}

bool placed_exact(const struct placed *sum, MPI_Comm comm, void *result)
{
    return plain(sum, comm, result, true);
}

/* ---- in host memory ---- */

const char *sum_shape_name(enum sum_shape shape)
{
    static const char *const names[SUM_SHAPES] = {"separate buffers", "in place", "misaligned",
                                                  "in place on some ranks", "MPI_Allreduce_c"};

    return names[shape];
}

static struct placed placed_of(const struct sum *sum, MPI_Comm comm)
{
    int rank;

    PMPI_Comm_rank(comm, &rank);
    return (struct placed){.kind = sum->kind,
                           .type = sum->type,
                           .seed = sum->seed,
                           .count = sum->count,
                           .in_place = sum->shape == SUM_IN_PLACE ||
                                       (sum->shape == SUM_MIXED && rank % 2 == 1),
                           .ahead = sum->shape == SUM_MISALIGNED ? 1 : 0,
                           .further = sum->shape == SUM_MISALIGNED ? 3 : 0,
                           .large = sum->shape == SUM_LARGE};
}

bool sum_reduce(const struct sum *sum, MPI_Comm comm, void *result)
{
    const struct placed placed = placed_of(sum, comm);

    return placed_sum(&placed, comm, result);
}

bool sum_exact(const struct sum *sum, MPI_Comm comm, void *result)
{
    const struct placed placed = placed_of(sum, comm);

    return placed_exact(&placed, comm, result);
}
