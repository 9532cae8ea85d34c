/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

/* The first sums of a communicator are exact and cost nothing more: each is one PMPI_Allreduce, and
 * no communicator is made; for settings that compress every other sum. */

#include "lib/check.h"
#include "lib/sums.h"

enum { FIRST = 3, MOST = 20000 };

static int splits;

int PMPI_Comm_split(MPI_Comm comm, int color, int key, MPI_Comm *made)
{
    splits++;
    return MPI_Comm_split(comm, color, key, made);
}

/* What the calls of a sum were, and what came of it. */
struct seen {
    bool right;     /* the bits of PMPI_Allreduce */
    uint64_t calls; /* PMPI_Allreduce, and communicators made */
    uint64_t messages;
};

static struct seen add(MPI_Comm comm, size_t count, uint64_t seed)
{
    static float result[MOST], exact[MOST];
    const struct sum sum = {DATA_GAUSSIAN, ELEMENT_FLOAT32, seed, count,
                            (enum sum_shape)(seed % SUM_MIXED)};
    uint64_t calls = traffic_allreduces() + (uint64_t)splits, messages = traffic_messages();
    bool good = sum_reduce(&sum, comm, result);
    struct seen seen = {.calls = traffic_allreduces() + (uint64_t)splits - calls,
                        .messages = traffic_messages() - messages};

    sum_exact(&sum, comm, exact);
    seen.right = good && memcmp(result, exact, count * sizeof result[0]) == 0;
    return seen;
}

/* Whether N sums of COMM are exact, and one call each. */
static bool cost_nothing(MPI_Comm comm, int n)
{
    bool good = true;

    for (int i = 0; i < n; i++) {
        struct seen seen = add(comm, i % 2 ? MOST : 1024 + (size_t)i, (uint64_t)i);

        good = good && seen.right && seen.calls == 1 && seen.messages == 0;
    }
    return good;
}

static void test_few(void)
{
    bool good = true;

    for (int i = 0; i < 50; i++) {
        MPI_Comm comm;

        MPI_Comm_dup(MPI_COMM_WORLD, &comm);
        good = cost_nothing(comm, 1 + i % FIRST) && good;
        MPI_Comm_free(&comm);
    }
    check(good, "communicators of few sums: all are exact, and one call each");
}

/* The sums of COMM that are no more its first. */
static void check_later(MPI_Comm comm, const char *name)
{
    struct seen next = add(comm, MOST, 100), last = add(comm, MOST, 101);

    check(next.calls > 1, "%s: in the next sum ranks call the roll", name);
    check(!next.right && next.messages > 0, "%s: it is compressed", name);
    check(!last.right && last.messages > 0 && last.calls == 0,
          "%s: later sums are compressed, and nothing is agreed", name);
}

static void test_later(void)
{
    MPI_Comm comm = comms_new();

    check(cost_nothing(comm, FIRST), "the first sums are exact, and one call each");
    check_later(comm, "then");
    MPI_Comm_free(&comm);
}

/* What is said of a communicator waits for the roll call too. */
static void test_hinted(void)
{
    MPI_Comm comm = comms_new();
    bool good;

    comms_hint(comm, "cgx_bits", "8");
    good = cost_nothing(comm, FIRST - 2);
    comms_hint(comm, "cgx_bits", "6");
    good = cost_nothing(comm, 2) && good;
    check(good, "with hints: the first sums are exact, and one call each");
    check_later(comm, "with hints");
    MPI_Comm_free(&comm);
}

/* Sums that no setting could make compressed are not counted. */
static void test_others(void)
{
    static double doubles[MOST];
    static float floats[MOST];
    MPI_Comm comm = comms_new();

    for (int i = 0; i < 2 * FIRST; i++) {
        MPI_Allreduce(MPI_IN_PLACE, doubles, MOST, MPI_DOUBLE, MPI_SUM, comm);
        MPI_Allreduce(MPI_IN_PLACE, floats, 1023, MPI_FLOAT, MPI_SUM, comm);
        MPI_Allreduce(MPI_IN_PLACE, floats, MOST, MPI_FLOAT, MPI_MAX, comm);
    }
    check(cost_nothing(comm, FIRST), "after others: the first sums are exact, and one call each");
    check_later(comm, "after others");
    MPI_Comm_free(&comm);
}

int main(int argc, char **argv)
{
    check_begin(&argc, &argv);
    test_few();
    test_later();
    test_hinted();
    test_others();
    return check_end();
}
