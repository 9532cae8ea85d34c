/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

/* The element types of compressed calls, written from IEEE 754 in double arithmetic and sharing
 * nothing with the library. */
#ifndef TESTS_MPI_LIB_ELEMENTS_H
#define TESTS_MPI_LIB_ELEMENTS_H

#include <mpi.h>
#include <stdbool.h>
#include <stddef.h>
#include <string.h>

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

#endif
