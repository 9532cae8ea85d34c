/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

/* The references of families, for codec_reference.h, which calls that of a piece. */
#ifndef CGX_TESTS_FAMILY_REFERENCE_H
#define CGX_TESTS_FAMILY_REFERENCE_H

#include "codec/codec.h"

/* ---- max-min quantisation, and elements as they are ---- */

size_t maxmin_reference_bytes(size_t count, unsigned bits, unsigned bucket_size,
                              enum cgx_dtype dtype);
void maxmin_reference_encode(const struct cgx_coding *coding, const struct cgx_piece *piece,
                             const void *buffer, unsigned char *payload);
void maxmin_reference_decode(const struct cgx_coding *coding, const struct cgx_piece *piece,
                             const unsigned char *payload, void *buffer);
void maxmin_reference_reduce(const struct cgx_coding *coding, const struct cgx_piece *piece,
                             const unsigned char *const *sources, size_t nsources,
                             const void *buffer, unsigned char *payload);

/* ---- rotated quantisation: the width is PIECE->bits - 16 ---- */

size_t rotated_reference_bytes(size_t count, unsigned encoding);

void rotated_reference_decode(const struct cgx_coding *coding, const struct cgx_piece *piece,
                              const unsigned char *payload, void *buffer);

void rotated_reference_encode(const struct cgx_coding *coding, const struct cgx_piece *piece,
                              const void *buffer, unsigned char *payload);
void rotated_reference_reduce(const struct cgx_coding *coding, const struct cgx_piece *piece,
                              const unsigned char *const *sources, size_t nsources,
                              const void *buffer, unsigned char *payload);

/* ---- one bucket, whose elements and rotations are in the order of elements ---- */

#define BUCKET 1024

/* The bits of the rotation's stages, there and back. */
extern const int bucket_forth[], bucket_back[];

/* The element that is number E of LANE on the side of codes. */
int bucket_element(int lane, int e);

/* Number E of LANE of the codes at CODES, and its level. */
unsigned bucket_code(const unsigned char *codes, int width, int lane, int e);
float bucket_level(unsigned code, int width);

/* Turns the signs of the bucket whose first element is FIRST of the buffer. */
void bucket_turn(const struct cgx_coding *coding, uint64_t first, float *x);

/* The stages of a rotation, without the signs. */
void bucket_stages(const int *bits, float *x);

/* Of squares; of products, elements of X and Y in their order. */
float bucket_sum_of_elements(const float *x);
float bucket_sum_of_codes(const float *x, const float *y);

/* The header of Z, rotated, whose elements were multiplied by F; zeros where CODES go. MEAN and
 * TOTAL are those of squares; UNIT: what 1 of Z is of the unit of levels. */
uint32_t bucket_encode(int width, const float *z, float mean, float total, double f, double unit,
                       unsigned char *codes);

/* What a bucket whose squares add up to N is multiplied by. */
double bucket_factor(float n);

#endif
