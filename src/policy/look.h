/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

/* Whether the sums of a call site are gradients or state, by a sample of each: doc/algorithms.md
 * has the tests, and says why. A size is a mean square. Zeros, and what is not finite, are looked
 * at and kept nowhere.
 *
 * The caller's floating-point modes must not matter (cgx_float_enter). */
#ifndef CGX_POLICY_LOOK_H
#define CGX_POLICY_LOOK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "codec/backend.h"

/* ---- samples (sample.c): a few elements of a sum or an input ---- */

#define CGX_LOOK_PLACES 256
#define CGX_LOOK_GROUPS 32   /* of places, which are compared apart */
#define CGX_LOOK_SUM_RUN 16  /* the most neighbours read at a place of a sum */
#define CGX_LOOK_INPUT_RUN 4 /* the most neighbours read at a place of an input */

/* RUN elements from each place on; places follow each other. */
struct cgx_sample {
    size_t run;
    float values[CGX_LOOK_PLACES * CGX_LOOK_SUM_RUN]; /* RUN values of each place */
};

/* The number of elements read at each place of COUNT elements, at least 1024: even, and at most
 * MOST. */
size_t cgx_sample_run(size_t count, size_t most);

/* The elements from the begin of one place to the next: even, at least any run, and no power of two
 * if COUNT is one, so that rows of such matrices do not alias. */
size_t cgx_sample_stride(size_t count);

/* The elements that a sample of COUNT elements of DTYPE from AT on reads, at most MOST at each
 * place. */
struct cgx_strided cgx_sample_runs(const void *at, size_t count, enum cgx_dtype dtype, size_t most);

/* The mean square of the sample; 0, infinite or NaN if the sample is not worth keeping. */
double cgx_sample_size(const struct cgx_sample *sample);

/* Whether it is of whole numbers, as counts are, and not of signs alone. */
bool cgx_sample_is_whole(const struct cgx_sample *sample);

/* Whether half of its groups or more are zeros. */
bool cgx_sample_is_empty(const struct cgx_sample *sample);

/* ---- sketches ---- */

#define CGX_SKETCH_BYTES (CGX_LOOK_PLACES / 8)

/* Two bits for each place: whether the first element there is positive, and whether it is not zero.
 * A zero has the lowest bit of the place's number for a sign, which agrees with other ranks' by
 * chance alone. */
struct cgx_sketch {
    unsigned char signs[CGX_SKETCH_BYTES], nonzero[CGX_SKETCH_BYTES];
};

struct cgx_sketch cgx_sketch_of(const struct cgx_sample *sample);

/* The sketch of zeros, or of data that was not looked at. */
struct cgx_sketch cgx_sketch_empty(void);

/* Whether OTHER has the signs of OWN in 97.5 % of the places that are not zero in OWN, and these
 * are at least 32. */
bool cgx_sketch_agrees(const struct cgx_sketch *own, const unsigned char other[CGX_SKETCH_BYTES]);

/* Whether OTHER has zeros, as far as signs show, in all those places, if they are at least 32. */
bool cgx_sketch_is_alone(const struct cgx_sketch *own, const unsigned char other[CGX_SKETCH_BYTES]);

/* ---- looks ---- */

/* In order of severity: the worst rank's look counts, except for what all ranks must find. */
enum cgx_look {
    CGX_LOOK_UNKNOWN,
    CGX_LOOK_GRADIENT, /* nothing speaks against it */
    CGX_LOOK_ALIKE,
    CGX_LOOK_STEADY,
    CGX_LOOK_STILL,
    CGX_LOOK_WILD,
    CGX_LOOK_SYMMETRIC,
    CGX_LOOK_WHOLE,
    CGX_LOOK_ODD, /* never found in a window */
    CGX_LOOK_EMPTY,
    CGX_LOOKS
};

static inline bool cgx_look_is_state(enum cgx_look look)
{
    return look > CGX_LOOK_GRADIENT;
}

/* The words of a look for log lines: its name; for state, what was seen, with its figure ("its size
 * ..."), and the data for which that is usual ("densities ..."). */
extern const struct cgx_look_words {
    const char *name, *text, *kinds;
} cgx_looks[CGX_LOOKS];

/* ---- a window of exact calls ---- */

