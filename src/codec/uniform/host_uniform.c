/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

/* Operations on groups of uniform pieces: heads, element types, and step sizes that are doubled.
 * Groups are encoded in order, each behind the words of the one before it. */

#include "codec/host_walk.h"

#include <string.h>

#include "codec/encoding.h"

_Static_assert(sizeof(struct cgx_uniform_head) == 32, "it is part of the format");

/* Where a group is. Offsets are from the start of the payload area. */
struct place {
    struct cgx_uniform_layout layout;
    size_t index, piece;
    size_t ends, exponent, kinds; /* of all ends, and of the group's exponent and kinds */
    unsigned blocks;
};

static struct place place_of(const struct cgx_walk *walk, const struct cgx_bucket *bucket)
{
    const struct cgx_piece *piece = walk->piece;
    struct place place = {.layout = cgx_uniform_layout_of(piece->count),
                          .index = (bucket->first - piece->first) / CGX_UNIFORM_GROUP,
                          .piece = piece->offset};

    place.ends = place.piece + place.layout.ends;
    place.exponent = place.piece + place.layout.exponents + place.index;
    place.kinds = place.piece + place.layout.kinds + place.index * sizeof(uint64_t);
    place.blocks = (unsigned)cgx_bucket_count(bucket->count, CGX_UNIFORM_BLOCK);
    return place;
}

static size_t word_at(const struct place *place, size_t number)
{
    return place->piece + place->layout.words + number * sizeof(uint64_t);
}

/* The number of words in the first GROUPS groups of the piece. */
static size_t words_in(const struct place *place, const unsigned char *payload, size_t groups)
{
    uint32_t end = 0;

    if (groups > 0)
        memcpy(&end, payload + place->ends + (groups - 1) * sizeof end, sizeof end);
    return end;
}

static struct cgx_uniform_group group_of(const struct cgx_bucket *bucket, const struct place *place,
                                         const struct cgx_uniform_head *head, float step)
{
    return (struct cgx_uniform_group){.step = step,
                                      .inverse = 1.0f / step,
                                      .key = head->key,
                                      .first = (uint32_t)(bucket->first / CGX_UNIFORM_BLOCK),
                                      .blocks = place->blocks};
}

/* ---- elements ---- */

/* Returns the ELEMENTS of a group as float32, divided by their scales if there is a history, with
 * zeros behind those that exist: in place, or in ROOM. */
static const cgx_float32 *widen_elements(const struct cgx_walk *walk, const struct cgx_work *work,
                                         const struct cgx_bucket *bucket,
                                         const unsigned char *elements, float *room)
{
    enum cgx_dtype dtype = walk->coding->dtype;
    const cgx_float32 *values = (const cgx_float32 *)elements;
    bool has_history = work->history.scales != NULL;

    if (dtype == CGX_FLOAT32 && bucket->count == walk->size && !has_history)
        return values;
    if (dtype != CGX_FLOAT32 || !has_history) {
        walk->kernels->widen[dtype](elements, bucket->count, room);
        values = room;
    }
    if (has_history)
        walk->kernels->divide(work->history.scales + bucket->first, values, bucket->count, room);
    memset(room + bucket->count, 0, (walk->size - bucket->count) * sizeof *room);
    return room;
}

/* How often STEP must be doubled so that all finite VALUES have a code of 8 bits. */
static int32_t most_exponent(const cgx_float32 *values, float step)
{
    float most = 0;
    int32_t exponent = 0;

    for (size_t i = 0; i < CGX_UNIFORM_GROUP; i++)
        if (fabsf(values[i]) < INFINITY && fabsf(values[i]) > most)
            most = fabsf(values[i]);
    while (!(most * (1.0f / cgx_uniform_scaled(step, exponent)) <= CGX_UNIFORM_MOST_CODE))
        exponent++;
    return exponent;
}

/* ---- encode ---- */

/* The total of SUMS, which are changed: for d = 1, 2, 4, ... sum i + d is added to sum i, of all i
 * that are multiples of 2 d. */
static double total_of(double sums[CGX_UNIFORM_SUMS])
{
    for (size_t d = 1; d < CGX_UNIFORM_SUMS; d *= 2)
        for (size_t i = 0; i < CGX_UNIFORM_SUMS; i += 2 * d)
            sums[i] += sums[i + d];
    return sums[0];
}

/* The head of a piece with STEP before its first group is written: its energy is that of the
 * sources only. Sets the walk's noise, that of the sources: each quantisation of an element has a
 * uniform error of up to half a step. Energies leave these errors out; otherwise step sizes would
 * grow for ever if sums are quantised again and again. */
