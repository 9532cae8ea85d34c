/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

#include "coll/tally.h"

#include <math.h>
#include <string.h>

#include "codec/bucket.h"
#include "codec/encoding.h"

static const struct cgx_plan *plan_of(const struct cgx_slice *slice)
{
    return slice->coll->schedule->plan;
}

void cgx_tally_begin(const struct cgx_coll *coll)
{
    const struct cgx_plan *plan = coll->schedule->plan;
    size_t nsegments = plan->nsegments;

    if (coll->steps)
        memset(coll->steps, 0,
               cgx_bucket_count(plan->count, plan->bucket_size) * sizeof coll->steps[0]);
    if (!coll->tally)
        return;
    for (size_t i = 0; i < nsegments; i++)
        coll->tally->spreads[i] = 0;
    if (coll->tally->findings)
        memset(coll->tally->findings, 0, nsegments * sizeof coll->tally->findings[0]);
    if (coll->tally->kept)
        coll->tally->kept->at = 0;
}

void cgx_tally_void(const struct cgx_coll *coll)
{
    for (size_t i = 0; coll->tally && i < coll->schedule->plan->nsegments; i++)
        coll->tally->spreads[i] = NAN;
}

/* ---- sums of n u^2 ---- */

double cgx_tally_weight(const struct cgx_plan *plan, const struct cgx_piece *piece,
                        const unsigned char *headers)
{
    return cgx_encoding_is_exact(piece->bits)
               ? 0
               : cgx_bucket_energy(piece, plan->bucket_size, headers) *
                     cgx_encoding_range(piece->bits, plan->rounding);
}

/* Adds the steps of PIECE to those of the buffer's buckets. */
static void add_steps(const struct cgx_piece *piece, unsigned bucket_size,
                      const unsigned char *headers, float *steps)
{
    size_t buckets = cgx_bucket_count(piece->count, bucket_size);

    if (cgx_encoding_is_exact(piece->bits))
        return;
    for (size_t i = 0; i < buckets; i++)
        steps[piece->first / bucket_size + i] += cgx_bucket_scale(headers, i);
}

/* In a message it has the upper half of a float64: sums of squares of all float32. */
static double spread_at(const unsigned char *spreads, size_t index)
{
    uint32_t half;
    uint64_t bits;
    double spread;

    memcpy(&half, spreads + index * sizeof half, sizeof half);
    bits = (uint64_t)half << 32;
    memcpy(&spread, &bits, sizeof spread);
    return spread;
}

static void write_spread(double spread, unsigned char *spreads, size_t index)
{
    uint64_t bits;
    uint32_t half;

    memcpy(&bits, &spread, sizeof bits);
    half = (uint32_t)(bits >> 32);
    memcpy(spreads + index * sizeof half, &half, sizeof half);
}

void cgx_tally_seal(const struct cgx_slice *slice, const struct cgx_unit *part,
                    const unsigned char *const *sources, size_t nsources, size_t origin)
{
    const struct cgx_plan *plan = plan_of(slice);
    unsigned char *staging = slice->lane->staging;
    unsigned char *spreads = staging + part->spreads;
    size_t used = part->npieces * CGX_SPREAD_BYTES;

    for (size_t i = 0; slice->coll->steps && i < part->npieces; i++) {
        const struct cgx_piece *piece = &slice->lane->pieces[part->first_piece + i];

        add_steps(piece, plan->bucket_size, staging + piece->offset, slice->coll->steps);
    }
    if (!plan->adaptive)
        return;
    for (size_t i = 0; i < part->npieces; i++) {
        const struct cgx_piece *piece = &slice->lane->pieces[part->first_piece + i];
        double sum = cgx_bucket_energy(piece, plan->bucket_size, staging + piece->offset);

        for (size_t p = 0; p < nsources; p++)
            sum += sources[p] ? spread_at(sources[p] + (part->spreads - origin), i) : 0;
        write_spread(sum, spreads, i);
    }
    memset(spreads + used, 0, part->carried - part->spreads - used);
}

void cgx_tally_spreads(const struct cgx_slice *slice)
{
    const struct cgx_coll *coll = slice->coll;

    if (!coll->tally)
        return;
    for (unsigned chunk = 0; chunk < cgx_schedule_chunks(coll->schedule); chunk++) {
        const struct cgx_unit *part = &slice->parts[chunk];

        for (size_t i = 0; i < part->npieces; i++) {
            size_t first = slice->lane->pieces[part->first_piece + i].first;

            /* What did not come is not known. */
            coll->tally->spreads[cgx_plan_segment(plan_of(slice), first)] +=
                slice->lost ? NAN : spread_at(slice->lane->staging + part->spreads, i);
        }
    }
}

/* ---- measured errors ---- */

/* The weight of the bucket of COUNT elements that SAMPLE is of. */
static double sample_weight(const struct cgx_sample *sample, enum cgx_rounding rounding,
                            unsigned bits, size_t count)
{
    double u;

    if (sample->min == sample->max)
        return 0;
    u = (double)cgx_step(sample->min, sample->max, cgx_encoding_steps(bits, rounding));
    return (double)count * u * u * cgx_encoding_range(bits, rounding);
}

/* Adds the errors of PIECE, of which there are SAMPLES; returns how many. */
static size_t add_errors(const struct cgx_plan *plan, const struct cgx_piece *piece,
                         struct cgx_sampling sampling, const struct cgx_sample *samples,
                         struct cgx_finding *finding)
{
    size_t count = cgx_sample_count(cgx_bucket_count(piece->count, plan->bucket_size), sampling);

    for (size_t i = 0; i < count; i++) {
        size_t elements =
            cgx_bucket_elements(piece, plan->bucket_size, cgx_sample_bucket(i, sampling));

        finding->sampled += sample_weight(&samples[i], plan->rounding, piece->bits, elements);
        for (unsigned bits = cgx_encoding_least(plan->rounding); bits <= CGX_WIDTHS; bits++)
            finding->errors[bits - 1] += cgx_sample_error(&samples[i], plan->rounding, bits);
    }
    return count;
}

void cgx_tally_errors(const struct cgx_slice *slice)
{
    const struct cgx_plan *plan = plan_of(slice);
    const struct cgx_measuring *measuring = &slice->measuring;
    const struct cgx_sample *samples =
        (const struct cgx_sample *)(const void *)(slice->lane->staging + slice->samples);

    for (size_t i = 0; i < measuring->npieces; i++) {
        const struct cgx_piece *piece = &measuring->pieces[i];
        struct cgx_finding *finding =
            &slice->coll->tally->findings[cgx_plan_segment(plan, piece->first)];

        if (cgx_encoding_is_exact(piece->bits))
            continue;
        finding->quantised += cgx_tally_weight(plan, piece, measuring->payload + piece->offset);
        if (!measuring->failed)
            samples += add_errors(plan, piece, slice->coding.sampling, samples, finding);
    }
}
