/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

#include "data.h"

#include <math.h>

static const char *const names[DATA_KINDS] = {
    "gaussian", "heavy-tailed", "sparse", "offset", "many scales", "constant",
    "all ones", "zeros",        "tiny",   "huge",   "non-finite",  "near the limit",
};

const char *data_name(enum data_kind kind)
{
    return names[kind];
}

static uint64_t mix(uint64_t x)
{
    x = (x ^ x >> 30) * 0xBF58476D1CE4E5B9u;
    x = (x ^ x >> 27) * 0x94D049BB133111EBu;
    return x ^ x >> 31;
}

static uint64_t random_stream(uint64_t seed, uint64_t stream)
{
    return mix(seed * 0x9E3779B97F4A7C15u + stream);
}

static uint64_t random_at(uint64_t stream, uint64_t index)
{
    return mix(stream + index * 0xD1B54A32D192ED03u);
}

uint64_t data_random(uint64_t seed, uint64_t stream, uint64_t index)
{
    return random_at(random_stream(seed, stream), index);
}

/* Box and Muller's method, from the two halves of one hash. */
static double gaussian(uint64_t random)
{
    float radius = ((float)(random >> 40) + 0.5f) * 0x1p-24f;
    float angle = (float)(random & 0xFFFFFF) * (0x1p-24f * 6.2831853f);

    return (double)(sqrtf(-2 * logf(radius)) * cosf(angle));
}

static double heavy(uint64_t random)
{
    double g = gaussian(random);

    return fmax(-60, fmin(60, g * g * g));
}

static double tiny(enum element type, uint64_t random)
{
    double unit = type == ELEMENT_FLOAT16    ? 0x1p-24
                  : type == ELEMENT_BFLOAT16 ? 0x1p-133
                                             : 0x1p-149;

    return unit * (double)((int)(random % 601) - 300);
}

static double nonfinite(uint64_t random)
{
    static const double kinds[] = {NAN, INFINITY, -INFINITY};

    return random % 2999 ? gaussian(random) : kinds[random / 2999 % 3];
}

/* Whether an element is near the limit is the same on all ranks, its value and sign are not. */
static double limit(enum element type, uint64_t seed, uint64_t random, size_t index)
{
    double part = 0.03 + 0.97 * (double)(random >> 40) * 0x1p-24;
    double sign = random & 7 ? 1 : -1;

    if (data_random(seed, 1u << 20, index) % 2999)
        return gaussian(random);
    return sign * part * (type == ELEMENT_FLOAT16 ? 65504.0 : 0x1.FEp127);
}

/* RANDOM: of this rank and element. */
static double raw_value(enum data_kind kind, enum element type, uint64_t seed, int rank,
                        size_t index, uint64_t random)
{
    switch (kind) {
    case DATA_GAUSSIAN:
        return gaussian(random);
    case DATA_HEAVY:
        return heavy(random);
    case DATA_SPARSE:
        return random >> 58 ? 0 : gaussian(random);
    case DATA_OFFSET:
        return 100 + gaussian(random) / 8;
    case DATA_SCALES:
        return gaussian(random) * exp2((double)((index / 512 * 7 + (size_t)rank * 3) % 17) - 8);
    case DATA_CONSTANT:
        return 0.1 + rank;
    case DATA_ONES:
        return 1;
    case DATA_TINY:
        return tiny(type, random);
    case DATA_HUGE:
        return gaussian(random) * (type == ELEMENT_FLOAT16 ? 1e3 : 1e30);
    case DATA_NONFINITE:
        return nonfinite(random);
    case DATA_LIMIT:
        return limit(type, seed, random, index);
    default:
        return 0;
    }
}

void data_values(enum data_kind kind, enum element type, uint64_t seed, int rank, size_t first,
                 size_t count, double *values)
{
    uint64_t stream = random_stream(seed, (uint64_t)rank);

    for (size_t i = 0; i < count; i++)
        values[i] = element_round(
            type, raw_value(kind, type, seed, rank, first + i, random_at(stream, first + i)));
}

double data_value(enum data_kind kind, enum element type, uint64_t seed, int rank, size_t index)
{
    double value;

    data_values(kind, type, seed, rank, index, 1, &value);
    return value;
}

void data_fill(enum data_kind kind, enum element type, uint64_t seed, int rank, size_t count,
               void *buffer)
{
    double values[512];

    for (size_t first = 0; first < count; first += 512) {
        size_t n = count - first < 512 ? count - first : 512;

        data_values(kind, type, seed, rank, first, n, values);
        for (size_t i = 0; i < n; i++)
            element_store(type, buffer, first + i, values[i]);
    }
}
