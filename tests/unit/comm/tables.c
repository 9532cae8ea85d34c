/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

/* The tables of a communicator are made when ranks agree on settings, and know of the sums before:
 * nothing is found later, or otherwise, than if they had been there from the first sum on. */

#include "comm/tables.h"
#include "lib/tap.h"
#include "mpi/config.h"

/* How the first pass over a model, if it is another one, and its steps begin: sums in elements, up
 * to a 0; of 16384 and more are large. */
#define MOST 16
#define AGREED_LEAST 1024 /* sums of which the first are counted */
static const struct {
    uint64_t first[MOST], step[MOST];
} streams[] = {
    {{0}, {20000}},
    {{0}, {1, 20000, 30000}},
    {{0}, {2048, 300, 20000, 30000, 1}},
    {{0}, {1024, 1025, 1027, 40000, 2048, 20000, 2048, 20000, 17}},
    {{0}, {16, 16383, 16383, 20000, 1, 1, 1, 1}},
    {{0}, {9000, 20000, 30000, 40000, 50000, 60000, 70000, 80000, 3000, 90000}},
    {{9000, 90000}, {20000, 30000, 49000}},
    {{1, 9000, 100, 89900}, {20000, 30000, 49000}},
    {{15, 15, 15, 98955}, {20000, 30000, 49000}},
};

/* How all of them end: with too many sums for a layer of a model. */
static const uint64_t rest[MOST] = {16400, 16500, 16600, 16700, 16800, 16900, 17000,
                                    17100, 17200, 17300, 17400, 17500, 17600};

static bool is_same(struct cgx_occurrence a, struct cgx_occurrence b)
{
    return a.recurs == b.recurs && a.begins_step == b.begins_step && a.position == b.position;
}

/* The two that are compared. */
static struct cgx_recurrence *reference;
static struct cgx_comm state;

/* Has both take the sums of PASS; false where they find other things. Adds to *RECURRING. */
static bool take(const uint64_t *pass, unsigned *recurring)
{
    bool same = true;

    for (size_t i = 0; i < MOST && pass[i]; i++) {
        struct cgx_occurrence expected = cgx_recurrence_next(reference, pass[i], 0);
        struct cgx_occurrence found = {.position = CGX_POSITION_NONE};

        if (pass[i] < AGREED_LEAST || !cgx_tables_take_first(&state, pass[i], 0)) {
            if (pass[i] >= AGREED_LEAST && !state.stream.recurrence && !cgx_tables_make(&state))
                bail_out("memory is short");
            found = cgx_tables_next(&state, pass[i], 0);
        }
        same = is_same(found, expected) && same;
        *recurring += expected.recurs;
    }
    return same;
}

/* STREAM, after EARLIER small sums of COUNT elements, of which more than one can hide the steps. */
static void test_stream(size_t stream, uint32_t earlier, uint64_t count)
{
    const struct cgx_settings *settings = cgx_config();
    unsigned recurring = 0;
    bool same = true;

    state = (struct cgx_comm){0};
    reference = cgx_recurrence_create(&(struct cgx_recurrence_rule){
        .warmup = settings->warmup, .minimal_size = settings->minimal_size});
    for (uint32_t i = 0; i < earlier; i++)
        same = take((uint64_t[MOST]){count}, &recurring) && same;
    ok(!state.stream.recurrence, "stream %zu after %u sums of %llu elements: no tables", stream,
       earlier, (unsigned long long)count);
    if (streams[stream].first[0])
        same = take(streams[stream].first, &recurring) && take(rest, &recurring) && same;
    for (int i = 0; i < 100; i++)
        same = take(streams[stream].step, &recurring) && take(rest, &recurring) && same;
    ok(same && (recurring > 0 || earlier > 1),
       "and all is found as from the first sum on (%u recur)", recurring);
    cgx_recurrence_free(reference);
    cgx_tables_free(&state);
    ok(!state.stream.recurrence && !state.callsites, "and freed");
}

/* Settings are read without an MPI. */
static int is_initialized(int *flag)
{
    *flag = 0;
    return CGX_MPI_SUCCESS;
}

int main(void)
{
    static const struct cgx_mpi mpi = {.Initialized = is_initialized};

    atomic_store(&cgx_mpi_found, &mpi);
    for (size_t i = 0; i < sizeof streams / sizeof streams[0]; i++) {
        test_stream(i, 0, 1);
        test_stream(i, 1, 1);
        test_stream(i, 7, 1000);
        test_stream(i, 100000, 40);
        test_stream(i, 100000, 1);
    }
    return done_testing();
}
