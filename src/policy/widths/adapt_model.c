/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

#include "policy/widths/adapt_model.h"

#include <math.h>

#include "codec/encoding.h"

/* ---- what is known ---- */

double cgx_model_for_all(double sum, double seen, double all)
{
    if (!(all > 0))
        return all; /* 0, or NaN */
    return seen > 0 ? sum * (all / seen) : NAN;
}

bool cgx_model_knows(const struct cgx_adapt_segment *segment)
{
    return cgx_segment_is_chosen(segment->about) && !isnan(segment->scale);
}

/* ---- errors ---- */

/* The error in ENCODING according to ROW. */
static double error_in(const struct cgx_adapt_row *row, unsigned encoding)
{
    enum cgx_family family = cgx_encoding_family(encoding);
    unsigned width = cgx_encoding_width(encoding);

    return cgx_quantisers[family].error ? row->weights[family] * cgx_quantisers[family].error(width)
                                        : row->errors[width - 1];
}

/* Whether errors in SEGMENT's own family were measured and can be scaled. */
static bool is_measured(const struct cgx_adapt_segment *segment)
{
    unsigned least = cgx_encoding_of((enum cgx_family)segment->about->family, 1);

    return !isnan(error_in(&segment->known, least)) && segment->reference > 0;
}

double cgx_model_range(const struct cgx_adapt_segment *segment, double energy)
{
    return energy * cgx_encoding_range(cgx_segment_encoding(segment->about));
}

/* Without such a measurement, the error is that of elements spread evenly between levels: n u^2 /
 * 12. */
double cgx_model_error(const struct cgx_adapt_segment *segment, unsigned encoding)
{
    if (is_measured(segment))
        return error_in(&segment->known, encoding) * segment->scale;
    if (cgx_encoding_family(encoding) != segment->about->family)
        return NAN;
    return segment->scale / cgx_encoding_range(encoding) * cgx_encoding_variance(encoding);
}

/* ---- families ---- */

bool cgx_model_allows(const struct cgx_adapt_segment *segment, enum cgx_family family)
{
    const struct cgx_segment *about = segment->about;
    struct cgx_widths widths = cgx_segment_widths(about, family);
    bool allows;

    if (!cgx_segment_has_alternative(about))
        return family == about->family;
    allows = segment->free != cgx_quantisers[family].keeps_zeros;
    for (int f = 0; f < CGX_FAMILIES && segment->free; f++) {
        struct cgx_widths other = cgx_segment_widths(about, (enum cgx_family)f);

        if (!cgx_quantisers[f].keeps_zeros && other.bits > 0)
            allows |= widths.least <= other.most && other.least <= widths.most;
    }
    return allows;
}

/* The factor of SEGMENT's error in FAMILY when families are compared. One more bit per element
 * divides the error by four; the bits of headers count in proportion. Another family must gain
 * CGX_ADAPT_SWITCH. */
static double worth(const struct cgx_adapt_segment *segment, enum cgx_family family)
{
    const double fourth = 1.386; /* ln 4 */
    unsigned bucket = cgx_encoding_bucket(cgx_encoding_of(family, 1), segment->plan->bucket_size);
    double headers = 1 + fourth * 8 * CGX_BUCKET_HEADER_BYTES / bucket;

    return family == segment->about->family ? headers : headers / CGX_ADAPT_SWITCH;
}

unsigned cgx_model_pick(const struct cgx_adapt_segment *segment, unsigned width)
{
    const struct cgx_segment *about = segment->about;
    double least = INFINITY;
    unsigned picked = 0;

    if (!cgx_segment_has_alternative(about))
        return width >= about->least && width <= about->most
                   ? cgx_encoding_of((enum cgx_family)about->family, width)
                   : 0;
    for (int f = 0; f < CGX_FAMILIES; f++) {
        enum cgx_family family = (enum cgx_family)f;
        struct cgx_widths widths = cgx_segment_widths(about, family);
        double error;

        if (!cgx_model_allows(segment, family) || width < widths.least || width > widths.most)
            continue;
        error = cgx_model_error(segment, cgx_encoding_of(family, width)) * worth(segment, family);
        if (error < least) {
            least = error;
            picked = cgx_encoding_of(family, width);
        }
    }
    return picked;
}

unsigned cgx_model_base(const struct cgx_adapt *adapt, const struct cgx_adapt_segment *segment)
{
    const struct cgx_segment *about = segment->about;
    enum cgx_family family = (enum cgx_family)about->family;
    bool beyond = adapt->base > cgx_quantisers[family].widths;
    unsigned picked = cgx_model_pick(segment, adapt->base);

    return picked > 0 ? picked : cgx_encoding_of(family, beyond ? about->most : adapt->base);
}

/* ---- budgets ---- */

double cgx_model_second_moment(const struct cgx_adapt_segment *segment)
{
    return is_measured(segment) ? segment->known.second_moment * segment->scale : NAN;
}

double cgx_model_budget(const struct cgx_adapt *adapt, const struct cgx_adapt_segment *segment)
{
    return adapt->alpha * cgx_model_error(segment, cgx_model_base(adapt, segment));
}

