/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

#include "coll/feedback.h"

#include <math.h>
#include <string.h>

#include "codec/bucket.h"
#include "codec/encoding.h"
#include "codec/energy.h"
#include "util/integers.h"

static const struct cgx_plan *plan_of(const struct cgx_slice *slice)
{
    return slice->coll->schedule->plan;
}

void cgx_feedback_begin(const struct cgx_coll *coll)
{
    size_t nsegments = coll->schedule->plan->nsegments;

    if (!coll->feedback)
        return;
    for (size_t i = 0; i < nsegments; i++)
        coll->feedback->energies[i] = 0;
    if (coll->feedback->findings)
        memset(coll->feedback->findings, 0, nsegments * sizeof coll->feedback->findings[0]);
}

void cgx_feedback_void(const struct cgx_coll *coll)
{
    for (size_t i = 0; coll->feedback && i < coll->schedule->plan->nsegments; i++)
        coll->feedback->energies[i] = NAN;
}

/* ---- sums of n u^2 ---- */

/* Stored energies are truncated. The sum, and its terms together, each lose up to 2^-20 of it. */
#define ENERGY_LOST 0x1p-19

/* The weight (finding.h) of PIECE, a sum of FROM in the slice's staging memory, from its energy
 * less those of FROM. NaN if a bucket is poisoned. */
static double weight_of(const struct cgx_slice *slice, const struct cgx_piece *piece,
                        const struct cgx_payloads *from)
{
    const struct cgx_piece in_source = {.energy = piece->energy - from->origin};
    double all = cgx_energy_read(slice->slot->staging, piece), own = all;

    for (size_t p = 0; p < from->count; p++)
        own -= cgx_energy_read(from->at[p], &in_source);
    if (own < ENERGY_LOST * all)
        own = 0;
    return own * cgx_encoding_range(piece->bits);
}

/* ---- measured errors ---- */

/* The weight of SAMPLE's bucket of COUNT elements if max-min quantised. */
static double sample_weight(const struct cgx_sample *sample, unsigned bits, size_t count)
{
    double u;

    if (sample->min == sample->max)
        return 0;
    u = (double)cgx_grid_scale(sample->min, sample->max, cgx_encoding_steps(bits));
    return (double)count * u * u * cgx_encoding_range(bits);
}

/* Adds the weights and errors of COUNT SAMPLES of PIECE to FINDING. */
static void add_samples(const struct cgx_plan *plan, const struct cgx_piece *piece,
                        struct cgx_sampling sampling, const struct cgx_sample *samples,
                        size_t count, struct cgx_finding *finding)
{
    const struct cgx_piece measured = cgx_measured(piece);

    for (size_t i = 0; i < count; i++) {
        size_t elements =
            cgx_bucket_elements(&measured, plan->bucket_size, cgx_sample_bucket(i, sampling));

        for (int f = 0; f < CGX_FAMILIES; f++)
            finding->weights[f] += cgx_quantisers[f].error
                                       ? cgx_sample_second_moment(&samples[i])
                                       : sample_weight(&samples[i], measured.bits, elements);
        for (unsigned bits = 1; bits <= CGX_WIDTHS; bits++)
            finding->errors[bits - 1] += cgx_sample_error(&samples[i], bits);
    }
}

void cgx_feedback_errors(const struct cgx_slice *slice, const struct cgx_payloads *from)
{
    const struct cgx_plan *plan = plan_of(slice);
    const struct cgx_measuring *measuring = &slice->measuring;
    const struct cgx_sample *samples =
        (const struct cgx_sample *)(const void *)(slice->slot->staging + slice->samples);

    for (size_t i = 0; i < measuring->npieces; i++) {
        const struct cgx_piece *piece = &measuring->pieces[i];
        size_t count = cgx_measuring_samples(measuring, piece, &slice->coding);
        struct cgx_finding *finding =
            &slice->coll->feedback->findings[cgx_plan_segment(plan, piece->first)];

        if (cgx_encoding_is_exact(piece->bits))
            continue;
        finding->quantised += weight_of(slice, piece, from);
        if (!measuring->failed)
            add_samples(plan, piece, slice->coding.sampling, samples, count, finding);
        samples += count;
    }
}