static struct cgx_uniform_head new_head(const struct cgx_walk *walk, const struct cgx_work *work,
                                        float step)
{
    const struct cgx_coding *coding = walk->coding;
    struct cgx_uniform_head head = {
        .step = step,
        .key = cgx_uniform_key(coding->stream, coding->turn, coding->stage),
        .elements = walk->piece->count};
    uint32_t shift = 0;

    *walk->noise = 0;
    for (size_t p = 0; work->operation == CGX_REDUCE && p < work->nsources; p++) {
        struct cgx_uniform_head source;

        if (cgx_walk_unquantised(walk, work, p, walk->piece->first))
            continue;
        source = cgx_uniform_head_of(work->sources[p] + walk->piece->offset);
        shift += cgx_uniform_shift(source.key, source.step, step);
        head.energy += source.energy;
        head.elements += source.elements;
        *walk->noise += (double)source.step * (double)source.step * (double)source.elements /
                        (12 * (double)walk->piece->count);
    }
    head.key = cgx_uniform_shifted(head.key, shift);
    return head;
}

/* The sum of squares of the piece's ELEMENTS. Groups with one that is not finite do not count. */
static double squares_of(const struct cgx_walk *walk, const struct cgx_work *work,
                         const unsigned char *elements)
{
    cgx_bucket_values room;

    memset(walk->sums, 0, CGX_UNIFORM_SUMS * sizeof *walk->sums);
    for (size_t i = 0; i < walk->layout.buckets; i++) {
        const struct cgx_bucket bucket = cgx_walk_bucket(walk, i);
        size_t at = (bucket.first - walk->piece->first) * cgx_dtype_size(walk->coding->dtype);
        float squares =
            walk->kernels->norm(widen_elements(walk, work, &bucket, elements + at, room));

        walk->sums[i % CGX_UNIFORM_SUMS] += squares < INFINITY ? (double)squares : 0;
    }
    return total_of(walk->sums);
}

/* The step size of a piece for which the ranks have none. The energy of a sum is estimated as that
 * of independent sources. */
static float estimate_step(const struct cgx_walk *walk, const struct cgx_work *work)
{
    const struct cgx_piece *piece = walk->piece;
    double count = (double)piece->count, error = (double)walk->coding->error, energy = 0;

    if (work->operation == CGX_ENCODE)
        energy = squares_of(walk, work, cgx_walk_element(walk, work->in, piece->first));
    for (size_t p = 0; work->operation == CGX_REDUCE && p < work->nsources; p++) {
        const unsigned char *elements = cgx_walk_unquantised(walk, work, p, piece->first);
        float step = elements ? 0 : cgx_uniform_head_of(work->sources[p] + piece->offset).step;

        if (elements)
            energy += squares_of(walk, work, elements);
        else if (cgx_uniform_is_step(step))
            energy += (double)step * (double)step * count / (12 * error);
    }
    return cgx_uniform_step(energy, count, error);
}

/* Writes the head of a piece, and zeros to all parts between the head and the words. */
static enum cgx_status begin_piece(const struct cgx_walk *walk, const struct cgx_work *work,
                                   const struct place *place)
{
    unsigned char *payload = work->out;
    struct cgx_uniform_head head;
    float step = walk->coding->step_size;

    if (!cgx_work_may_begin(work))
        return CGX_ERR_INVALID;
    step = step == 0 ? estimate_step(walk, work) : step;
    head = new_head(walk, work, step);
    memset(walk->sums, 0, CGX_UNIFORM_SUMS * sizeof *walk->sums);
    memcpy(payload + place->piece, &head, sizeof head);
    memset(payload + place->piece + sizeof head, 0, place->layout.words - sizeof head);
    return CGX_OK;
}

/* Encodes VALUES with the least exponent, from LEAST on, with which they fit. With the greatest
 * they do (doc/format.md, "Room"). Returns the number of words. */
static size_t encode_group(const struct cgx_walk *walk, const struct cgx_bucket *bucket,
                           const struct place *place, const struct cgx_uniform_head *head,
                           const cgx_float32 *values, bool is_sum, int32_t least,
                           unsigned char *payload, uint64_t *kinds)
{
    uint64_t *words = (uint64_t *)(void *)(payload + word_at(place, head->words));
    struct cgx_uniform_group group =
        group_of(bucket, place, head, cgx_uniform_scaled(head->step, least));
    size_t count = walk->kernels->uniform->encode(&group, values, false, is_sum, kinds, words);
    int32_t exponent = least, next = 0, most = 0;

    if (count == CGX_UNIFORM_TOO_MANY)
        most = most_exponent(values, head->step);
    while (count == CGX_UNIFORM_TOO_MANY) {
        exponent = next < most ? next : most;
        next = next == 0 ? 1 : 2 * next;
        group = group_of(bucket, place, head, cgx_uniform_scaled(head->step, exponent));
        count = walk->kernels->uniform->encode(&group, values, true, is_sum, kinds, words);
    }
    payload[place->exponent] = (unsigned char)(exponent - CGX_UNIFORM_LEAST_EXPONENT);
    return count;
}

