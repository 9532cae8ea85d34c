/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

/* A layer that is no longer compressed leaves the budget, so that other layers cannot spend its
 * error. Linked with the library's objects; one rank is made to refuse a buffer. */
#include "../lib/wrap.h"
#include "comm/callsites.h"
#include "comm/comm.h"
#include "lib/check.h"
#include "lib/comms.h"
#include "lib/steps.h"
#include "pmpi/eligible.h"

/* Compressed steps before the first choice, and steps before these. */
enum { WARM = 3, FIRST = STEPS_AT_BASE, PARTS = 8, LARGE = 3 };

/* Rank 1 refuses buffers of as many elements on this communicator. */
static MPI_Comm refusing = MPI_COMM_NULL;
static MPI_Count refused;

WRAPPED(struct cgx_capability, cgx_eligible_capability, const struct cgx_call *call)
{
    struct cgx_capability capability = __real_cgx_eligible_capability(call);

    if (check_rank == 1 && call->count == refused &&
        call->comm == (cgx_mpi_comm)cgx_mpi()->handle((uintptr_t)refusing))
        capability.refusal = CGX_REASON_OVERLAP;
    return capability;
}

/* STEPS, and the same at 4 bits; one part of large values has nearly all of the error. */
static void begin(struct steps *steps, struct steps *base)
{
    static const double scales[PARTS] = {1, 0.3, 2, 40, 4, 0.15, 1.4, 0.5};
    struct steps_part parts[PARTS];

    for (size_t i = 0; i < PARTS; i++)
        parts[i] = (struct steps_part){16384 + 501 * i, DATA_GAUSSIAN, scales[i], 0, false};
    steps_begin(steps, MPI_COMM_WORLD, parts, PARTS);
    steps_begin_at(base, steps, "4");
}

/* The error of all parts but the large one, over that at 4 bits. */
static double others(const struct steps *steps, const struct steps *base)
{
    return (steps->square - steps->found[LARGE].square) /
           (base->square - base->found[LARGE].square);
}

static void check_spent(const char *how, const struct steps *steps, const struct steps *base)
{
    check(!steps->found[LARGE].exact && steps->square <= base->square && others(steps, base) > 2,
          "%s: the small layers may have more error while the large one has less", how);
    check_note("%s: the small layers have %.2f times that of 4 bits", how, others(steps, base));
}

/* The large one is not compressed; N steps from now on. */
static bool are_within(struct steps *steps, struct steps *base, int n, double *worst)
{
    bool right = true;

    for (int i = 0; i < n; i++) {
        right = steps_take_both(steps, base, 1) && right;
        *worst = others(steps, base) > *worst ? others(steps, base) : *worst;
    }
    return right;
}

static void check_within(const char *how, bool right, double worst)
{
    check(right, "%s: right, and the same on all ranks", how);
    check(worst <= 1 + 1e-9, "%s: the small layers keep a budget of their own", how);
    check_note("%s: they have at most %.3f times the error of 4 bits", how, worst);
}

static void forget(MPI_Comm comm)
{
    struct cgx_comm *state = cgx_comm_peek((cgx_mpi_comm)cgx_mpi()->handle((uintptr_t)comm));

    cgx_callsites_clear(state->callsites);
}

/* A rank refuses it: all redo the call, or (FORGOTTEN) do not agree to compress it again. They ask
 * after 4 calls, then 8, then 16. */
static void test_refused(const char *how, bool forgotten)
{
    struct steps steps, base;
    double worst = 0;
    bool right;

    begin(&steps, &base);
    right = steps_take_both(&steps, &base, WARM + FIRST + 1);
    check_spent(how, &steps, &base);
    if (forgotten)
        forget(steps.comm);
    refusing = steps.comm;
    refused = (MPI_Count)steps.parts[LARGE].count;
    right = steps_take_both(&steps, &base, 1) && right;
    check(steps.found[LARGE].exact, "%s: the large layer is exact", how);
    right = are_within(&steps, &base, FIRST + 5, &worst) && right;
    check_within(how, right && steps.found[LARGE].exact, worst);
    refusing = MPI_COMM_NULL;
    right = steps_take_both(&steps, &base, 12 + FIRST + 1);
    check(right, "%s, compressed again: right, and the same on all ranks", how);
    check_spent(how, &steps, &base);
    steps_end(&steps);
    steps_end(&base);
}

static void test_hint(void)
{
    struct steps steps, base;
    double worst = 0;
    bool right;

    begin(&steps, &base);
    right = steps_take_both(&steps, &base, WARM + FIRST + 1);
    comms_hint(steps.comm, "cgx_layers", "17887:exact");
    right = are_within(&steps, &base, FIRST + 5, &worst) && right;
    check(steps.found[LARGE].ordered, "a hint: the large layer has 32 bits");
    check_within("a hint", right, worst);
    steps_end(&steps);
    steps_end(&base);
}

int main(int argc, char **argv)
{
    check_begin(&argc, &argv);
    test_refused("refused", false);
    test_refused("forgotten", true);
    test_hint();
    return check_end();
}
