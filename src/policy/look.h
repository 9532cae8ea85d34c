/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

/* Whether the sums of a call site are gradients or state, by a sample of each. A sum is state if it
 * hardly changes, its size hardly changes or runs away, it is a symmetric matrix, or all ranks
 * bring the same; a call of another size than those before it is exact.
 *
 *   odd        its size is 16 times above the greatest, or below the least, of the last twelve
 *   still      three quarters of its groups that are not zero differ by less than .16 of their
 *              square (an input: .02), and all together by less than .2, from one of the second to
 *              twelfth sums before: the last one may be a gradient of the same batch
 *   steady     the last nine to twelve sizes differ by less than 15 %, and the nearest of the last
 *              twelve sums by less than 1.7 of the mean of their squares (an input: 1.5), of which
 *              unrelated sums have 2
 *   wild       the sizes of a window, without the least, the greatest and the widest gap between
 *              two, span more than 512
 *   symmetric  pairs on both sides of the diagonal of a square matrix are equal
 *   alike      the signs of all ranks' inputs are the same in 97.5 % of the sampled places
 *
 *   empty      most groups of an input are zero, and some are not, where nobody has looked at sums;
 *              or all peers bring zeros where this rank does not, for the first time in twelve sums
 *
 * A size is a mean square. Zeros, and what is not finite, are looked at and kept nowhere.
 *
 * Exact calls are looked at in windows of eleven. The window's sums are state if a third of the
 * looks that can find anything, which the first two cannot, have found it; they are gradients if a
 * quarter of all looks have found nothing. In compressed calls each rank looks at its own input.
 *
 * The caller's floating-point modes must not matter (cgx_float_enter). */
#ifndef CGX_POLICY_LOOK_H
#define CGX_POLICY_LOOK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "policy/sample.h"

/* In order of severity: the worst rank's counts, but for what all ranks must find. */
enum cgx_look {
    CGX_LOOK_UNKNOWN,
    CGX_LOOK_GRADIENT, /* nothing speaks against it */
    CGX_LOOK_ALIKE,
    CGX_LOOK_STEADY,
    CGX_LOOK_STILL,
    CGX_LOOK_WILD,
    CGX_LOOK_SYMMETRIC,
    CGX_LOOK_ODD,   /* not a window's, as ... */
    CGX_LOOK_EMPTY, /* ... this one */
    CGX_LOOKS
};

static inline bool cgx_look_is_state(enum cgx_look look)
{
    return look > CGX_LOOK_GRADIENT;
}

/* Names what was seen and, of state, says it for log lines: with its figure ("its size ..."), and
 * what it is usual for ("densities ..."). */
extern const struct cgx_look_words {
    const char *name, *text, *kinds;
} cgx_looks[CGX_LOOKS];

/* ---- a window of exact calls ---- */

#define CGX_LOOK_WINDOW 11
#define CGX_LOOK_TOLD 3 /* where the user has said how many sums a step has */
#define CGX_LOOK_KEPT 12

struct cgx_sizes {
    unsigned count, next;
    double last[CGX_LOOK_KEPT];
};

/* The last samples of a site's sums or inputs, as bfloat16. */
struct cgx_kept {
    unsigned count, next;
    size_t elements;             /* of each */
    double sizes[CGX_LOOK_KEPT]; /* in the order of VALUES */
    uint16_t values[];
};

/* For samples of ELEMENTS, with none yet; NULL if memory is short. Free with free. */
struct cgx_kept *cgx_kept_create(size_t elements);

/* What one rank has seen. Only TOLD and LOOKS are the same on all ranks. */
struct cgx_window {
    bool told;                              /* it has CGX_LOOK_TOLD looks */
    struct cgx_kept *kept;                  /* NULL: memory is short, so nothing is seen */
    struct cgx_sizes sizes;                 /* of the sums kept ... */
    struct cgx_sizes all;                   /* ... and of odd ones too */
    unsigned odd;                           /* in a row */
    unsigned looks, state, gradient, alike; /* by what was found */
    enum cgx_look found;                    /* the last state that was */
};

/* What is known of a sum apart from its sample. */
struct cgx_sum_traits {
    bool placed; /* it has a position in the step; without one a site may have sums of any tensors,
                    of which none is odd, and all together are not wild */
    bool symmetric;
    bool alike; /* this rank's input has the signs of what others bring */
};

/* Takes a look at a sum; SAMPLE: NULL if it cannot be read. Returns what it shows. */
enum cgx_look cgx_window_look(struct cgx_window *window, const struct cgx_sample *sample,
                              const struct cgx_sum_traits *traits);

/* The looks that it has. */
static inline unsigned cgx_window_length(const struct cgx_window *window)
{
    return window->told ? CGX_LOOK_TOLD : CGX_LOOK_WINDOW;
}

static inline bool cgx_window_ends(const struct cgx_window *window)
{
    return window->looks >= cgx_window_length(window);
}

/* Frees and forgets what was seen. */
void cgx_window_clear(struct cgx_window *window);

/* This rank's vote at the window's end, of which ranks take the least of each word, all below 2^31
 * since MPI_MIN of MPICH 4.0 compares MPI_UINT32_T as signed; and the joint verdict from that. */
#define CGX_LOOK_WORDS 3
void cgx_window_vote(const struct cgx_window *window, uint32_t words[CGX_LOOK_WORDS]);
enum cgx_look cgx_window_judge(const struct cgx_window *window,
                               const uint32_t words[CGX_LOOK_WORDS]);

/* ---- this rank's inputs ---- */

struct cgx_inputs {
    struct cgx_kept *kept;  /* of compressed calls; NULL: only sizes are known */
    struct cgx_sizes sizes; /* of all calls that were not odd */
    unsigned alone;         /* calls in which it is still usual that all peers bring zeros */
};

/* The least and the greatest size of inputs; zeros: none yet. */
struct cgx_range {
    double least, greatest;
};

/* What is known of an input apart from its sample. */
struct cgx_input_traits {
    const struct cgx_range *range; /* of all calls of its kind, if it has no position; or NULL */
    bool unseen;                   /* nobody has looked at sums like it, ... */
    bool symmetric;                /* ... which it then tells too */
};

/* What INPUT, of a call that may be compressed, shows. */
enum cgx_look cgx_inputs_look(struct cgx_inputs *inputs, const struct cgx_sample *input,
                              const struct cgx_input_traits *traits);

/* In a call all peers bring zeros where this rank does not (ALONE), or not all do. Returns whether
 * that is new for the last twelve calls, as in broadcasts done as sums. It is usual for a mixture
 * of experts. */
static inline bool cgx_inputs_alone(struct cgx_inputs *inputs, bool alone)
{
    bool is_new = alone && inputs->alone == 0;

    if (alone)
        inputs->alone = CGX_LOOK_KEPT;
    else if (inputs->alone > 0)
        inputs->alone--;
    return is_new;
}

/* An input of SIZE was summed: it counts for the next ones. */
void cgx_sizes_add(struct cgx_sizes *sizes, double size);
void cgx_range_add(struct cgx_range *range, double size);

#endif
