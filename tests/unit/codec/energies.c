/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

/* Energies of pieces are what doc/format.md says, to the bit: of inputs and of sums, of all
 * encodings, with incomplete, constant and poisoned buckets, and of pieces with fewer and more
 * buckets than lanes. */

#include <math.h>
#include <string.h>

#include "codec/encoding.h"
#include "codec/energy.h"
#include "codec/rotated/rotated.h"
#include "lib/tap.h"
#include "unit/lib/codec_data.h"

enum { SOURCES = 4, BUCKET_SIZE = 64, ELEMENTS = 70000, BYTES = ELEMENTS * 4 + 8192 };
enum { INPUT = 2 }; /* the source that is no payload */

static float elements[ELEMENTS];
static unsigned char payloads[SOURCES][BYTES] __attribute__((aligned(16)));
static unsigned char sum[BYTES] __attribute__((aligned(16)));

static uint32_t word_at(const unsigned char *payload, size_t offset)
{
    uint32_t word;

    memcpy(&word, payload + offset, sizeof word);
    return word;
}

static double from_half(uint32_t half)
{
    uint64_t bits = (uint64_t)half << 32;
    double value;

    memcpy(&value, &bits, sizeof value);
    return value;
}

/* As the page has it, with the lanes one by one. */
static double energy_of(const struct cgx_piece *piece, const unsigned char *payload)
{
    bool is_rotated = piece->bits > 16 && piece->bits < 32;
    size_t size = is_rotated ? 1024 : BUCKET_SIZE, buckets = (piece->count + size - 1) / size;
    double lanes[32];

    for (size_t lane = 0; lane < 32; lane++) {
        lanes[lane] = 0;
        for (size_t k = lane; k < buckets && piece->bits != 32; k += 32) {
            size_t n = !is_rotated && k + 1 == buckets ? piece->count - k * size : size;
            double u = (double)cgx_bits_float(word_at(payload, piece->offset + 4 * k) & 0xFFFF0000);

            lanes[lane] += (double)n * (u * u);
        }
    }
    for (size_t d = 16; d > 0; d /= 2) {
        for (size_t lane = 0; lane < d; lane++)
            lanes[lane] = lanes[lane] + lanes[lane + d];
    }
    return lanes[0];
}

static bool is_energy(const struct cgx_piece *piece, const unsigned char *payload, double expected)
{
    uint64_t bits;
    uint32_t half = word_at(payload, piece->energy);

    memcpy(&bits, &expected, sizeof bits);
    if (half == (isnan(expected) ? 0x7FF80000u : (uint32_t)(bits >> 32)))
        return true;
    diag("%zu elements at %u: %08x, not of %g", piece->count, piece->bits, half, expected);
    return false;
}

static void fill(uint64_t *state, bool is_poisoned)
{
    for (size_t i = 0; i < ELEMENTS; i++)
        elements[i] = (float)data_gaussian(state) * (float)(i / 700 % 5);
    if (is_poisoned)
        elements[40] = INFINITY;
}

static bool run(enum cgx_operation operation, const struct cgx_coding *coding,
                const struct cgx_piece *piece, const unsigned char **sources, unsigned char *out)
{
    size_t nsources = operation == CGX_REDUCE ? SOURCES : 0;

    return cgx_codec_run(cgx_codec_host(),
                         &(struct cgx_work){operation, coding, piece, 1, sources, nsources,
                                            .in = elements, .out = out}) == CGX_OK;
}

/* COUNT elements in ENCODING are encoded, and summed up beside elements; IN_PLACE: over a source.
 */
static bool test_piece(unsigned encoding, size_t count, bool is_poisoned, bool in_place)
{
    static uint64_t state = 1;
    const struct cgx_coding coding = {.bucket_size = BUCKET_SIZE};
    struct cgx_piece piece = {.count = count, .bits = encoding, .offset = 32};
    const unsigned char *sources[SOURCES];
    unsigned char *out = in_place ? payloads[0] : sum;
    double expected, before[SOURCES] = {0};
    bool good = true;

    piece.energy =
        piece.offset + cgx_piece_layout(count, encoding, BUCKET_SIZE, CGX_FLOAT32).bytes + 12;
    for (int i = 0; i < SOURCES; i++) {
        fill(&state, is_poisoned && i == 3);
        sources[i] = i == INPUT ? NULL : payloads[i];
        if (i == INPUT)
            continue;
        good = good && run(CGX_ENCODE, &coding, &piece, NULL, payloads[i]) &&
               is_energy(&piece, payloads[i], energy_of(&piece, payloads[i]));
        before[i] = from_half(word_at(payloads[i], piece.energy));
    }
    if (!good || !run(CGX_REDUCE, &coding, &piece, sources, out))
        return false;
    /* The sum's own comes first. */
    expected = energy_of(&piece, out);
    for (int i = 0; i < SOURCES; i++)
        expected += before[i];
    return is_energy(&piece, out, expected);
}

/* Buckets with n u^2 of 64 to 64 * 4^26, three of each, in a random order. They add up to 2^60 -
 * 2^6, which is rounded to 2^60 or to less, and so has one upper half or another, by the order. */
static bool test_order(void)
{
    enum { BUCKETS = 81, TIMES = 40 };
    static uint64_t state = 1;
    const struct cgx_coding coding = {.bucket_size = BUCKET_SIZE};
    struct cgx_piece piece = {.count = BUCKETS * BUCKET_SIZE, .bits = 8, .offset = 16};
    unsigned halves[2] = {0};

    piece.energy = 16 + cgx_piece_layout(piece.count, 8, BUCKET_SIZE, CGX_FLOAT32).bytes;
    for (int time = 0; time < TIMES; time++) {
        size_t places[BUCKETS] = {0};

        memset(elements, 0, sizeof elements);
        for (size_t i = 0; i < BUCKETS; i++) {
            size_t other = data_random(&state) % (i + 1);

            places[i] = places[other];
            places[other] = i;
        }
        for (size_t i = 0; i < BUCKETS; i++)
            elements[places[i] * BUCKET_SIZE] = 254.9f * (float)(1 << i / 3);
        if (!run(CGX_ENCODE, &coding, &piece, NULL, sum) ||
            !is_energy(&piece, sum, energy_of(&piece, sum)))
            return false;
        halves[word_at(sum, piece.energy) & 1]++;
    }
    diag("%u energies are rounded up, %u down", halves[0], halves[1]);
    return halves[0] > 0 && halves[1] > 0;
}

int main(void)
{
    static const size_t counts[] = {1, 64, 1000, 32 * 64, 33 * 64, 33 * 1024, 65536, 66 * 1024 - 7};
    bool good = true;

    for (unsigned encoding = 1; encoding <= 32; encoding++) {
        if (encoding > 8 && (encoding <= CGX_ROTATED || encoding > CGX_ROTATED + 5) &&
            encoding != CGX_BITS_EXACT)
            continue;
        for (size_t i = 0; i < sizeof counts / sizeof counts[0]; i++)
            good = good && test_piece(encoding, counts[i], i % 3 == 1, i % 2 == 1);
    }
    ok(good, "of all encodings");
    ok(test_order(), "in the order that the page has");
    return done_testing();
}
