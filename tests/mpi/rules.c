/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

/* Rules and hints for single calls, with host buffers and CGX_COMPRESSION_MINIMAL_SIZE=1024:
 *
 *   rules rules [name=NAME] EXPECTED ...
 *   rules refused
 *   rules hints | junk | differ
 *   rules both, with a rule that gives 5 bits to 8192 elements
 *
 * EXPECTED, one for each part: exact (the call is exact), order (the part is summed exactly in the
 * order of ranks), N (bits), any. */

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "lib/check.h"
#include "lib/sums.h"

/* A step's buffers, the last of three tensors, which are joined. */
enum { PARTS = 8, MOST = 20300, RANKS = 4 };
static const struct {
    size_t count;
    bool joined;
} parts[PARTS] = {{4096, false},  {8192, false}, {8192, false}, {12288, false},
                  {16384, false}, {8000, false}, {300, true},   {12000, true}};

/* Up to compressed calls, and some of them. */
#define COMPRESSED 6

static MPI_Comm comm;
static uint64_t taken; /* steps on COMM */

/* Of the last step: its parts, and what the library sent and agreed on by itself. */
static struct {
    double square; /* squared error */
    bool exact;    /* to the bit what PMPI_Allreduce gives */
    bool ordered;  /* to the bit the sum in the order of the ranks */
} found[PARTS];
static uint64_t sent, agreed;

static void begin(void)
{
    comm = comms_new();
    taken = 0;
}

/* RESULT is the sum of INPUTS; the part begins with element FIRST. */
static void judge(size_t part, float inputs[][MOST], size_t first, const float *result,
                  const float *exact)
{
    found[part].square = 0;
    found[part].exact = found[part].ordered = true;
    for (size_t i = first; i < first + parts[part].count; i++) {
        double sum = 0;
        float running = inputs[0][i];

        for (int p = 0; p < check_size; p++) {
            sum += (double)inputs[p][i];
            running = p > 0 ? running + inputs[p][i] : running;
        }
        found[part].square += (result[i] - sum) * (result[i] - sum);
        found[part].exact = found[part].exact && result[i] == exact[i];
        found[part].ordered = found[part].ordered && result[i] == running;
    }
}

/* The call that sums the parts from FIRST to END - 1, in place now and then. */
static bool sum(size_t first, size_t end)
{
    static float inputs[RANKS][MOST], result[MOST], exact[MOST];
    float *own = inputs[check_rank];
    bool in_place = (taken + (uint64_t)check_rank + first) % 3 == 0, good;
    size_t count = 0;

    for (size_t i = first; i < end; count += parts[i++].count)
        for (int p = 0; p < check_size; p++)
            data_fill(DATA_GAUSSIAN, ELEMENT_FLOAT32, taken * 1000 + i, p, parts[i].count,
                      inputs[p] + count);
    memcpy(result, own, count * sizeof *result);
    sent -= traffic_messages();
    agreed -= traffic_allreduces();
    good = MPI_Allreduce(in_place ? MPI_IN_PLACE : own, result, (int)count, MPI_FLOAT, MPI_SUM,
                         comm) == MPI_SUCCESS;
    sent += traffic_messages();
    agreed += traffic_allreduces();
    PMPI_Allreduce(own, exact, (int)count, MPI_FLOAT, MPI_SUM, comm);
    for (size_t i = first, at = 0; i < end; at += parts[i++].count)
        judge(i, inputs, at, result, exact);
    return check_same(result, count * sizeof *result, comm) && good;
}

/* N steps. True: all calls succeed, and give the same bytes on all ranks. */
static bool take(int n)
{
    bool good = true;

    for (; n > 0; n--, taken++) {
        sent = agreed = 0;
        for (size_t i = 0, end; i < PARTS; i = end) {
            for (end = i + 1; end < PARTS && parts[end].joined;)
                end++;
            good = sum(i, end) && good;
        }
    }
    return good;
}