void cgx_model_estimate(const struct cgx_adapt *adapt, const struct cgx_adapt_layer *layer,
                        double *error, double *budget)
{
    *error = *budget = 0;
    for (size_t i = 0; i < layer->nsegments; i++) {
        const struct cgx_adapt_segment *segment = &layer->segments[i];

        if (!cgx_model_knows(segment) || !cgx_segment_has_widths(segment->about))
            continue;
        *error += cgx_model_error(segment, cgx_segment_encoding(segment->about));
        *budget += cgx_model_budget(adapt, segment);
    }
}

/* ---- what was measured ---- */

/* The mean of ROW over its steps, extrapolated to all that was quantised in SEGMENT. */
static struct cgx_adapt_row mean_of(const struct cgx_adapt_segment *segment,
                                    const struct cgx_adapt_row *row)
{
    double seen = row->weights[segment->about->family], all = row->quantised;
    struct cgx_adapt_row mean = {.second_moment = row->second_moment / segment->times,
                                 .quantised = row->quantised / segment->times};

    for (unsigned w = 0; w < CGX_WIDTHS; w++)
        mean.errors[w] = cgx_model_for_all(row->errors[w], seen, all) / segment->times;
    for (int f = 0; f < CGX_FAMILIES; f++) {
        bool constant = !(all > 0) && row->weights[f] != 0;

        mean.weights[f] =
            constant ? NAN : cgx_model_for_all(row->weights[f], seen, all) / segment->times;
    }
    mean.weights[segment->about->family] = all / segment->times;
    return mean;
}

/* The second moment of the sum in MEAN, without the error of its payloads, which is nearly
 * independent of the sum and adds to the moment. If it is unknown, the last known moment stays,
 * scaled to REFERENCE, the mean energy. */
static double second_moment_of(const struct cgx_adapt_segment *segment,
                               const struct cgx_adapt_row *mean, double reference)
{
    double error = error_in(mean, cgx_segment_encoding(segment->about));
    double moment = mean->second_moment - error;

    if (isfinite(moment))
        return moment < 0 ? 0 : moment;
    return segment->known.second_moment *
           (segment->reference > 0 ? reference / segment->reference : NAN);
}

/* Sums of errors, with the encodings of the last plan that was not of base widths and with base
 * widths: as the model predicted them for the measured steps, and as they were measured. */
struct comparison {
    double predicted, predicted_base, measured, measured_base;
};

/* Adds SEGMENT to COMPARISON before it takes MEAN, of steps with the mean energy REFERENCE. A
 * segment of fixed width is not part of the budget. */
static void compare(const struct cgx_adapt *adapt, const struct cgx_adapt_segment *segment,
                    const struct cgx_adapt_row *mean, double reference,
                    struct comparison *comparison)
{
    double scale = reference / segment->reference;
    unsigned base;
    struct comparison own;

    if (segment->tried == 0 || !cgx_segment_has_widths(segment->about) || !is_measured(segment))
        return;
    base = cgx_model_base(adapt, segment);
    own = (struct comparison){.predicted = error_in(&segment->known, segment->tried) * scale,
                              .predicted_base = error_in(&segment->known, base) * scale,
                              .measured = error_in(mean, segment->tried),
                              .measured_base = error_in(mean, base)};
    if (!isfinite(own.predicted + own.predicted_base + own.measured + own.measured_base))
        return;
    comparison->predicted += own.predicted;
    comparison->predicted_base += own.predicted_base;
    comparison->measured += own.measured;
    comparison->measured_base += own.measured_base;
}

/* The factor that COMPARISON gives budgets. Errors below the prediction do not raise budgets, since
 * the sample may have been lucky. */
static double correct(const struct comparison *comparison)
{
    double predicted = comparison->predicted / comparison->predicted_base;
    double measured = comparison->measured / comparison->measured_base;
    double correction = predicted / measured;

    if (!isfinite(correction) || correction > 1)
        return 1;
    return correction < CGX_ADAPT_LEAST_CORRECTION ? CGX_ADAPT_LEAST_CORRECTION : correction;
}

static void take(struct cgx_adapt *adapt, struct cgx_adapt_segment *segment,
                 const struct cgx_adapt_row *row, struct comparison *comparison)
{
    enum cgx_family family = (enum cgx_family)segment->about->family;
    double reference = segment->passed / segment->times;
    struct cgx_adapt_row mean;

    if (!cgx_segment_is_chosen(segment->about) || !(segment->times > 0))
        return;
    mean = mean_of(segment, row);
    for (unsigned w = segment->about->least; w <= segment->about->most; w++)
        if (!isfinite(error_in(&mean, cgx_encoding_of(family, w))))
            return;
    compare(adapt, segment, &mean, reference, comparison);
    mean.second_moment = second_moment_of(segment, &mean, reference);
    segment->known = mean;
    segment->reference = reference;
    segment->scale = reference > 0 ? 1 : 0;
}

void cgx_model_take(struct cgx_adapt *adapt)
{
    const struct cgx_adapt_row *row = adapt->summed;
    struct comparison comparison = {.predicted = 0};

    for (size_t i = 0; i < adapt->nlayers; i++)
        for (size_t s = 0; s < adapt->layers[i].nsegments; s++)
            take(adapt, &adapt->layers[i].segments[s], row++, &comparison);
    if (comparison.predicted > 0)
        adapt->correction = correct(&comparison);
}
