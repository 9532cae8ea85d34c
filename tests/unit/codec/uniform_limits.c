/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

/* The limits of uniform pieces. Those that no encoder writes: every set of kernels refuses what
 * doc/format.md does, and decodes all else to what it says, and reads nothing behind a piece.
 * tests/fuzz/uniform has pieces of which any bytes change. And the encoder ends, whatever the data.
 */

#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "codec/encoding.h"
#include "codec/host_kernels.h"
#include "lib/tap.h"
#include "unit/lib/codec_data.h"
#include "unit/lib/uniform_reference.h"

#define ENCODING (CGX_UNIFORM + 2)
#define MOST 3072

static float inputs[MOST], wanted[MOST];

/* A page that nobody may read follows BYTES, a multiple of 16. */
static unsigned char *before_page(size_t bytes)
{
    size_t page = (size_t)sysconf(_SC_PAGESIZE), size = (bytes + page - 1) / page * page;
    unsigned char *memory =
        mmap(NULL, size + page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

    if (memory == MAP_FAILED || mprotect(memory + size, page, PROT_NONE) != 0)
        bail_out("no memory");
    return memory + size - bytes;
}

/* Whether decoding and adding PIECE give what the specification says; *ACCEPTED: it is decoded. */
static bool is_same(const struct cgx_codec *codec, const unsigned char *payload, size_t count,
                    bool *accepted)
{
    static float decoded[MOST];
    static unsigned char sums[2][16 * MOST] __attribute__((aligned(64)));
    const struct cgx_codec *portable = cgx_codec_host_named("portable");
    const struct cgx_coding coding = {.step_size = 1};
    const struct cgx_piece piece = {.count = count, .bits = ENCODING};
    const unsigned char *sources[] = {payload, NULL, payload};
    enum cgx_status wants = CGX_ERR_FORMAT, status, reduced[2];

    *accepted = uniform_decode(payload, 0, count, wanted);
    wants = *accepted ? CGX_OK : CGX_ERR_FORMAT;
    status = data_code(codec, CGX_DECODE, &coding, &piece, payload, decoded);
    reduced[0] = data_sum(portable, CGX_REDUCE, &coding, &piece, sources, 3, inputs, sums[0]);
    reduced[1] = data_sum(codec, CGX_REDUCE, &coding, &piece, sources, 3, inputs, sums[1]);
    return status == wants && reduced[0] == wants && reduced[1] == wants &&
           (!*accepted || (memcmp(decoded, wanted, count * sizeof *decoded) == 0 &&
                           memcmp(sums[0], sums[1], cgx_uniform_used(sums[0], count)) == 0));
}

/* ---- by hand ---- */

/* A block with one code, q * 2^p + r, among codes of 0. */
static const struct made {
    unsigned kind, form, q, r;
    bool accepted;
} made[] = {
    {0, 0, 11, 0, true},       {0, 0, 12, 0, true},      {0, 0, 255, 0, true},
    {0, 0, 256, 0, false},     {0, 0, 267, 0, false},    {1, 1, 127, 1, true},
    {1, 1, 128, 0, false},     {4, 4, 15, 15, true},     {4, 4, 16, 0, false},
    {5, 5, 7, 31, true},       {5, 5, 8, 0, false},      {6, 6, 3, 63, true},
    {6, 6, 4, 0, false},       {6, 6, 12, 0, false},     {7, 7, 0, 255, true},
    {8, 8, 0, 0, true},        {9, 8, 0, 0, true},       {10, 8, 0, 0, true},
    {11, 8, 0, 0, true},       {15, 15, 255, 0, true},   {15, 15, 256, 0, false},
    {12, 0, 255, 0, true},     {12, 0, 256, 0, false},   {12, 6, 3, 63, true},
    {12, 6, 4, 0, false},      {12, 7, 0, 255, true},    {12, 8, 0, 0, true},
    {12, 9, 0, 0, false},      {12, 10, 0, 0, false},    {12, 11, 0, 0, false},
    {12, 12, 0, 0, false},     {12, 13, 0, 0, false},    {12, 14, 0, 0, false},
    {12, 15, 12, 0, true},     {12, 16, 255, 0, true},   {12, 16, 256, 0, false},
    {12, 24, 255, 255, true},  {12, 25, 127, 511, true}, {12, 25, 128, 0, false},
    {12, 30, 3, 0x3FFF, true}, {12, 30, 4, 0, false},    {12, 31, 0, 0, false},
    {13, 0, 255, 0, true},     {13, 0, 256, 0, false},   {13, 7, 0, 255, true},
    {13, 8, 0, 0, true},       {13, 9, 0, 0, false},     {13, 14, 0, 0, false},
    {13, 15, 12, 0, true},     {13, 16, 0, 0, false},    {13, 30, 0, 0, false},
    {13, 31, 0, 0, false},     {14, 0, 0, 0, false},     {14, 7, 0, 0, false},
    {14, 8, 0, 0, false},      {14, 15, 0, 0, false},    {14, 16, 255, 0, true},
    {14, 16, 256, 0, false},   {14, 24, 255, 255, true}, {14, 24, 256, 0, false},
    {14, 25, 127, 511, true},  {14, 25, 128, 0, false},  {14, 30, 3, 0x3FFF, true},
    {14, 30, 4, 0, false},     {14, 31, 0, 0, false},
};

/* A group of blocks of zeros and, at B, one that is MADE. Returns its number of words. */
static size_t make(const struct made *block, unsigned b, unsigned char *payload)
{
    const struct uniform_layout layout = uniform_layout_of(1024);
    struct uniform_block blocks[16];
    struct uniform_bits bits = {payload + layout.words, 0, 10 * 16 * 64, true};
    uint64_t kinds = 0, words;

    memset(payload, 0, cgx_uniform_bytes(1024));
    memset(blocks, 0, sizeof blocks);
    for (unsigned i = 0; i < 16; i++) {
        blocks[i].kind = i == b ? block->kind : 9;
        blocks[i].form = i == b ? block->form : 8;
        kinds |= (uint64_t)blocks[i].kind << 4 * i;
    }
    for (unsigned i = 0; i < 64 && block->kind == 12; i++)
        blocks[b].is_zero[i] = i % 3 == 1;
    blocks[b].q[6] = block->q;
    blocks[b].r[6] = block->r;
    blocks[b].nibbles = block->form == 15 && block->q > 0 ? 1u << 6 / 4 : 0;
    uniform_parts(blocks, 16, &bits);
    words = (bits.at + 63) / 64;
    memcpy(payload, &(float){1}, 4);
    memcpy(payload + 8, &words, 8);
    memcpy(payload + layout.ends, &words, 4);
    payload[layout.exponents] = 24;
    memcpy(payload + layout.kinds, &kinds, 8);
    return (size_t)words;
}

/* Whether a payload of one group is treated as it must be if it ended behind so many WORDS. */
static bool is_treated(const struct cgx_codec *codec, unsigned char *payload, size_t words,
                       bool accepted)
{
    bool was_accepted;

    memcpy(payload + 8, &(uint64_t){words}, 8);
    memcpy(payload + uniform_layout_of(1024).ends, &words, 4);
    return is_same(codec, payload, 1024, &was_accepted) && was_accepted == accepted;
}

static void test_made(const struct cgx_codec *codec)
{
    unsigned char *payload = before_page(cgx_uniform_bytes(1024));
    bool as_specified = true, cut = true, longer = true;

    for (size_t i = 0; i < sizeof made / sizeof *made; i++)
        for (unsigned b = 0; b < 16; b += 5) {
            size_t words = make(&made[i], b, payload);

            if (!is_treated(codec, payload, words, made[i].accepted)) {
                diag("kind %u, form %u, quotient %u", made[i].kind, made[i].form, made[i].q);
                as_specified = false;
            }
            cut = cut && (words == 0 || is_treated(codec, payload, words - 1, false));
            longer = longer && is_treated(codec, payload, words + 1, false) &&
                     is_treated(codec, payload, 160, false);
        }
    ok(as_specified, "%s: what a kind of block may not have is refused", codec->name);
    ok(cut, "%s: and a group that is cut off", codec->name);
    ok(longer, "%s: and one that has more words than its blocks", codec->name);
}

/* ---- what is not in words ---- */

static void transmit(size_t count, uint64_t seed, unsigned char *payload)
{
    const struct cgx_coding coding = {.step_size = 1, .turn = (uint32_t)seed};
    const struct cgx_piece piece = {.count = count, .bits = ENCODING};

    uniform_fill(seed, 1, inputs, count);
    memset(payload, 0x55, cgx_uniform_bytes(count));
    data_code(cgx_codec_host(), CGX_ENCODE, &coding, &piece, inputs, payload);
}

/* All exponents with all kinds of steps. */
static void test_steps(const struct cgx_codec *codec)
{
    static const float steps[] = {0,
                                  -0.0f,
                                  -1,
                                  NAN,
                                  INFINITY,
                                  -INFINITY,
                                  0x1p-149f,
                                  0x1p-127f,
                                  0x1p-126f,
                                  0x1.fffffep-110f,
                                  0x1p-109f,
                                  1,
                                  0x1p126f,
                                  0x1.000002p126f,
                                  0x1.fffffep127f};
    const struct uniform_layout layout = uniform_layout_of(1024);
    unsigned char *payload = before_page(cgx_uniform_bytes(1024));
    unsigned accepted = 0;
    bool same = true;

    transmit(1024, 1, payload);
    for (size_t i = 0; i < sizeof steps / sizeof *steps; i++)
        for (unsigned e = 0; e < 256; e++) {
            bool is;

            memcpy(payload, &steps[i], sizeof steps[i]);
            payload[layout.exponents] = (unsigned char)e;
            same = same && is_same(codec, payload, 1024, &is);
            accepted += is;
        }
    /* -109: from -11 to 231. 0: from -24 to 126. 126: from -24 to 0. */
    ok(same && accepted == 243 + 151 + 25, "%s: steps that are none are refused (%u are not)",
       codec->name, accepted);
}

static void test_ends(const struct cgx_codec *codec)
{
    static const uint32_t differences[] = {1, 2, 3, 1000, UINT32_MAX, UINT32_MAX - 1, 0x80000000u};
    const struct uniform_layout layout = uniform_layout_of(3000);
    unsigned char *payload = before_page(cgx_uniform_bytes(3000));
    bool refused = true, is;

    for (size_t g = 0; g < 3; g++)
        for (size_t i = 0; i < sizeof differences / sizeof *differences; i++) {
            uint32_t end;

            transmit(3000, 2, payload);
            memcpy(&end, payload + layout.ends + 4 * g, 4);
            end += differences[i];
            memcpy(payload + layout.ends + 4 * g, &end, 4);
            refused = is_same(codec, payload, 3000, &is) && !is && refused;
        }
    ok(refused, "%s: lengths that lie are refused", codec->name);
    refused = true;
    for (unsigned kind = 1; kind < 16; kind++) {
        transmit(3000, 2, payload);
        payload[layout.kinds + 2 * 8 + 7] |= (unsigned char)(kind << 4);
        refused = is_same(codec, payload, 3000, &is) && !is && refused;
    }
    ok(refused, "%s: and blocks that there are not", codec->name);
    transmit(3000, 2, payload);
    memcpy(payload + 8, &(uint64_t){47 * 10 + 1}, 8);
    ok(cgx_uniform_used(payload, 3000) == 0 && is_same(codec, payload, 3000, &is) && !is,
       "%s: and a head with more words than a piece has", codec->name);
}

/* ---- room ---- */

/* A group is quantised at most 11 times, and nothing is written behind its room (doc/format.md,
 * "Room"). A search looks for data that takes more: it changes elements of a group, and keeps what
 * comes nearer to the limits. TEST_ALL=yes searches a hundred times as long. */

#define MOST_TRIES 11
#define ROOM (16 * CGX_UNIFORM_BLOCK_WORDS)

static const struct cgx_uniform_kernels *kernels;

/* Of the group that is encoded. */
static struct {
    unsigned tries;
    size_t words; /* those of the last try, or in the room of the last that did not fit */
    bool within;
} seen;

/* Encodes to memory that shows what else is written: one word behind the last may be. */
static size_t encode(const struct cgx_uniform_group *group, const cgx_float32 *values, bool poisons,
                     bool is_sum, uint64_t *kinds, uint64_t *words)
{
    uint64_t own[2 * ROOM + 8];
    size_t count, most = (size_t)group->blocks * CGX_UNIFORM_BLOCK_WORDS;

    memset(own, 0xAA, sizeof own);
    count = kernels->encode(group, values, poisons, is_sum, kinds, own + 4);
    seen.tries++;
    seen.words = count == CGX_UNIFORM_TOO_MANY ? 0 : count;
    seen.within = seen.within && (count == CGX_UNIFORM_TOO_MANY || count <= most);
    for (size_t i = 0; i < 2 * ROOM + 8; i++)
        seen.within =
            seen.within && (own[i] == 0xAAAAAAAAAAAAAAAAu || (i >= 4 && i <= 4 + seen.words));
    if (seen.tries > 2 * MOST_TRIES)
        bail_out("a group that does not fit at any step");
    memcpy(words, own + 4, seen.words * sizeof *words);
    return count;
}

/* How near the group of COUNT values comes to the limits; *WITHIN: to none beyond. */
static double nearness(const struct cgx_codec *codec, const struct cgx_coding *coding,
                       const float *values, size_t count, bool *within)
{
    static unsigned char payload[16 * 1024] __attribute__((aligned(64)));
    const struct cgx_piece piece = {.count = count, .bits = ENCODING};

    seen.tries = 0;
    seen.within = true;
    *within = data_code(codec, CGX_ENCODE, coding, &piece, values, payload) == CGX_OK &&
              seen.within && seen.tries <= MOST_TRIES;
    return seen.tries + (double)seen.words / ROOM;
}

/* Changes some elements: to others of the group, to neighbours, or to anything. */
static void change(uint64_t *state, float *values, size_t count)
{
    for (unsigned n = 1u << data_random(state) % 6; n > 0; n--) {
        float *value = &values[data_random(state) % count];
        uint64_t random = data_random(state);

        *value = random % 4 == 0   ? values[(random >> 8) % count]
                 : random % 4 == 1 ? -*value * (1 + (float)(random >> 8 & 3))
                 : random % 4 == 2 ? ldexpf(*value, (int)(random >> 8 & 15) - 8)
                                   : cgx_bits_float((uint32_t)(random >> 32));
    }
}

/* From one group on; returns how near the search has come. */
static double search(const struct cgx_codec *codec, uint64_t seed, unsigned rounds, bool *within)
{
    static const float steps[] = {1, CGX_UNIFORM_LEAST_STEP, 0x1p-40f, 0x1p60f,
                                  CGX_UNIFORM_MOST_STEP};
    static const float floors[] = {0, 0.25f, 1e-6f};
    static const size_t counts[] = {1024, 1, 64, 700};
    const struct cgx_coding coding = {
        .turn = (uint32_t)seed, .step_size = steps[seed % 5], .floor = floors[seed / 5 % 3]};
    size_t count = counts[seed / 15 % 4];
    float best[1024] = {0}, values[1024];
    double most;

    uniform_fill(seed, coding.step_size, best, count);
    most = nearness(codec, &coding, best, count, within);
    for (unsigned i = 0; i < rounds && *within; i++) {
        double here;

        memcpy(values, best, sizeof values);
        change(&seed, values, count);
        here = nearness(codec, &coding, values, count, within);
        if (here >= most) {
            memcpy(best, values, sizeof values);
            most = here;
        }
    }
    return most;
}

static void test_room(const struct cgx_codec *codec)
{
    struct cgx_codec watched = *codec;
    const struct cgx_uniform_kernels watching = {.encode = encode,
                                                 .decode = codec->kernels.uniform->decode};
    unsigned rounds = 10000 / one_of(100);
    bool within = true;
    double most = 0;

    kernels = codec->kernels.uniform;
    watched.kernels.uniform = &watching;
    for (uint64_t seed = 0; seed < 120 && within; seed++) {
        double nearest = search(&watched, seed, rounds, &within);

        most = nearest > most ? nearest : most;
        if (!within)
            diag("seed %d: tried %u times", (int)seed, seen.tries);
    }
    ok(within, "%s: a group is quantised at most %d times, within its room", codec->name,
       MOST_TRIES);
    ok(most > MOST_TRIES, "%s: the search comes to as many (%.3f)", codec->name, most);
}

int main(void)
{
    for (int set = 0; set < DATA_SETS; set++) {
        const struct cgx_codec *codec = data_codec(set);

        if (codec == NULL)
            continue;
        test_made(codec);
        test_steps(codec);
        test_ends(codec);
        test_room(codec);
    }
    return done_testing();
}
