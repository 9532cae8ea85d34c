/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

/* What policy/widths/adapt.h knows of a step's segments, for the files that it is made of: the
 * model of errors, the account and the choice. */
#ifndef CGX_POLICY_WIDTHS_ADAPT_STATE_H
#define CGX_POLICY_WIDTHS_ADAPT_STATE_H

#include "policy/plan.h"
#include "policy/widths/finding.h"

/* Compressed steps at the base width before the first choice, all measured. */
#define CGX_ADAPT_FIRST 3

/* The steps at the end of a period that are measured. */
#define CGX_ADAPT_MEASURED_STEPS CGX_SAMPLE_PHASES

/* Error over power beyond which no width below the base width is chosen. */
#define CGX_ADAPT_CAP 0.5

/* Steps before which no other than base widths are chosen. */
#define CGX_ADAPT_LEAST 16

/* Steps that means are of at most. */
#define CGX_ADAPT_MEAN 64

/* What the account (adapt_account.h) may come to, in budgets of a step. */
#define CGX_ADAPT_ACCOUNT 3.0

/* The least that a budget is multiplied by because of what was measured. */
#define CGX_ADAPT_LEAST_CORRECTION 0.5

/* Growth of a segment's energy, since it was measured, after which the next step is measured. */
#define CGX_ADAPT_OUTGROWN 1e6

/* Part of the budget that a choice spends: what was measured is a sample of steps that are over. */
#define CGX_ADAPT_MARGIN 0.95

/* Cost of a choice over that of the widths there are, above which these stay if they are within the
 * budget: widths do not flutter. */
#define CGX_ADAPT_GAIN 0.98

/* Error of another family over that of a segment's own, at most, where it switches: families do not
 * flutter. */
#define CGX_ADAPT_SWITCH 0.8

/* What is measured of a segment, in doubles alone, which ranks add up. NaN: not known. */
struct cgx_adapt_row {
    double errors[CGX_WIDTHS];    /* squared, if it is max-min quantised; by width - 1 */
    double second_moment;         /* of its sum */
    double weights[CGX_FAMILIES]; /* (finding.h) of what the errors are of; of families whose error
                                   * is a known part of the second moment, that */
    double quantised;             /* the weight of all that is quantised */
};
#define CGX_ADAPT_ROW (sizeof(struct cgx_adapt_row) / sizeof(double))

/* A segment of a recurring buffer. */
struct cgx_adapt_segment {
    const struct cgx_plan *plan;     /* the layer's ... */
    const struct cgx_segment *about; /* ... and what it says of the segment */
    bool free;                       /* by what ranks have looked at it may have any family */
    struct cgx_finding found;        /* of all steps measured since the last choice, and ... */
    double passed; /* ... the sum of energies in these, as if with steps of 1 bit ... */
    double times;  /* ... and how many had finite ones */
    /* The mean of the steps when it was last finite, errors and weights those of all that is
     * quantised; those of its own family that are NaN: never. The second moment is without the
     * payloads' own errors. */
    struct cgx_adapt_row known;
    double reference; /* the mean energy then */
    double latest;    /* the last energy that was finite, as those in PASSED */
    double share;     /* mean of LATEST over the budget of its step */
    uint8_t tried;    /* its encoding in the last plan of other than base widths; 0: was none */
    double scale;     /* of KNOWN, from then to now; without a reference LATEST; NaN: nothing is
                         known */
};

/* One recurring buffer: a position of the step. */
struct cgx_adapt_layer {
    struct cgx_plan *plan; /* NULL: the position has none; owned */
    size_t nsegments;      /* the plan's; 0: there is none */
    struct cgx_adapt_segment *segments;
    double *energies;             /* for struct cgx_feedback, as are ... */
    struct cgx_finding *findings; /* ... these of a call */
};

struct cgx_adapt {
    unsigned base, period;
    double alpha;
    uint64_t steps;    /* that have gone by */
    uint64_t choices;  /* that have been made */
    unsigned left;     /* steps up to the next choice from a measurement ... */
    unsigned window;   /* ... the last so many of which are measured */
    bool chooses;      /* widths or family of some segment are chosen; else there are no choices */
    bool has_widths;   /* some segment's are chosen */
    bool learnt;       /* what is in SUMMED, before the choice that is made of it */
    bool widened;      /* some width is not the base width */
    double correction; /* of budgets: the error that the model predicted over the one measured */
    /* adapt_account.h */
    double over;    /* error over budget of the last step, corrected; NaN: not known */
    double account; /* sum of OVER - 1 since widths were changed, at least 0 */
    unsigned seen;  /* steps that shares are the mean of */
    unsigned wait;  /* steps from the next fallback up to a choice */
    unsigned quiet; /* steps at other than base widths since the last fallback */
    /* Of all layers, one after the other. */
    size_t nsegments;
    struct cgx_adapt_segment *segments;
    double *energies;
    struct cgx_finding *findings;
    struct cgx_adapt_row *measured; /* what this rank's FOUND come to */
    /* What the root sends, in one block: the sums of the ranks' measurements, then encodings. */
    struct cgx_adapt_row *summed;
    uint8_t *encodings;
    size_t nlayers; /* positions of the step */
    struct cgx_adapt_layer layers[];
};

/* What ranks have to do at the end of a step, before the next. */
enum cgx_adapt_due {
    CGX_ADAPT_NOTHING,
    CGX_ADAPT_MEASURED, /* add all ranks' MEASURED up into the root's SUMMED, then as for scaled */
    CGX_ADAPT_SCALED,   /* the root chooses, all take its block */
};

#endif
