/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

/* The tables of a communicator are made with its first large sum, and know of the small ones before
 * it: nothing is found later, or otherwise, than if they had been there from the first sum on. */

#include "comm/tables.h"
#include "lib/tap.h"
#include "mpi/config.h"

/* Steps: sums in elements, up to a 0; of 16384 and more are large. */
#define MOST 16
static const uint64_t steps[][MOST] = {
    {20000},
    {1, 20000, 30000},
    {2048, 300, 20000, 30000, 1},
    {1024, 1025, 1027, 40000, 2048, 20000, 2048, 20000, 17},
    {16, 16383, 16383, 20000, 1, 1, 1, 1},
    {15, 17, 65536, 65536, 65536, 1000, 70000, 500},
};

static bool is_same(struct cgx_occurrence a, struct cgx_occurrence b)
{
    return a.recurs == b.recurs && a.begins_step == b.begins_step && a.position == b.position;
}

/* STEP, again and again, after FIRST small sums of COUNT elements. */
static void test_step(const uint64_t *step, uint32_t first, uint64_t count)
{
    const struct cgx_settings *settings = cgx_config();
    struct cgx_recurrence *reference = cgx_recurrence_create(&(struct cgx_recurrence_rule){
        .warmup = settings->warmup, .minimal_size = settings->minimal_size});
    struct cgx_comm state = {0};
    bool same = reference, late = true;
    unsigned recurring = 0;

    for (uint32_t i = 0; same && i < first; i++)
        same = is_same(cgx_tables_next(&state, count, 0), cgx_recurrence_next(reference, count, 0));
    for (unsigned i = 0; same && i < 700; i++) {
        for (size_t j = 0; same && j < MOST && step[j]; j++) {
            struct cgx_occurrence expected = cgx_recurrence_next(reference, step[j], 0);

            late = late && (state.recurrence || !cgx_tables_serve(step[j]) ||
                            (cgx_tables_make(&state) && state.recurrence));
            same = is_same(cgx_tables_next(&state, step[j], 0), expected);
            recurring += expected.recurs;
        }
    }
    ok(late, "a step that begins with %llu elements, after %u sums of %llu: made when it is large",
       (unsigned long long)step[0], first, (unsigned long long)count);
    ok(same && recurring > 0, "and all is found as from the first sum on (%u recur)", recurring);
    cgx_recurrence_free(reference);
    cgx_tables_free(&state);
    ok(!state.recurrence && !state.agreed_calls && !state.planned, "and freed");
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
    for (size_t i = 0; i < sizeof steps / sizeof steps[0]; i++) {
        test_step(steps[i], 0, 0);
        test_step(steps[i], 1, 1);
        test_step(steps[i], 7, 1000);
        test_step(steps[i], 100000, 40);
        test_step(steps[i], 100000, 1);
    }
    return done_testing();
}
