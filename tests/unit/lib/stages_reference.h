/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

/* Sums of several stages as the design has them, formed at once with the reference codecs. */
#ifndef CGX_TESTS_STAGES_REFERENCE_H
#define CGX_TESTS_STAGES_REFERENCE_H

#include "unit/lib/scene.h"

/* Writes CHUNK of the sum of SCENE's inputs, with SRA in all stages and in one slice, into SUM,
 * which has the elements of all. */
void stages_reference_sum(const struct scene *scene, unsigned chunk, void *sum);

#endif