/* Of Gaussian values in buckets of 128, whose squared range is 27.2 on average, from their error: P
 * - 1 quantisations of inputs, and one of the sum, whose square is P times theirs. */
static double width_of(size_t part)
{
    double squares = 27.2 / 12 * (2 * check_size - 1) * (double)parts[part].count;

    return log2(1 + sqrt(squares / found[part].square));
}

static bool is_as(size_t part, const char *expected)
{
    double width = width_of(part);

    if (strcmp(expected, "any") == 0)
        return true;
    if (strcmp(expected, "exact") == 0)
        return found[part].exact;
    if (strcmp(expected, "order") == 0)
        return found[part].ordered;
    return fabs(width - atoi(expected)) < 0.4;
}

static bool all_as(const char *expected)
{
    bool all = true;

    for (size_t i = 0; i < PARTS; i++)
        all = all && is_as(i, expected);
    return all;
}

/* ---- rules ---- */

static void test_rules(void)
{
    const char *expected = scene_argument(1);
    int at = 1;

    begin();
    if (expected && strncmp(expected, "name=", 5) == 0) {
        MPI_Comm_set_name(comm, expected + 5);
        at++;
    }
    check(take(COMPRESSED), "right, and the same on all ranks");
    for (size_t i = 0; (expected = scene_argument(at)) != NULL; at++, i++) {
        check(is_as(i, expected), "part %zu is as expected: %s", i, expected);
        check_note("part %zu: %.2f bits%s", i, width_of(i), found[i].exact ? ", exact" : "");
    }
    MPI_Comm_free(&comm);
}

static bool all_exact(int n)
{
    bool right = true;

    for (; n > 0; n--) {
        right = take(1) && sent == 0 && right;
        for (size_t i = 0; i < PARTS; i++)
            right = right && found[i].exact;
    }
    return right;
}

static void test_refused(void)
{
    begin();
    check(all_exact(6), "every call is exact");
    MPI_Comm_free(&comm);
}

/* ---- hints ---- */

/* Says that KEY has VALUE and takes N steps, in the last of which all is as EXPECTED, or in all of
 * which all is exact. */
static void say(const char *key, const char *value, int n, const char *expected, const char *name)
{
    comms_hint(comm, key, value);
    check(strcmp(expected, "exact") == 0 ? all_exact(n) : take(n) && all_as(expected), "%s", name);
}

static void test_said_first(void)
{
    begin();
    say("cgx_bits", "7", 5, "7", "on a communicator never used: counts");
    MPI_Comm_free(&comm);
    begin();
    say("cgx_enable", "0", 5, "exact", "cgx_enable=0 at once: exact");
    say("cgx_enable", "true", COMPRESSED, "4", "cgx_enable=true later: compressed");
    MPI_Comm_free(&comm);
}

static void test_said_later(void)
{
    begin();
    check(take(COMPRESSED) && all_as("4"), "without a hint: compressed");
    say("cgx_enable", "0", 3, "exact", "cgx_enable=0 in mid-run: exact");
    say("cgx_enable", "1", COMPRESSED, "4", "cgx_enable=1: compressed again");
    say("cgx_bits", "8", 1, "8", "cgx_bits=8 in mid-run: the next call has 8 bits");
    say("cgx_bits", "exact", 2, "exact", "cgx_bits=exact: exact");
    say("cgx_bits", "6:7", COMPRESSED, "7", "cgx_bits=6:7: the greatest width");
    say("other_key", "1", 1, "7", "another key: what was said before stays");
    say("cgx_bits", " ", COMPRESSED, "4", "an empty value: taken back");
    check(agreed == 0, "without hints nothing is agreed again");
    MPI_Comm_free(&comm);
}

