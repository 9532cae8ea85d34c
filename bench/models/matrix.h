/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

/* What the networks compute with: random numbers, matrices stored row by row, and hashes. */
#ifndef MATRIX_H
#define MATRIX_H

#include <math.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

enum { TILE_ROWS = 2, TILE_VECTORS = 4, TILE_COLUMNS = 16, TILE_DEPTH = 256 };

/* Four floats in a SIMD register: an extension of gcc and clang, the same on every processor. */
typedef float vector __attribute__((vector_size(16), aligned(4), may_alias));

/* SplitMix64 (Steele, Lea, Flood: "Fast splittable pseudorandom number generators", 2014). */
static inline uint64_t random_bits(uint64_t *state)
{
    uint64_t z = *state += 0x9E3779B97F4A7C15u;

    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
    return z ^ (z >> 31);
}

/* Between 0 and 1. */
static inline double random_uniform(uint64_t *state)
{
    return ((double)(random_bits(state) >> 11) + 0.5) * 0x1p-53;
}

/* Normal (Box and Muller, 1958). */
static inline double random_gaussian(uint64_t *state)
{
    double radius = sqrt(-2.0 * log(random_uniform(state)));

    return radius * cos(2.0 * M_PI * random_uniform(state));
}

/* First weights of a layer with IN inputs: uniform with variance 2 / IN (He et al.: "Delving deep
 * into rectifiers", 2015). */
static inline void random_weights(float *weights, size_t count, int in, uint64_t *state)
{
    float limit = sqrtf(6.0f / (float)in);

    for (size_t i = 0; i < count; i++)
        weights[i] = limit * ((float)(random_bits(state) >> 40) * 0x1p-23f - 1.0f);
}

/* c += a * b for one tile; see multiply. Unrolled, so that the tile stays in registers. */
static inline void multiply_tile(int depth, int columns, const float *a, int a_row, int a_column,
                                 const float *b, float *c)
{
    vector *upper = (vector *)c, *lower = (vector *)(c + columns);
    vector tile[TILE_ROWS][TILE_VECTORS] = {{{0}}};

    for (int k = 0; k < depth; k++, a += a_column, b += columns) {
        const vector *row = (const vector *)b;

#pragma GCC unroll 4
        for (int j = 0; j < TILE_VECTORS; j++) {
            tile[0][j] += a[0] * row[j];
            tile[1][j] += a[a_row] * row[j];
        }
    }
#pragma GCC unroll 4
    for (int j = 0; j < TILE_VECTORS; j++) {
        upper[j] += tile[0][j];
        lower[j] += tile[1][j];
    }
}

/* c = a * b. a is rows x depth with its rows and columns a_row and a_column elements apart, which
 * serves for its transpose too; b and c are stored row by row. Rows and columns fill whole tiles;
 * the depth is cut so that the part of b in use stays in cache. */
static inline void multiply(int rows, int depth, int columns, const float *a, int a_row,
                            int a_column, const float *b, float *c)
{
    memset(c, 0, sizeof *c * (size_t)(rows * columns));
    for (int k = 0; k < depth; k += TILE_DEPTH) {
        int part = depth - k < TILE_DEPTH ? depth - k : TILE_DEPTH;

        for (int i = 0; i < rows; i += TILE_ROWS)
            for (int j = 0; j < columns; j += TILE_COLUMNS)
                multiply_tile(part, columns, a + i * a_row + k * a_column, a_row, a_column,
                              b + k * columns + j, c + i * columns + j);
    }
}

static inline void transpose(int rows, int columns, const float *from, float *to)
{
    for (int i = 0; i < rows; i++)
        for (int j = 0; j < columns; j++)
            to[j * rows + i] = from[i * columns + j];
}

/* The next COUNT elements of a large piece of memory. */
static inline float *carve(float **memory, size_t count)
{
    float *piece = *memory;

    *memory += count;
    return piece;
}

/* Tells whether values are the same to the bit: FNV-1a, a word at a time. */
static inline uint64_t hash_values(const float *values, size_t count)
{
    uint64_t hash = 0xCBF29CE484222325u;

    for (size_t i = 0; i < count; i++) {
        uint32_t word;

        memcpy(&word, values + i, sizeof word);
        hash = (hash ^ word) * 0x100000001B3u;
    }
    return hash;
}

#endif
