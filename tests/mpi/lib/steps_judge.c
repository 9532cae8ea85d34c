/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

#include "steps_judge.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static double input_at(const struct judge *judge, int rank, size_t element)
{
    size_t each = judge->call->bytes + sizeof(struct record);

    return element_load(judge->steps->type, judge->call->all + (size_t)rank * each, element);
}

/* The sum of the steps of all quantisations of elements FIRST to END - 1, at the most; not finite
 * where an input is not. */
static double bucket_steps(const struct judge *judge, size_t first, size_t end)
{
    double low = 0, high = 0, inputs = 0;

    for (int p = 0; p < judge->ranks; p++) {
        double min = INFINITY, max = -INFINITY;

        for (size_t i = first; i < end; i++) {
            double input = input_at(judge, p, i);

            if (!isfinite(input))
                return INFINITY;
            min = input < min ? input : min;
            max = input > max ? input : max;
        }
        inputs += bound_step(&judge->scheme, min, max);
        low += fmin(min, 0);
        high += fmax(max, 0);
    }
    return inputs + bound_step(&judge->scheme, low - inputs, high + inputs);
}

/* How far elements from FIRST on may be off in uniform quantisation: four times the error that is
 * expected of all quantisations of their bucket; not finite where an input is not. */
static double uniform_error(const struct judge *judge, size_t first)
{
    static const double errors[] = {0.5708,  0.1331, 0.0358, 0.00963,
                                    0.00252, 6.5e-4, 1.6e-4, 3.5e-5};
    const char *codec = getenv("CGX_CODEC");
    size_t end = (first / 1024 + 1) * 1024;
    double power = 0;

    if (!codec || strcmp(codec, "maxmin") == 0)
        return 0;
    end = end < judge->call->count ? end : judge->call->count;
    for (size_t i = first / 1024 * 1024; i < end; i++) {
        double sum = 0;

        for (int p = 0; p < judge->ranks; p++) {
            double input = input_at(judge, p, i);

            sum += input;
            power += input * input;
        }
        power += sum * sum;
    }
    if (!isfinite(power))
        return INFINITY;
    return 4 * sqrt(errors[judge->scheme.bits - 1] * power);
}

static void judge_element(const struct judge *judge, size_t element, size_t part, double allowed)
{
    const enum element type = judge->steps->type;
    double sum = 0, magnitude = 0, ordered = 0, error;
    double result = element_load(type, judge->call->result, element);
    float running = 0;

    for (int p = 0; p < judge->ranks; p++) {
        double input = input_at(judge, p, element);

        sum += input;
        magnitude += fabs(input);
        running = p == 0 ? (float)input : running + (float)input;
    }
    ordered = element_round(type, (double)running);
    judge->verdict->disorder[part] += !(ordered == result || (isnan(ordered) && isnan(result)));
    if (type == ELEMENT_FLOAT32)
        judge->verdict->differs[part] +=
            element_load(type, judge->call->exact, element) != result && !isnan(result);
    if (!isfinite(element_round(type, sum))) {
        judge->verdict->laundered += isfinite(result);
        return;
    }
    if (!isfinite(allowed))
        return;
    error = fabs(result - sum);
    allowed += 2 * magnitude * judge->ranks * 0x1p-24 + element_half_ulp(type, sum);
    judge->verdict->beyond += !(error <= allowed);
    judge->verdict->squares[part] += error * error;
}

void judge_all(const struct judge *judge, int rank)
{
    size_t bucket = judge->scheme.bucket, part = judge->call->first;
    size_t part_end = judge->steps->parts[part].count;

    for (size_t first = (size_t)rank * bucket; first < judge->call->count;
         first += bucket * (size_t)judge->ranks) {
        size_t end = first + bucket < judge->call->count ? first + bucket : judge->call->count;
        double uniform = uniform_error(judge, first);
        /* A history of uniform quantisation multiplies what is lost by up to 252. */
        double allowed = (uniform > 0 ? 252 : 1) * bucket_steps(judge, first, end) * (1 + 0x1p-8);

        for (size_t i = first; i < end; i++) {
            while (i >= part_end)
                part_end += judge->steps->parts[++part].count;
            judge_element(judge, i, part, allowed / 2 + uniform);
        }
    }
}