static void test_layers(void)
{
    begin();
    comms_hint(comm, "cgx_layers", "4096:6; 8000:8, 300:exact, 12000:2;8000,192:exact");
    check(take(COMPRESSED), "cgx_layers: right");
    check(is_as(0, "6"), "cgx_layers: for a whole buffer");
    check(is_as(5, "8") && is_as(6, "order") && is_as(7, "2"),
          "cgx_layers: for tensors within one");
    check(is_as(3, "4") && is_as(4, "4"), "cgx_layers: not for buffers of other sizes");
    check(!found[1].ordered && !found[2].ordered, "cgx_layers: buffers of equal size share a list");
    say("cgx_layers", "5000,77", COMPRESSED, "4", "cgx_layers that fit no buffer: as without");
    MPI_Comm_free(&comm);
}

/* No information at all: whatever the MPI says to it, calls go on. */
static void test_null(void)
{
    bool right;

    begin();
    right = take(4);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
    check_note("MPI_INFO_NULL: code %d", MPI_Comm_set_info(comm, MPI_INFO_NULL));
    right &= take(4);
    check(right && all_as("4"), "MPI_INFO_NULL: without effect");
    MPI_Comm_free(&comm);
}

static void test_hints(void)
{
    test_said_first();
    test_said_later();
    test_layers();
    test_null();
}

/* What takes a hint back. */
#ifdef OPEN_MPI
static const char nothing[] = " "; /* its MPI_Info_set refuses an empty value */
#else
static const char nothing[] = "";
#endif

/* Values that mean nothing. */
static void test_junk(void)
{
    static const char *const junk[][2] = {
        {"cgx_enable", "maybe"}, {"cgx_bits", "9"}, {"cgx_layers", "10,20;15,15"}};

    for (size_t i = 0; i < sizeof junk / sizeof junk[0]; i++) {
        bool right;

        begin();
        right = i % 2 || take(4);
        comms_hint(comm, junk[i][0], junk[i][1]);
        right &= all_exact(3);
        check(right, "%s=%s: exact", junk[i][0], junk[i][1]);
        comms_hint(comm, junk[i][0], strcmp(junk[i][0], "cgx_enable") == 0 ? "1" : nothing);
        right = take(5);
        check(right && all_as("4"), "%s=%s: a good value mends it", junk[i][0], junk[i][1]);
        MPI_Comm_free(&comm);
    }
}

/* Rank 1 says something else than the others, or nothing. */
static void test_differ(void)
{
    static const char *const values[][3] = {{"cgx_bits", "5", "6"},
                                            {"cgx_enable", "1", "0"},
                                            {"cgx_bits", "5", "junk"},
                                            {"cgx_bits", "5", NULL}};

    for (size_t i = 0; i < sizeof values / sizeof values[0]; i++) {
        const char *value = values[i][check_rank == 1 ? 2 : 1];
        bool right;

        begin();
        right = i % 2 || take(4);
        comms_hint(comm, value ? values[i][0] : "other_key", value ? value : "1");
        right &= all_exact(3);
        check(right, "%s is %s on one rank and %s on another: exact", values[i][0], values[i][1],
              values[i][2] ? values[i][2] : "not there");
        MPI_Comm_free(&comm);
    }
}

/* Rules have the last word, but do not compress what the program excludes. */
static void test_both(void)
{
    begin();
    comms_hint(comm, "cgx_bits", "8");
    check(take(5) && is_as(1, "5") && is_as(2, "5"), "the rule counts");
    check(is_as(0, "8") && is_as(4, "8"), "the hint counts for other calls");
    say("cgx_enable", "0", 2, "exact", "cgx_enable=0 counts for all");
    MPI_Comm_free(&comm);
}

int main(int argc, char **argv)
{
    static const struct scene scenes[] = {
        {"rules", test_rules, NULL, false},   {"refused", test_refused, NULL, false},
        {"hints", test_hints, NULL, false},   {"junk", test_junk, NULL, false},
        {"differ", test_differ, NULL, false}, {"both", test_both, NULL, false}};

    return scenes_main(argc, argv, scenes, sizeof scenes / sizeof scenes[0]);
}
