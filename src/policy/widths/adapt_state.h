/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

/* The state of policy/widths/adapt.h, shared by its files: the model of errors, the account and the
 * choice. */
#ifndef CGX_POLICY_WIDTHS_ADAPT_STATE_H
#define CGX_POLICY_WIDTHS_ADAPT_STATE_H

#include "policy/plan.h"
#include "policy/widths/finding.h"

/* Compressed steps at base widths before the first choice, all measured. */
#define CGX_ADAPT_FIRST 3

/* Measured steps at the end of a period. */
#define CGX_ADAPT_MEASURED_STEPS CGX_SAMPLE_PHASES

/* No width below the base width is chosen with more error over power than this. */
#define CGX_ADAPT_CAP 0.5

/* Steps before any other than base widths are chosen. */
#define CGX_ADAPT_LEAST 16

/* The most steps that means cover. */
#define CGX_ADAPT_MEAN 64

/* The limit of the account (adapt_account.h), in budgets of a step. */
#define CGX_ADAPT_ACCOUNT 3.0

/* The least factor by which measurements may shrink a budget. */
#define CGX_ADAPT_LEAST_CORRECTION 0.5

/* Growth of a segment's energy since its measurement after which the next step is measured. */
#define CGX_ADAPT_OUTGROWN 1e6

/* The share of the budget that a choice spends, since past steps were only sampled. */
#define CGX_ADAPT_MARGIN 0.95

/* A choice replaces widths within the budget only if its cost over theirs is below this, so that
 * widths do not flutter. */
#define CGX_ADAPT_GAIN 0.98

/* A segment switches only to a family whose error over that of its own is at most this, so that
 * families do not flutter. */
#define CGX_ADAPT_SWITCH 0.8

/* The measurements of a segment: doubles only, which ranks add up. NaN: unknown. */
struct cgx_adapt_row {
    double errors[CGX_WIDTHS];    /* squared, if max-min quantised; by width - 1 */
    double second_moment;         /* of the segment's sum */
    double weights[CGX_FAMILIES]; /* of the buckets measured (finding.h); for families whose error
                                     is a known fraction of the second moment, of that */
    double quantised;             /* the weight of all quantised data */
};
#define CGX_ADAPT_ROW (sizeof(struct cgx_adapt_row) / sizeof(double))

/* A segment of a recurring buffer. */
struct cgx_adapt_segment {
    const struct cgx_plan *plan;     /* the layer's ... */
    const struct cgx_segment *about; /* ... and its segment */
    bool free;                       /* by all ranks' samples it may have any family */
    struct cgx_finding found;        /* in the steps measured since the last choice; with ... */
    double passed; /* ... the sum of their energies, as if with steps of 1 bit ... */
    double times;  /* ... and the number of finite ones */
    /* The mean of the steps when it was last finite, with errors and weights of all quantised data;
     * its own family's are NaN if they never were. The second moment excludes the payloads' own
     * errors. */
    struct cgx_adapt_row known;
    double reference; /* the mean energy at that time */
    double latest;    /* the last finite energy, as in PASSED */
    double share;     /* the mean of LATEST over the step's budget */
    uint8_t tried;    /* its encoding in the last plan with other than base widths; 0: none */
    double scale; /* of KNOWN, from then to now; without a reference LATEST; NaN: nothing known */
};

/* One recurring buffer: a position of the step. */
struct cgx_adapt_layer {
    struct cgx_plan *plan; /* NULL: none at this position; owned */
    size_t nsegments;      /* the plan's; 0: no plan */
    struct cgx_adapt_segment *segments;
    double *energies;             /* for struct cgx_feedback, as are ... */
    struct cgx_finding *findings; /* ... these, of a call */
};

struct cgx_adapt {
    unsigned base, period;
    double alpha;
    uint64_t steps;    /* done */
    uint64_t choices;  /* made */
    unsigned left;     /* steps until the next choice from a measurement ... */
    unsigned window;   /* ... of which the last WINDOW are measured */
    bool has_widths;   /* the width of some segment is chosen */
    bool learnt;       /* from SUMMED, before the choice based on it */
    bool widened;      /* some width is not the base width */
    double correction; /* of budgets: the error predicted over the error measured */
    /* adapt_account.h */
    double over;    /* corrected error over budget of the last step; NaN: unknown */
    double account; /* sum of OVER - 1 since widths changed, at least 0 */
    unsigned seen;  /* steps in the mean of shares */
    unsigned wait;  /* steps from the next fallback to a choice */
    unsigned quiet; /* steps at other than base widths since the last fallback */
    /* Of all layers, in order. */
    size_t nsegments;
    struct cgx_adapt_segment *segments;
    double *energies;
    struct cgx_finding *findings;
    struct cgx_adapt_row *measured; /* this rank's findings */
    /* The root's block: the sums of the ranks' measurements, then encodings. */
    struct cgx_adapt_row *summed;
    uint8_t *encodings;
    size_t nlayers; /* positions of the step */
    struct cgx_adapt_layer layers[];
};

/* What ranks must do between this step and the next. */
enum cgx_adapt_due {
    CGX_ADAPT_NOTHING,
    CGX_ADAPT_MEASURED, /* sum all ranks' MEASURED into the root's SUMMED, then as for scaled */
    CGX_ADAPT_SCALED,   /* the root chooses, and all take its block */
};

#endif
