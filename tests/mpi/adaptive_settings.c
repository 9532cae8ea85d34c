/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

/* Properties of plans that hold under all settings, with host buffers: "adaptive_settings [large |
 * TYPE]". */

#include <stdlib.h>
#include <string.h>

#include "lib/check.h"
#include "lib/steps.h"

#define PARTS 9

static unsigned number(const char *name, const char *otherwise)
{
    const char *value = getenv(name);

    return (unsigned)atoi(value ? value : otherwise);
}

/* Steps of different values; large: more than a small staging memory holds. */
static void begin(struct steps *steps, enum element type, bool large)
{
    const struct steps_part parts[PARTS] = {{20011, DATA_GAUSSIAN, 1, 0, false},
                                            {4096, DATA_HEAVY, 0.1, 0, false},
                                            {9000, DATA_SPARSE, 1, 0.5, false},
                                            {5000, DATA_GAUSSIAN, 0.03, 0, false},
                                            {7001, DATA_GAUSSIAN, 4, 0, true},
                                            {4097, DATA_OFFSET, 0.01, 0, false},
                                            {6000, DATA_SCALES, 0.01, 0, false},
                                            {1500, DATA_CONSTANT, 1, 0, false},
                                            {large ? 800000 : 3000, DATA_GAUSSIAN, 0.2, 0, false}};

    steps_begin(steps, MPI_COMM_WORLD, parts, PARTS);
    steps->type = type;
}

/* The bytes that widths of BITS would have had, of a step without headers. */
static double bytes_at(const struct steps *steps, double bits)
{
    double elements = 0;

    for (size_t i = 0; i < steps->nparts; i++)
        elements += (double)steps->parts[i].count;
    return 2.0 * (check_size - 1) * elements * bits / 8;
}

static void test_steps(enum element type, bool large)
{
    const char *widths = check_word("CGX_ADAPTIVE", "bits");
    const char *budget = check_word("CGX_ADAPTIVE", "budget");
    const char *range = widths ? widths : "3:8";
    double least = atoi(range), most = atoi(strchr(range, ':') + 1);
    double base = number("CGX_COMPRESSION_QUANTIZATION_BITS", "4");
    double alpha = budget ? atof(budget) : 1;
    struct steps steps, again;
    bool right = true, same = true;
    uint64_t first = 0;

    begin(&steps, type, large);
    begin(&again, type, large);
    /* Warm-up, base widths, and some with other ones. */
    for (int i = 0; i < 5 + STEPS_AT_BASE + (large ? 1 : 5); i++) {
        right &= steps_take_both(&steps, &again, 1);
        same = same && steps.digest == again.digest && steps.bytes == again.bytes;
        first = first ? first : steps.bytes;
    }
    check(right, "right, and the same on all ranks");
    check(same, "twice the same bytes");
    check(steps_exact(&steps) <= 1, "all but the constant are compressed");
    check((double)steps.bytes > bytes_at(&steps, least), "not below the least width");
    check((double)steps.bytes < bytes_at(&steps, most + 1.5), "not above the largest");
    if (alpha < 1 || alpha > 1)
        check(alpha < 1 ? steps.bytes > first : steps.bytes < first,
              "a budget of %g: %s bytes than at the base width", alpha,
              alpha < 1 ? "more" : "fewer");
    check_note("%llu bytes, at first %llu, with %g bits", (unsigned long long)steps.bytes,
               (unsigned long long)first, base);
    steps_end(&steps);
    steps_end(&again);
}

int main(int argc, char **argv)
{
    enum element type = ELEMENT_FLOAT32;
    bool large = argc > 1 && strcmp(argv[1], "large") == 0;

    check_begin(&argc, &argv);
    if (argc > 1)
        element_parse(argv[1], &type);
    if (element_has_datatype(type))
        test_steps(type, large);
    return check_end();
}