/* Quantises VALUES as a group and writes it behind the groups before it. */
static void quantise_group(const struct cgx_walk *walk, const struct cgx_bucket *bucket,
                           const struct place *place, const cgx_float32 *values, bool is_sum,
                           unsigned char *payload)
{
    struct cgx_uniform_head head = cgx_uniform_head_of(payload + place->piece);
    float squares = walk->kernels->norm(values), part = walk->coding->floor;
    int32_t least = 0;
    double energy = (double)squares - (double)bucket->count * *walk->noise;
    uint64_t kinds;
    uint32_t end;

    if (part > 0) {
        size_t zeros = walk->kernels->zeros(values, bucket->count, is_sum);

        least = cgx_uniform_floor(head.step, part, squares, (uint32_t)(bucket->count - zeros));
    }
    head.words += encode_group(walk, bucket, place, &head, values, is_sum, least, payload, &kinds);
    /* Pads the last group to a multiple of 16 bytes. */
    *(uint64_t *)(void *)(payload + word_at(place, head.words)) = 0;
    walk->sums[place->index % CGX_UNIFORM_SUMS] += energy < 0 ? 0 : energy;
    if (place->index + 1 == place->layout.groups)
        head.energy += total_of(walk->sums);
    if (isnan(head.energy))
        head.energy = (double)NAN; /* the sign of a NaN differs between processors */
    end = (uint32_t)head.words;
    memcpy(payload + place->ends + place->index * sizeof end, &end, sizeof end);
    memcpy(payload + place->kinds, &kinds, sizeof kinds);
    memcpy(payload + place->piece, &head, sizeof head);
}

static enum cgx_status encode_elements(const struct cgx_walk *walk, const struct cgx_work *work,
                                       const struct cgx_bucket *bucket)
{
    const unsigned char *elements = cgx_walk_element(walk, work->in, bucket->first);
    const struct place place = place_of(walk, bucket);
    cgx_bucket_values room;

    if (place.index == 0 && begin_piece(walk, work, &place) != CGX_OK)
        return CGX_ERR_INVALID;
    cgx_walk_prefetch(elements, bucket->count * cgx_dtype_size(walk->coding->dtype));
    quantise_group(walk, bucket, &place, widen_elements(walk, work, bucket, elements, room), false,
                   work->out);
    return CGX_OK;
}

/* ---- decode ---- */

/* Decodes the group at PLACE into VALUES, all elements of its blocks, for USE. */
static enum cgx_status restore_group(const struct cgx_walk *walk, const struct cgx_bucket *bucket,
                                     const struct place *place, const unsigned char *payload,
                                     enum cgx_uniform_use use, cgx_float32 *values)
{
    struct cgx_uniform_head head = cgx_uniform_head_of(payload + place->piece);
    size_t begin = words_in(place, payload, place->index),
           end = words_in(place, payload, place->index + 1);
    size_t most = cgx_uniform_most_words(walk->piece->count);
    struct cgx_uniform_group group;
    uint64_t kinds;

    if (!cgx_uniform_is_step(head.step) || begin > end || end > most || head.words > most ||
        end - begin > (size_t)place->blocks * CGX_UNIFORM_BLOCK_WORDS)
        return CGX_ERR_FORMAT;
    group =
        group_of(bucket, place, &head, cgx_uniform_group_step(head.step, payload[place->exponent]));
    memcpy(&kinds, payload + place->kinds, sizeof kinds);
    if (!cgx_uniform_is_group_step(group.step) ||
        !walk->kernels->uniform->decode(
            &group, kinds, (const uint64_t *)(const void *)(payload + word_at(place, begin)),
            end - begin, use, values))
        return CGX_ERR_FORMAT;
    return CGX_OK;
}

/* Multiplies the decoded VALUES by their scales and, if the group learns from this call, updates
 * the history with them. */
