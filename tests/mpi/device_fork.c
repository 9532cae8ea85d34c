/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

/* A program with device buffers that forks, as data loaders do: its sums stay right, and its
 * children are not disturbed. Sums are compressed. */

#define _GNU_SOURCE

#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../lib/tap.h"
#include "lib/check.h"
#include "lib/device.h"
#include "lib/sums.h"

enum { BYTES = 8 << 20 };

static MPI_Comm comms[2];

/* ---- children ---- */

struct child {
    pid_t process;
    int open; /* it lives until this is closed */
};

static unsigned char memory[BYTES];

static bool is_memory(const unsigned char *bytes, int value)
{
    for (size_t i = 0; i < BYTES; i++) {
        if (bytes[i] != value)
            return false;
    }
    return true;
}

/* Uses memory, that of the parent as it was included, until END is closed. */
static int use_memory(int end)
{
    unsigned char *more = malloc(BYTES);
    bool good = more != NULL && is_memory(memory, check_rank + 1);
    char byte;

    if (!good)
        return 1;
    memset(more, 0xB1, BYTES);
    memset(memory, 0xB2, BYTES);
    good = read(end, &byte, 1) == 0;
    good = good && is_memory(more, 0xB1) && is_memory(memory, 0xB2);
    free(more);
    return !good;
}

static struct child start(void)
{
    struct child child;
    int ends[2];

    memset(memory, check_rank + 1, BYTES);
    fflush(NULL);
    if (pipe(ends) != 0)
        bail_out("no pipe");
    child.process = fork();
    if (child.process < 0)
        bail_out("no child process");
    if (child.process == 0) {
        close(ends[1]);
        _exit(use_memory(ends[0]));
    }
    close(ends[0]);
    child.open = ends[1];
    return child;
}

static bool ends_well(const struct child *child)
{
    int status = -1;

    close(child->open);
    return waitpid(child->process, &status, 0) == child->process && WIFEXITED(status) &&
           WEXITSTATUS(status) == 0;
}

/* ---- sums ---- */

static struct placed make(size_t count, bool in_place)
{
    static uint64_t seed;

    return placed_floats(++seed, count, PLACE_DEVICE, PLACE_DEVICE, in_place);
}

static void check_compressed(size_t count, const char *when)
{
    bool right = true;

    for (int i = 0; i < 2; i++) {
        struct placed sum = make(count, i % 2 != 0);

        right = placed_agrees(&sum, comms[0], comms[1]) && right;
    }
    check(right, "%s: compressed sums of %zu elements", when, count);
}

/* An MPI that cannot read device memory is given a copy. */
static void check_exact(size_t count, const char *when)
{
    float *result = check_memory(count * sizeof *result);
    float *wanted = check_memory(count * sizeof *wanted);
    bool right = true;

    for (int i = 0; i < 2; i++) {
        struct placed most = make(count, i % 2 != 0);

        most.op = MPI_MAX;
        right = placed_sum(&most, comms[0], result) && right;
        right = placed_exact(&most, comms[0], wanted) && right;
        right = memcmp(result, wanted, count * sizeof *result) == 0 && right;
    }
    check(right, "%s: exact calls of %zu elements", when, count);
    free(result);
    free(wanted);
}

static void check_sums(const char *when)
{
    check_exact(30011, when);
    check_compressed(5000, when);
    check_compressed(30011, when);
}

static void test_forks(void)
{
    struct child child;

    check_sums("before");
    child = start();
    check(ends_well(&child), "a child that ends at once ends well");
    check_sums("after it");
    child = start();
    check_sums("beside a child that lives on");
    check_compressed(300007, "beside a child that lives on");
    check(ends_well(&child), "it ends well");
    check_sums("after it");
}

int main(int argc, char **argv)
{
    check_begin(&argc, &argv);
    if (!place_begin("device buffers", false))
        return check_end();
    comms_make(comms, 2);
    test_forks();
    comms_free(comms, 2);
    return check_end();
}
