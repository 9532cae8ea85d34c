/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

#include <stdlib.h>
#include <string.h>

#include "codec/codec.h"
#include "policy.h"

struct policy_meter {
    const struct cgx_codec *codec;
    struct cgx_coding coding;
    unsigned ranks;
    size_t stride;                 /* bytes of a payload */
    unsigned char *payloads;       /* of each rank, and of the sum */
    const unsigned char **sources; /* of each rank */
    float *decoded, *gathered;
    double *sum;
};

struct policy_meter *policy_meter_create(unsigned ranks, size_t count)
{
    struct policy_meter *meter = calloc(1, sizeof *meter);

    if (!meter)
        return NULL;
    meter->codec = cgx_codec_host();
    meter->coding = (struct cgx_coding){.dtype = CGX_FLOAT32, .bucket_size = POLICY_BUCKET};
    meter->ranks = ranks;
    /* 8 bits take the most. */
    meter->stride = (cgx_piece_layout(count, 8, POLICY_BUCKET, CGX_FLOAT32).bytes + 63) / 64 * 64;
    meter->payloads = aligned_alloc(64, (ranks + 1) * meter->stride);
    meter->sources = calloc(ranks, sizeof *meter->sources);
    meter->decoded = calloc(count, sizeof(float));
    meter->gathered = calloc(count * (ranks + 1), sizeof(float));
    meter->sum = calloc(count, sizeof(double));
    if (!meter->payloads || !meter->sources || !meter->decoded || !meter->gathered || !meter->sum) {
        policy_meter_free(meter);
        return NULL;
    }
    return meter;
}

void policy_meter_free(struct policy_meter *meter)
{
    if (!meter)
        return;
    free(meter->sum);
    free(meter->gathered);
    free(meter->decoded);
    free(meter->sources);
    free(meter->payloads);
    free(meter);
}

static struct cgx_piece whole_piece(size_t count, unsigned bits)
{
    return (struct cgx_piece){.first = 0, .count = count, .bits = bits, .offset = 0};
}

double policy_quantise(struct policy_meter *meter, const float *values, size_t count, unsigned bits)
{
    struct cgx_piece piece = whole_piece(count, bits);
    double error = 0;

    meter->codec->encode(&meter->coding, &piece, 1, values, meter->payloads);
    meter->codec->decode(&meter->coding, &piece, 1, meter->payloads, meter->decoded);
    for (size_t i = 0; i < count; i++) {
        double difference = (double)meter->decoded[i] - (double)values[i];

        error += difference * difference;
    }
    return error;
}

double policy_reduce(struct policy_meter *meter, const float *values, size_t stride, size_t count,
                     unsigned owner, unsigned bits)
{
    struct cgx_piece piece = whole_piece(count, bits);
    unsigned char *result = meter->payloads + meter->ranks * meter->stride;
    double error = 0;

    memset(meter->sum, 0, count * sizeof *meter->sum);
    for (unsigned p = 0; p < meter->ranks; p++) {
        unsigned char *payload = meter->payloads + p * meter->stride;

        for (size_t i = 0; i < count; i++)
            meter->sum[i] += (double)values[p * stride + i];
        meter->sources[p] = p == owner ? NULL : payload;
        if (p != owner)
            meter->codec->encode(&meter->coding, &piece, 1, values + p * stride, payload);
    }
    meter->codec->reduce(&meter->coding, &piece, 1, meter->sources, meter->ranks,
                         values + owner * stride, result);
    meter->codec->decode(&meter->coding, &piece, 1, result, meter->decoded);
    for (size_t i = 0; i < count; i++) {
        double difference = (double)meter->decoded[i] - meter->sum[i];

        error += difference * difference;
    }
    return error;
}

/* The sampled buckets of VALUES, one after the other; returns their elements. */
static size_t gather(const float *values, size_t count, float *gathered)
{
    size_t buckets = (count + POLICY_BUCKET - 1) / POLICY_BUCKET, elements = 0;

    for (size_t k = 0; k < cgx_sample_count(buckets); k++) {
        size_t first = cgx_sample_bucket(k) * POLICY_BUCKET;
        size_t here = count - first < POLICY_BUCKET ? count - first : POLICY_BUCKET;

        memcpy(gathered + elements, values + first, here * sizeof *values);
        elements += here;
    }
    return elements;
}

double policy_sample(struct policy_meter *meter, const float *values, size_t stride, size_t count,
                     unsigned owner, unsigned bits)
{
    float *sum = meter->gathered, *own = sum + count;
    size_t elements = 0;
    double error = 0;

    memset(sum, 0, count * sizeof *sum);
    for (unsigned p = 0; p < meter->ranks; p++) {
        elements = gather(values + p * stride, count, own);
        for (size_t i = 0; i < elements; i++)
            sum[i] += own[i];
        if (p != owner)
            error += policy_quantise(meter, own, elements, bits);
    }
    error += policy_quantise(meter, sum, elements, bits);
    return error * (double)count / (double)elements;
}