#define CGX_LOOK_WINDOW 11
#define CGX_LOOK_TOLD 3 /* length of a window if the user has said how many sums a step has */
#define CGX_LOOK_KEPT 12

struct cgx_sizes {
    unsigned count, next;
    double last[CGX_LOOK_KEPT];
};

/* The last samples of a site's sums or inputs, as bfloat16. */
struct cgx_kept {
    size_t elements;        /* number of elements of each sample */
    struct cgx_sizes sizes; /* of the samples in VALUES, in the same places */
    uint16_t values[];
};

/* Returns an empty list of samples of ELEMENTS; NULL if memory is short. Free it with free. */
struct cgx_kept *cgx_kept_create(size_t elements);

/* What one rank has seen. Only TOLD and LOOKS are the same on all ranks. */
struct cgx_window {
    bool told;             /* the window has CGX_LOOK_TOLD looks, not CGX_LOOK_WINDOW */
    struct cgx_kept *kept; /* NULL: memory is short, so nothing is seen */
    struct cgx_sizes all;  /* sizes of all sums, odd ones too */
    unsigned odd;          /* number of odd sums in a row */
    unsigned looks, state, gradient, alike, alone; /* numbers of looks: all, and with each result */
    enum cgx_look found;                           /* the last state that a look has found */
};

/* What is known of a sum apart from its sample. */
struct cgx_sum_traits {
    /* The sum has a position in the step. Without one a site may sum any tensors: then no sum is
     * odd, and sizes are not wild. */
    bool placed;
    enum cgx_look shows; /* CGX_LOOK_SYMMETRIC, CGX_LOOK_WHOLE, or CGX_LOOK_UNKNOWN */
    bool alike;          /* this rank's input has the signs of what others bring */
    bool alone;          /* others bring zeros where this rank does not */
};

/* Takes a look at a sum; SAMPLE: NULL if it cannot be read. Returns what it shows. */
enum cgx_look cgx_window_look(struct cgx_window *window, const struct cgx_sample *sample,
                              const struct cgx_sum_traits *traits);

/* The number of looks of a window. */
static inline unsigned cgx_window_length(const struct cgx_window *window)
{
    return window->told ? CGX_LOOK_TOLD : CGX_LOOK_WINDOW;
}

static inline bool cgx_window_ends(const struct cgx_window *window)
{
    return window->looks >= cgx_window_length(window);
}

/* Forgets all looks, and frees the samples. */
void cgx_window_clear(struct cgx_window *window);

/* This rank's vote at the window's end, and the joint verdict. Ranks take the least of each word.
 * All words are below 2^31, since MPI_MIN of MPICH 4.0 compares MPI_UINT32_T as signed. */
#define CGX_LOOK_WORDS 4
void cgx_window_vote(const struct cgx_window *window, uint32_t words[CGX_LOOK_WORDS]);
enum cgx_look cgx_window_judge(const struct cgx_window *window,
                               const uint32_t words[CGX_LOOK_WORDS]);

/* ---- this rank's inputs ---- */

struct cgx_inputs {
    struct cgx_kept *kept;  /* samples of compressed calls; NULL: only sizes are known */
    struct cgx_sizes sizes; /* sizes of all calls that were not odd */
    unsigned alone; /* number of calls in which peers that all bring zeros are still usual */
};

/* The least and the greatest size of inputs; zeros: none yet. */
struct cgx_range {
    double least, greatest;
};

/* What is known of an input apart from its sample. */
struct cgx_input_traits {
    /* Sizes of all inputs of the type, if the call has no position; otherwise NULL. */
    const struct cgx_range *range;
    bool unseen; /* ranks have looked at no sums of this site, so the input must tell all: ... */
    enum cgx_look shows; /* ... CGX_LOOK_SYMMETRIC, or CGX_LOOK_UNKNOWN */
};

/* Looks at INPUT, of SIZE (cgx_sample_size), of a call that may be compressed. */
enum cgx_look cgx_inputs_look(struct cgx_inputs *inputs, const struct cgx_sample *input,
                              double size, const struct cgx_input_traits *traits);

/* Notes whether all peers bring zeros in a call where this rank does not (ALONE). Returns whether
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

/* Add the size of an input that was summed, for the next looks. */
void cgx_sizes_add(struct cgx_sizes *sizes, double size);
void cgx_range_add(struct cgx_range *range, double size);

#endif