static void restore_scales(const struct cgx_walk *walk, const struct cgx_work *work,
                           const struct cgx_bucket *bucket, cgx_float32 *values)
{
    const struct cgx_host_kernels *kernels = walk->kernels;
    float *fit = work->history.fits + bucket->first / CGX_BUCKET_MOST;
    uint8_t *scales = work->history.scales + bucket->first;
    const cgx_float32 *results = values;
    struct cgx_history_lesson lesson;
    cgx_bucket_values room;
    float squares;

    kernels->multiply(scales, bucket->count, values);
    if (!cgx_history_is_due(walk->key, (uint32_t)bucket->first, *fit, work->history.age))
        return;
    if (bucket->count < walk->size) {
        memcpy(room, values, bucket->count * sizeof *room);
        memset(room + bucket->count, 0, (walk->size - bucket->count) * sizeof *room);
        results = room;
    }
    squares = kernels->norm(results);
    if (!cgx_history_is_known(squares))
        return;
    kernels->divide(scales, values, bucket->count, room);
    lesson = cgx_history_lesson(*fit, work->history.age, squares, kernels->norm(room),
                                (float)bucket->count);
    *fit = lesson.fit;
    kernels->learn(lesson, values, walk->key, bucket->first, bucket->count, scales);
}

static enum cgx_status decode_group(const struct cgx_walk *walk, const struct cgx_work *work,
                                    const struct cgx_bucket *bucket)
{
    enum cgx_dtype dtype = walk->coding->dtype;
    size_t size = cgx_dtype_size(dtype);
    unsigned char *elements = (unsigned char *)work->out + bucket->first * size;
    bool in_place = dtype == CGX_FLOAT32 && bucket->count % CGX_UNIFORM_BLOCK == 0;
    const struct place place = place_of(walk, bucket);
    cgx_bucket_values room;
    cgx_float32 *values = in_place ? (cgx_float32 *)elements : room;

    cgx_walk_prefetch(elements, bucket->count * size);
    if (restore_group(walk, bucket, &place, work->in, CGX_UNIFORM_RESULT, values) != CGX_OK)
        return CGX_ERR_FORMAT;
    if (work->history.scales)
        restore_scales(walk, work, bucket, values);
    if (!in_place)
        walk->kernels->narrow[dtype](room, bucket->count, elements);
    return CGX_OK;
}

/* ---- reduce ---- */

/* Adds unquantised ELEMENTS to SUM, or makes them the sum if IS_FIRST. Zeros become -0, which
 * changes nothing that it is added to, not even -0. */
static void add_elements(const struct cgx_walk *walk, const struct cgx_work *work,
                         const struct cgx_bucket *bucket, const unsigned char *elements,
                         bool is_first, float *sum)
{
    cgx_bucket_values room;
    const cgx_float32 *values = widen_elements(walk, work, bucket, elements, room);
    const cgx_uint32 *from = (const cgx_uint32 *)values;
    cgx_uint32 *to = (cgx_uint32 *)(is_first ? sum : room);

    for (size_t i = 0; i < CGX_UNIFORM_GROUP; i++)
        to[i] = from[i] | (from[i] << 1 == 0 ? 0x80000000u : 0);
    if (!is_first)
        walk->kernels->add(room, CGX_UNIFORM_GROUP, sum);
}

static enum cgx_status reduce_group(const struct cgx_walk *walk, const struct cgx_work *work,
                                    const struct cgx_bucket *bucket)
{
    const struct place place = place_of(walk, bucket);
    cgx_bucket_values sum;

    if (place.index == 0 && begin_piece(walk, work, &place) != CGX_OK)
        return CGX_ERR_INVALID;
    if (bucket->count < CGX_UNIFORM_GROUP)
        memset(sum, 0, sizeof sum);
    for (size_t p = 0; p < work->nsources; p++) {
        const unsigned char *elements = cgx_walk_unquantised(walk, work, p, bucket->first);

        if (elements) {
            cgx_walk_prefetch(elements, bucket->count * cgx_dtype_size(walk->coding->dtype));
            add_elements(walk, work, bucket, elements, p == 0, sum);
        } else if (restore_group(walk, bucket, &place, work->sources[p],
                                 p > 0 ? CGX_UNIFORM_SOURCE : CGX_UNIFORM_FIRST_SOURCE,
                                 sum) != CGX_OK)
            return CGX_ERR_FORMAT;
    }
    for (size_t i = bucket->count; i < CGX_UNIFORM_GROUP; i++)
        sum[i] = -0.0f;
    quantise_group(walk, bucket, &place, sum, true, work->out);
    return CGX_OK;
}

/* ---- the family ---- */

cgx_bucket_operation *const cgx_host_uniform[CGX_OPERATIONS] = {
    [CGX_ENCODE] = encode_elements, [CGX_REDUCE] = reduce_group, [CGX_DECODE] = decode_group};
