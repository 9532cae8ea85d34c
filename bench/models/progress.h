/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

/* Lines that tell how far training is: step, loss over the ranks since the last line, seconds, and
 * those that the sums took. The ranks begin a step's sums one after the other; what counts is the
 * shortest time that one of them was in these, since others have waited for it. */
#ifndef PROGRESS_H
#define PROGRESS_H

/* A line after every EVERY steps of STEPS, and after the last; 0: none. */
void progress_start(int every, int steps);

/* Collective, at the end of a step: LOSS, that of this rank, becomes part of the mean loss;
 * SECONDS, since training began. */
void progress_step(double loss, double seconds);

#endif
