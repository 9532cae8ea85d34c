/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

#include "rotated_reference.h"

#include <math.h>
#include <string.h>

#include "codec_reference.h"

#define N 1024

static const struct book {
    double alpha, beta, limit;
    int levels[16];
} books[6] = {
    [1] = {1, 0, 0x1.fep-1, {166}},
    [2] = {0x1.05p0, 0, 0x1.f535p0, {74, 247}},
    [3] = {0x1.15p1, 0x1.04p-2, 0x1.5a43p1, {24, 75, 134, 214}},
    [4] = {0x1.128p2, 0x1.24p-1, 0x1.b5238p1, {11, 34, 59, 86, 116, 151, 192, 253}},
    [5] = {0x1.0e8p3,
           0x1.25p0,
           0x1.d8ae8p1,
           {484, 1470, 2491, 3552, 4657, 5813, 7028, 8310, 9674, 11136, 12722, 14470, 16442, 18756,
            21697, 26214}},
};

static const int forth[] = {7, 8, 9, 0, 1, 2, 3, 4, 5, 6};
static const int back[] = {4, 5, 6, 2, 3, 0, 1, 7, 8, 9};

/* ---- places ---- */

/* The element that is number E of LANE on the side of codes. */
static int element_of(int lane, int e)
{
    int element = 0;

    for (int bit = 0; bit < 10; bit++) {
        int set = bit < 2   ? lane >> bit
                  : bit < 4 ? e >> (bit + 1)
                  : bit < 7 ? e >> (bit - 4)
                            : lane >> (bit - 5);

        element |= (set & 1) << bit;
    }
    return element;
}

/* Where bit I of code E of LANE is among the bits of the bucket's words. */
static size_t bit_of(int width, int lane, int e, int i)
{
    int whole = 32 / width, left = 32 - whole * width;
    int word = e / whole, bit = e % whole * width + i;

    if (e >= whole * width) {
        int at = (e - whole * width) * width + i;

        word = at / left;
        bit = whole * width + at % left;
    }
    return 32 * (size_t)(32 * word + lane) + (size_t)bit;
}

static void put_code(unsigned char *codes, int width, int lane, int e, unsigned code)
{
    for (int i = 0; i < width; i++) {
        size_t bit = bit_of(width, lane, e, i);

        codes[bit / 8] |= (unsigned char)((code >> i & 1) << bit % 8);
    }
}

static unsigned get_code(const unsigned char *codes, int width, int lane, int e)
{
    unsigned code = 0;

    for (int i = 0; i < width; i++) {
        size_t bit = bit_of(width, lane, e, i);

        code |= (codes[bit / 8] >> bit % 8 & 1u) << i;
    }
    return code;
}

static float level_of(unsigned code, int width)
{
    int from_middle = (int)code - (1 << (width - 1));

    return (float)(from_middle >= 0 ? books[width].levels[from_middle]
                                    : -books[width].levels[-from_middle - 1]);
}

/* ---- signs, rotation ---- */

static uint32_t mix(uint32_t h)
{
    h = h ^ h >> 16;
    h = (uint32_t)(h * (uint64_t)2246822507);
    h = h ^ h >> 13;
    h = (uint32_t)(h * (uint64_t)3266489909);
    return h ^ h >> 16;
}

/* Whether the sign of an element of the caller's buffer is turned. */
static bool is_turned(const struct cgx_coding *coding, uint64_t element)
{
    const uint32_t c = 2654435769;
    uint32_t key = mix((uint32_t)(coding->seed % 4294967296) + c), lane = element % 128 / 4;

    key = mix((key ^ (uint32_t)(coding->seed / 4294967296)) + c);
    key = mix((key ^ coding->call) + c);
    return mix((32 * (uint32_t)(element / N) + lane) * c + key) >>
               (4 * (element % N / 128) + element % 4) &
           1;
}

static void turn(const struct cgx_coding *coding, uint64_t first, float *x)
{
    for (uint64_t i = 0; i < N; i++)
        x[i] = is_turned(coding, first + i) ? -x[i] : x[i];
}

static void stages(const int *bits, float *x)
{
    for (int stage = 0; stage < 10; stage++)
        for (int i = 0; i < N; i++) {
            int other = i | 1 << bits[stage];
            float a = x[i], c = x[other];

            if (other == i)
                continue;
            x[i] = a + c;
            x[other] = a - c;
        }
}

/* ---- sums over a bucket ---- */

