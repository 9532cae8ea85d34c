/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

/* Steps down a gradient: with momentum, or as Adam (Kingma and Ba, 2015) and AdamW (Loshchilov and
 * Hutter: "Decoupled weight decay regularization", 2019) make them. Ranks with equal parameters and
 * gradients have equal parameters afterwards. */
#ifndef OPTIMISER_H
#define OPTIMISER_H

#include <stdbool.h>
#include <stddef.h>

enum optimiser { SGD, ADAM, ADAMW, OPTIMISERS };

/* MOMENTUM and DECAY are of SGD. False: no memory. */
bool optimiser_start(enum optimiser kind, size_t parameters, float momentum, float decay);

/* The gradient is SCALE times what GRADIENT holds. */
void optimiser_step(float *parameter, const float *gradient, float scale, float rate);

void optimiser_end(void);

#endif
