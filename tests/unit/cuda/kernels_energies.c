/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

/* The kernel cgx_energies writes what the host codec writes, to the payload and to where the host
 * looks, and nothing else: of pieces of all families with fewer and more buckets than lanes, some
 * poisoned, and of as many sources as lanes, fewer and more, some of them elements. */

#include <math.h>
#include <string.h>

#include "codec/encoding.h"
#include "codec/energy.h"
#include "codec/rotated/rotated.h"
#include "lib/tap.h"
#include "unit/lib/codec_data.h"
#include "unit/lib/kernels.h"

enum { PIECES = 7, MOST_SOURCES = 66, BUCKET_SIZE = 64, PAYLOAD_BYTES = 1 << 15 };
enum { ELEMENTS = 1 << 16, BUFFER_BYTES = ELEMENTS * sizeof(float) };
enum { SUM = MOST_SOURCES, SHOWN, PAYLOADS };
enum { MEMORY_BYTES = BUFFER_BYTES + PAYLOADS * PAYLOAD_BYTES };

/* The buffer, payloads of the sources, that of the sum, and what the host sees. */
static unsigned char expected[MEMORY_BYTES] __attribute__((aligned(256)));
static unsigned char actual[MEMORY_BYTES] __attribute__((aligned(256)));
static struct cgx_piece pieces[PIECES];

static unsigned char *payload_in(unsigned char *memory, size_t number)
{
    return memory + BUFFER_BYTES + number * PAYLOAD_BYTES;
}

static void make_pieces(void)
{
    static const unsigned bits[PIECES] = {4, CGX_ROTATED + 3, 2, CGX_BITS_EXACT, CGX_ROTATED + 1, 8,
                                          1};
    static const size_t counts[PIECES] = {63,   34 * 1024,        33 * BUCKET_SIZE,    100,
                                          1025, 81 * BUCKET_SIZE, 32 * BUCKET_SIZE - 1};
    size_t first = 0, offset = 16;

    for (size_t i = 0; i < PIECES; i++) {
        pieces[i] = (struct cgx_piece){
            .first = first, .count = counts[i], .bits = bits[i], .offset = offset};
        first += (counts[i] + 1023) / 1024 * 1024;
        offset += cgx_piece_layout(counts[i], bits[i], BUCKET_SIZE, CGX_FLOAT32).bytes;
    }
    for (size_t i = 0; i < PIECES; i++, offset += CGX_ENERGY_BYTES)
        pieces[i].energy = offset;
    if (first > ELEMENTS || offset > PAYLOAD_BYTES)
        bail_out("the pieces are too large");
}

static void fill(unsigned char *memory, uint64_t *state, bool is_poisoned)
{
    float *elements = (float *)(void *)memory;

    for (size_t i = 0; i < ELEMENTS; i++)
        elements[i] = (float)data_gaussian(state) * (float)(1 + i / 1000 % 9);
    if (is_poisoned)
        elements[pieces[1].first + 33 * 1024] = elements[pieces[6].first] = NAN;
}

/* Makes the buckets of piece 5 have n u^2 of 64 to 64 * 4^26, three of each, in a random order: it
 * decides the upper half of their energy (unit/codec/energies.c). */
static void fill_in_order(unsigned char *memory, uint64_t *state)
{
    enum { BUCKETS = 81 };
    float *elements = (float *)(void *)memory + pieces[5].first;
    size_t places[BUCKETS] = {0};

    memset(elements, 0, pieces[5].count * sizeof *elements);
    for (size_t i = 0; i < BUCKETS; i++) {
        size_t other = data_random(state) % (i + 1);

        places[i] = places[other];
        places[other] = i;
    }
    for (size_t i = 0; i < BUCKETS; i++)
        elements[places[i] * BUCKET_SIZE] = 254.9f * (float)(1 << i / 3);
}

static enum cgx_status run_on_host(const struct kernels_job *job)
{
    return cgx_codec_run(cgx_codec_host(),
                         &(struct cgx_work){job->operation, job->coding, job->pieces, job->npieces,
                                            job->sources, job->nsources, .in = job->buffer,
                                            .out = job->payload});
}

/* The sum of NSOURCES sources, one of them elements if it HAS_ELEMENTS; of 0, what is encoded.
 * SHOWS: the host sees the energies. */
static bool is_same(size_t nsources, bool has_elements, bool shows)
{
    static uint64_t state = 1;
    const struct cgx_coding coding = {.bucket_size = BUCKET_SIZE};
    const unsigned char *sources[2][MOST_SOURCES];
    struct kernels_job jobs[2];
    unsigned char *memories[2] = {expected, actual};

    memset(expected, 0xAA, sizeof expected);
    for (size_t i = 0; i < nsources; i++) {
        fill(expected, &state, i == 5);
        run_on_host(&(struct kernels_job){CGX_ENCODE, &coding, pieces, PIECES, .buffer = expected,
                                          .payload = payload_in(expected, i)});
    }
    fill(expected, &state, false);
    fill_in_order(expected, &state);
    memcpy(actual, expected, sizeof actual);
    for (int m = 0; m < 2; m++) {
        for (size_t i = 0; i < nsources; i++)
            sources[m][i] = has_elements && i == nsources / 2 ? NULL : payload_in(memories[m], i);
        jobs[m] = (struct kernels_job){nsources > 0 ? CGX_REDUCE : CGX_ENCODE,
                                       &coding,
                                       pieces,
                                       PIECES,
                                       .sources = sources[m],
                                       .nsources = nsources,
                                       .buffer = memories[m],
                                       .payload = payload_in(memories[m], SUM),
                                       .shown = shows ? payload_in(memories[m], SHOWN) : NULL};
    }
    if (run_on_host(&jobs[0]) != CGX_OK || kernels_run(&jobs[1], actual, MEMORY_BYTES) != CGX_OK)
        return false;
    for (size_t i = 0; shows && i < PIECES; i++)
        memcpy(payload_in(expected, SHOWN) + pieces[i].energy,
               payload_in(expected, SUM) + pieces[i].energy, CGX_ENERGY_BYTES);
    for (size_t i = 0; i < MEMORY_BYTES; i++) {
        if (expected[i] != actual[i]) {
            diag("%zu sources: byte %zu of payload %zu", nsources, i % PAYLOAD_BYTES,
                 (i - BUFFER_BYTES) / PAYLOAD_BYTES);
            return false;
        }
    }
    return true;
}

int main(void)
{
    static const size_t counts[] = {1, 31, 33, 66};
    bool same = true;

    if (!kernels_open())
        return done_testing();
    make_pieces();
    for (int i = 0; i < 16 && same; i++)
        same = is_same(0, false, i % 2 == 0);
    ok(same, "encoded");
    for (size_t i = 0; i < sizeof counts / sizeof counts[0]; i++)
        ok(is_same(counts[i], false, i % 2 == 0) && is_same(counts[i], true, i % 2 != 0),
           "the sum of %zu sources, and with elements among them", counts[i]);
    return done_testing();
}