static float over_lanes(float *lanes, const int *distances)
{
    float next[32];

    for (int d = 0; d < 5; d++) {
        for (int l = 0; l < 32; l++)
            next[l] = lanes[l] + lanes[l ^ distances[d]];
        memcpy(lanes, next, sizeof next);
    }
    return lanes[0];
}

static float sum_of_elements(const float *x)
{
    static const int distances[] = {4, 8, 16, 1, 2};
    float lanes[32];

    for (int l = 0; l < 32; l++) {
        float j[4] = {0};

        for (int i = 0; i < 32; i++)
            j[i % 4] =
                fmaf(x[128 * (i / 4) + 4 * l + i % 4], x[128 * (i / 4) + 4 * l + i % 4], j[i % 4]);
        lanes[l] = (j[0] + j[1]) + (j[2] + j[3]);
    }
    return over_lanes(lanes, distances);
}

/* Of products, elements of X and Y in their order. */
static float sum_of_codes(const float *x, const float *y)
{
    static const int distances[] = {16, 8, 4, 2, 1};
    float lanes[32] = {0};

    for (int l = 0; l < 32; l++)
        for (int e = 0; e < 32; e++)
            lanes[l] = fmaf(x[element_of(l, e)], y[element_of(l, e)], lanes[l]);
    return over_lanes(lanes, distances);
}

/* ---- codes, step ---- */

/* To 8 significant bits. */
static float bfloat16(double value)
{
    int exponent;

    frexp(value, &exponent);
    return (float)ldexp(nearbyint(ldexp(value, 8 - exponent)), exponent - 8);
}

static unsigned code_of(float t, int width)
{
    const struct book *book = &books[width];
    float u = (float)fmin(fmax(t, -book->limit), book->limit), r = (float)book->alpha;

    if (width > 2)
        r = fmaf(fabsf(u), (float)-book->beta, r);
    r = fmaf(u, r, (float)(3072 + (1 << (width - 1))));
    return (unsigned)floor((double)r - 3072);
}

/* The header of Z, rotated, whose elements were multiplied by F; zeros where CODES go. MEAN and
 * TOTAL are those of squares; UNIT: what 1 of Z is of the unit of levels. */
static uint32_t encode(const struct cgx_coding *coding, int width, const float *z, float mean,
                       float total, double f, double unit, unsigned char *codes)
{
    float g = bfloat16(sqrtf(mean)), inv = (float)(1.0 / g), t[N], levels[N], s, a;
    double step;

    for (int lane = 0; lane < 32; lane++)
        for (int e = 0; e < 32; e++) {
            int i = element_of(lane, e);
            unsigned code;

            t[i] = z[i] * inv;
            code = code_of(t[i], width);
            levels[i] = level_of(code, width);
            put_code(codes, width, lane, e, code);
        }
    a = sum_of_codes(t, levels);
    s = coding->least_squares ? g * a / sum_of_codes(levels, levels) : total * inv / a;
    step = bfloat16(s) * unit / f;
    if (step < 0x1p-126) {
        memset(codes, 0, 128 * (size_t)width);
        return 0;
    }
    s = (float)step;
    memcpy(&width, &s, sizeof width);
    return (uint32_t)width;
}

static double factor(float n)
{
    return n < 0x1p-96f ? 0x1p96 : n < 0x1p96f ? 1 : 0x1p-96;
}

/* ---- pieces ---- */

static size_t buckets_of(size_t count)
{
    return (count + N - 1) / N;
}

static size_t codes_at(size_t count)
{
    return (4 * buckets_of(count) + 15) / 16 * 16;
}

size_t rotated_reference_bytes(size_t count, unsigned encoding)
{
    return codes_at(count) + buckets_of(count) * 128 * (encoding - 16);
}

/* The elements of a bucket times FACTOR; zeros behind the piece. */
static void elements_of(const struct cgx_coding *coding, const struct cgx_piece *piece,
                        size_t bucket, const void *elements, size_t before, double by, float *x)
{
    for (size_t i = 0; i < N; i++)
        x[i] = bucket * N + i < piece->count
                   ? (float)(by * reference_widen(coding->dtype, elements, before + bucket * N + i))
                   : 0;
}