/* ---- second moments ---- */

static bool has_findings(const struct cgx_slice *slice)
{
    return slice->coll->feedback && slice->coll->feedback->findings;
}

/* The coding that samples sums: two consecutive steps sample the same buckets. */
static struct cgx_coding sampling_of(const struct cgx_slice *slice)
{
    struct cgx_coding coding = slice->coding;

    coding.sampling.phase &= ~1u;
    return coding;
}

size_t cgx_feedback_room(const struct cgx_slice *slice, const struct cgx_block *part)
{
    const struct cgx_coding coding = sampling_of(slice);
    size_t samples = 0;

    for (size_t i = 0; has_findings(slice) && i < part->npieces; i++)
        samples += cgx_bucket_samples(&cgx_slice_pieces(slice, part)[i], &coding);
    return cgx_round_up(samples * sizeof(struct cgx_moment), CGX_PIECE_ALIGNMENT);
}

/* Forms the second moments of PART by BACKEND. False: they are unknown. */
static bool find_moments(const struct cgx_slice *slice, const struct cgx_block *part,
                         struct cgx_backend *backend)
{
    const struct cgx_coding coding = sampling_of(slice);
    const unsigned char *sum = slice->slot->staging + part->message;

    return backend->ops->run(
               backend, slice->slot_number,
               &(struct cgx_work){CGX_MOMENTS, &coding, cgx_slice_list(slice, part, part->message),
                                  part->npieces, &sum, 1,
                                  .out = slice->slot->staging + slice->moments}) == CGX_OK;
}

void cgx_feedback_queue(struct cgx_slice *slice, const struct cgx_block *part)
{
    slice->has_moments = has_findings(slice) && cgx_slice_stays(slice, part) &&
                         find_moments(slice, part, slice->coll->encoder);
}

/* Adds the second moment and the weight of a bucket of COUNT elements of PIECE, if they are finite.
 */
static void add_moment(const struct cgx_piece *piece, size_t count, const struct cgx_moment *moment,
                       struct cgx_finding *finding)
{
    double weight = (double)count * moment->step * moment->step * cgx_encoding_range(piece->bits);

    if (!isfinite(moment->squares) || !isfinite(weight))
        return;
    finding->second_moment += moment->squares;
    finding->sampled += weight;
}

void cgx_feedback_second_moment(struct cgx_slice *slice, const struct cgx_block *part,
                                const struct cgx_payloads *from)
{
    const struct cgx_plan *plan = plan_of(slice);
    const struct cgx_coding coding = sampling_of(slice);
    const struct cgx_moment *moments =
        (const struct cgx_moment *)(const void *)(slice->slot->staging + slice->moments);
    bool known;

    if (!has_findings(slice))
        return;
    known = cgx_slice_stays(slice, part) ? slice->has_moments
                                         : find_moments(slice, part, cgx_backend_host());
    for (size_t i = 0; i < part->npieces; i++) {
        const struct cgx_piece *piece = &cgx_slice_pieces(slice, part)[i];
        struct cgx_finding *finding =
            &slice->coll->feedback->findings[cgx_plan_segment(plan, piece->first)];
        size_t samples = cgx_bucket_samples(piece, &coding);

        if (cgx_encoding_is_exact(piece->bits))
            continue;
        finding->owned += weight_of(slice, piece, from);
        for (size_t s = 0; known && s < samples; s++)
            add_moment(piece,
                       cgx_bucket_elements(piece, plan->bucket_size,
                                           cgx_sample_bucket(s, coding.sampling)),
                       &moments[s], finding);
        moments += samples;
    }
}
