/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

#include "sums.h"

#include <math.h>
#include <stdio.h>

#include "check.h"

/* ---- element types ---- */

static const struct traits {
    const char *name;
    size_t size;
    int digits;   /* significant bits */
    int smallest; /* exponent of the smallest normal number, in frexp's sense */
    int largest;  /* likewise of the largest */
} traits[] = {
    [ELEMENT_FLOAT32] = {"float32", 4, 24, -125, 128},
    [ELEMENT_FLOAT16] = {"float16", 2, 11, -13, 16},
    [ELEMENT_BFLOAT16] = {"bfloat16", 2, 8, -125, 128},
};

bool element_parse(const char *name, enum element *type)
{
    for (int i = 0; i < 3; i++) {
        if (strcmp(name, traits[i].name) == 0) {
            *type = (enum element)i;
            return true;
        }
    }
    return false;
}

size_t element_size(enum element type)
{
    return traits[type].size;
}

MPI_Datatype element_datatype(enum element type)
{
    if (type == ELEMENT_FLOAT32)
        return MPI_FLOAT;
#if defined MPIX_C_FLOAT16
    if (type == ELEMENT_FLOAT16)
        return MPIX_C_FLOAT16;
#elif defined MPI_REAL2
    if (type == ELEMENT_FLOAT16)
        return MPI_REAL2;
#endif
#ifdef MPIX_BFLOAT16
    if (type == ELEMENT_BFLOAT16)
        return MPIX_BFLOAT16;
#endif
    return MPI_DATATYPE_NULL;
}

bool element_has_datatype(enum element type)
{
    char why[64];

    snprintf(why, sizeof why, "this MPI has no type of %s", traits[type].name);
    return check_has(element_datatype(type) != MPI_DATATYPE_NULL, traits[type].name, why);
}

/* Millions of elements are rounded and compared: frexp and ldexp took most of the time. A frexp's
 * exponent, but least for zero. */
static int double_exponent(double value)
{
    uint64_t bits;

    memcpy(&bits, &value, sizeof bits);
    return (int)(bits >> 52 & 0x7FF) - 1022;
}

/* 2^E, where that is a normal double. */
static double power(int e)
{
    uint64_t bits = (uint64_t)(e + 1023) << 52;
    double value;

    memcpy(&value, &bits, sizeof value);
    return value;
}

/* The exponent, in frexp's sense, that decides the unit in the last place at VALUE. */
static int exponent(enum element type, double value)
{
    int e = double_exponent(value);

    return e < traits[type].smallest ? traits[type].smallest : e;
}

double element_round_narrow(enum element type, double value)
{
    int shift = traits[type].digits - exponent(type, value);
    double rounded;

    if (!isfinite(value))
        return value;
    rounded = rint(value * power(shift)) * power(-shift);
    return fabs(rounded) >= power(traits[type].largest) ? copysign(INFINITY, value) : rounded;
}

double element_half_ulp(enum element type, double value)
{
    return power(exponent(type, value) - traits[type].digits - 1);
}

static uint16_t float16_bits(double value)
{
    uint16_t sign = signbit(value) ? 0x8000 : 0;
    int e = exponent(ELEMENT_FLOAT16, value);

    if (isnan(value))
        return 0x7E00;
    if (isinf(value))
        return sign | 0x7C00;
    /* A carry of the implicit bit into the exponent field makes normal and subnormal one case. */
    return (uint16_t)(sign + ((e + 13) << 10) + (int)(fabs(value) * power(11 - e)));
}

static double float16_value(uint16_t bits)
{
    int field = bits >> 10 & 31;
    int fraction = bits & 0x3FF;
    double value = field == 0 ? fraction * power(-24) : (fraction + 1024) * power(field - 25);

    if (field == 31)
        value = fraction ? NAN : INFINITY;
    return bits & 0x8000 ? -value : value;
}

void element_store_narrow(enum element type, void *buffer, size_t index, double value)
{
    char *place = (char *)buffer + index * traits[type].size;
    float narrow = (float)element_round_narrow(type, value);
    uint32_t wide;
    uint16_t half;

    memcpy(&wide, &narrow, sizeof wide);
    half = type == ELEMENT_BFLOAT16 ? (uint16_t)(wide >> 16) : float16_bits(narrow);
    memcpy(place, &half, sizeof half);
}

double element_load_narrow(enum element type, const void *buffer, size_t index)
{
    const char *place = (const char *)buffer + index * traits[type].size;
    uint32_t wide;
    uint16_t half;
    float value;

    memcpy(&half, place, sizeof half);
    if (type == ELEMENT_FLOAT16)
        return float16_value(half);
    wide = (uint32_t)half << 16;
    memcpy(&value, &wide, sizeof value);
    return value;
}

void element_add_float16(void *in, void *inout, int *length, MPI_Datatype *datatype)
{
    const enum element type = ELEMENT_FLOAT16;

    (void)datatype;
    for (size_t i = 0; i < (size_t)*length; i++)
        element_store(type, inout, i, element_load(type, in, i) + element_load(type, inout, i));
}

/* ---- data ---- */

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