static void write_bucket(const struct cgx_coding *coding, const struct cgx_piece *piece,
                         size_t bucket, const float *z, bool of_elements, float n, double f,
                         unsigned char *payload)
{
    int width = (int)piece->bits - 16;
    unsigned char *at = payload + piece->offset;
    uint32_t header = 0x7FC00000;

    if (n == 0)
        header = 0;
    else if (isfinite(n))
        header = encode(coding, width, z, of_elements ? n : n / 1024, of_elements ? n * 1024 : n, f,
                        of_elements ? 0x1p-10 : 1,
                        at + codes_at(piece->count) + bucket * (size_t)(128 * width));
    memcpy(at + 4 * bucket, &header, sizeof header);
}

void rotated_reference_encode(const struct cgx_coding *coding, const struct cgx_piece *piece,
                              const void *buffer, unsigned char *payload)
{
    memset(payload + piece->offset, 0, rotated_reference_bytes(piece->count, piece->bits));
    for (size_t bucket = 0; bucket < buckets_of(piece->count); bucket++) {
        float x[N], n;
        double f;

        elements_of(coding, piece, bucket, buffer, piece->first, 1, x);
        f = factor(sum_of_elements(x));
        elements_of(coding, piece, bucket, buffer, piece->first, f, x);
        n = sum_of_elements(x);
        turn(coding, piece->first + bucket * N, x);
        stages(forth, x);
        write_bucket(coding, piece, bucket, x, true, n, f, payload);
    }
}

/* The levels of a bucket times BY, in the order of elements; the header. */
static float levels_of(const struct cgx_piece *piece, size_t bucket, const unsigned char *payload,
                       float *z)
{
    int width = (int)piece->bits - 16;
    const unsigned char *at = payload + piece->offset;
    float step;

    memcpy(&step, at + 4 * bucket, sizeof step);
    for (int lane = 0; lane < 32; lane++)
        for (int e = 0; e < 32; e++) {
            const unsigned char *codes =
                at + codes_at(piece->count) + bucket * (size_t)(128 * width);

            z[element_of(lane, e)] = level_of(get_code(codes, width, lane, e), width);
        }
    return step;
}

void rotated_reference_decode(const struct cgx_coding *coding, const struct cgx_piece *piece,
                              const unsigned char *payload, void *buffer)
{
    for (size_t bucket = 0; bucket < buckets_of(piece->count); bucket++) {
        float z[N], step = levels_of(piece, bucket, payload, z);
        float large = step >= 0x1p80f ? 0x1p40f : 1;

        for (int i = 0; i < N; i++)
            z[i] *= step / large;
        stages(back, z);
        turn(coding, piece->first + bucket * N, z);
        for (size_t i = 0; i < N && bucket * N + i < piece->count; i++)
            reference_narrow(coding->dtype,
                             isnan(step) ? NAN
                             : step == 0 ? 0
                                         : z[i] * large,
                             buffer, piece->first + bucket * N + i);
    }
}

/* Adds source P. */
static void add(const struct cgx_coding *coding, const struct cgx_piece *piece, size_t bucket,
                const unsigned char *source, size_t p, const void *buffer, float *sum)
{
    bool raw = p >= coding->first_raw && p < (size_t)coding->first_raw + coding->raws;
    float z[N], step;

    if (source && !raw) {
        step = levels_of(piece, bucket, source, z);
        for (int i = 0; i < N; i++)
            z[i] *= step;
    } else {
        elements_of(coding, piece, bucket, source ? source + piece->raw : buffer,
                    source ? 0 : piece->first, 0x1p-10, z);
        turn(coding, piece->first + bucket * N, z);
        stages(forth, z);
    }
    for (int i = 0; i < N; i++)
        sum[i] += z[i];
}

void rotated_reference_reduce(const struct cgx_coding *coding, const struct cgx_piece *piece,
                              const unsigned char *const *sources, size_t nsources,
                              const void *buffer, unsigned char *payload)
{
    static unsigned char room[1 << 16];
    size_t bytes = rotated_reference_bytes(piece->count, piece->bits);
    struct cgx_piece here = *piece;

    here.offset = 0; /* the payload may be a source */
    memset(room, 0, bytes);
    for (size_t bucket = 0; bucket < buckets_of(piece->count); bucket++) {
        float sum[N] = {0};
        double f;

        for (size_t p = 0; p < nsources; p++)
            add(coding, piece, bucket, sources[p], p, buffer, sum);
        f = factor(sum_of_codes(sum, sum));
        for (int i = 0; i < N; i++)
            sum[i] = (float)(f * sum[i]);
        write_bucket(coding, &here, bucket, sum, false, sum_of_codes(sum, sum), f, room);
    }
    memcpy(payload + piece->offset, room, bytes);
}
