/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

/* Rotated quantisation once more, slowly and straight from doc/format.md, sharing no arithmetic and
 * no layout with src/codec. All of one piece, for payloads whose headers an encoder may have
 * written; the width is PIECE->bits - 16. */
#ifndef CGX_TESTS_ROTATED_REFERENCE_H
#define CGX_TESTS_ROTATED_REFERENCE_H

#include "codec/codec.h"

size_t rotated_reference_bytes(size_t count, unsigned encoding);

void rotated_reference_encode(const struct cgx_coding *coding, const struct cgx_piece *piece,
                              const void *buffer, unsigned char *payload);
void rotated_reference_decode(const struct cgx_coding *coding, const struct cgx_piece *piece,
                              const unsigned char *payload, void *buffer);
void rotated_reference_reduce(const struct cgx_coding *coding, const struct cgx_piece *piece,
                              const unsigned char *const *sources, size_t nsources,
                              const void *buffer, unsigned char *payload);

/* With residuals, which may be NULL. */
void rotated_reference_encode_kept(const struct cgx_coding *coding, const struct cgx_piece *piece,
                                   const void *buffer, const struct cgx_residuals *residuals,
                                   unsigned char *payload);
void rotated_reference_reduce_kept(const struct cgx_coding *coding, const struct cgx_piece *piece,
                                   const unsigned char *const *sources, size_t nsources,
                                   const void *buffer, const struct cgx_residuals *residuals,
                                   unsigned char *payload);

#endif
