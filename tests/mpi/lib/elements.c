/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

#include "elements.h"

#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "check.h"

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
