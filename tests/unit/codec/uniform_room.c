/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

/* The encoder of uniform quantisation ends, whatever the data: a group is quantised at most 11
 * times, and nothing is written behind its room (doc/format.md, "Room"). A search looks for data
 * that takes more: it changes elements of a group, and keeps what comes nearer to the limits.
 * TEST_ALL=yes searches a hundred times as long. */

#include <string.h>

#include "codec/encoding.h"
#include "codec/uniform/uniform_kernels.h"
#include "lib/tap.h"
#include "unit/lib/uniform_data.h"

#define ENCODING (CGX_UNIFORM + 2)
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

static void test_set(const struct cgx_codec *codec)
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

        if (codec != NULL)
            test_set(codec);
    }
    return done_testing();
}
