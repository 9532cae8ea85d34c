/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

/* A compressed sum of device buffers equals that of host buffers to the bit: "device TYPE [large]".
 * All calls are compressed. TYPE: float32, float16 or opaque16 (two bytes and an op of the
 * program). */

#include <stdlib.h>
#include <string.h>

#include "lib/check.h"
#include "lib/comms.h"
#include "lib/device.h"
#include "lib/placed.h"

#define D PLACE_DEVICE

/* One sequence; counts come again, so that tables are used again and made anew. Bytes of
 * misalignment: on half data a multiple of 4 aligns more than an element. */
static const struct placed calls[] = {
    {DATA_GAUSSIAN, 0, 1, 1024, D, D, false, 0, 0, 0, 0},
    {DATA_SCALES, 0, 2, 16383, D, D, true, 0, 0, 0, 0},
    {DATA_HEAVY, 0, 3, 16384, D, D, false, 1, 3, 0, 0},
    {DATA_NONFINITE, 0, 4, 16385, D, D, true, 0, 2, 0, 0},
    {DATA_OFFSET, 0, 5, 10007, D, D, false, 4, 20, 0, 0},
    {DATA_LIMIT, 0, 6, 16384, D, D, false, 2, 0, 0, 0},
    {DATA_SPARSE, 0, 7, 10007, D, D, true, 0, 3, 0, 0},
    {DATA_TINY, 0, 8, 1024, D, D, false, 8, 1, 0, 0},
    {DATA_CONSTANT, 0, 9, 5000, D, D, false, 0, 0, 0, 0},
    {DATA_HUGE, 0, 10, 16383, D, D, false, 0, 1, 0, 0},
    {DATA_SCALES, 0, 11, 1 << 20, D, D, false, 0, 0, 0, 0},
};
enum { CALLS = sizeof calls / sizeof calls[0] };

static bool run(const struct placed *call, const struct placed *objects, MPI_Comm comms[2])
{
    struct placed sum = *call;

    sum.type = objects->type;
    sum.datatype = objects->datatype;
    sum.op = objects->op;
    return placed_agrees(&sum, comms[0], comms[1]);
}

static void test_calls(const struct placed *objects, MPI_Comm comms[2])
{
    for (int i = 0; i < CALLS; i++)
        check(run(&calls[i], objects, comms), "%zu elements, %s, %s%s: as in host memory",
              calls[i].count, data_name(calls[i].kind), calls[i].in_place ? "in place" : "apart",
              calls[i].ahead + calls[i].further > 0 ? ", misaligned" : "");
}

/* More than the staging memory holds at once; the second time with all tables in place. */
static void test_large(const struct placed *objects, MPI_Comm comms[2])
{
    const struct placed large = {DATA_SCALES, 0, 12, 2000003, D, D, false, 0, 0, 0, 0};
    const struct placed again = {DATA_NONFINITE, 0, 13, 2000003, D, D, true, 0, 4, 0, 0};

    check(run(&large, objects, comms), "2000003 elements: as in host memory");
    check(run(&again, objects, comms), "2000003 elements, in place: as in host memory");
}

int main(int argc, char **argv)
{
    const char *type = argc > 1 ? argv[1] : "float32";
    struct placed objects = {.type = ELEMENT_FLOAT32};
    MPI_Comm comms[2];

    check_begin(&argc, &argv);
    if (!place_begin("device buffers", false))
        return check_end();
    if (strcmp(type, "opaque16") == 0) {
        objects.type = ELEMENT_FLOAT16;
        MPI_Type_contiguous(2, MPI_BYTE, &objects.datatype);
        MPI_Type_commit(&objects.datatype);
        MPI_Op_create(element_add_float16, 1, &objects.op);
    } else {
        element_parse(type, &objects.type);
        if (!element_has_datatype(objects.type))
            return check_end();
    }
    comms_make(comms, 2);
    test_calls(&objects, comms);
    if (argc > 2)
        test_large(&objects, comms);
    comms_free(comms, 2);
    return check_end();
}
