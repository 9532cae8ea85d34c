/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

/* What has failed is tried again after waits that double up to a limit. */
#include "util/backoff.h"

#include "lib/tap.h"

#define FAILURES 8

/* Whether the waits after FAILURES failures are EXPECTED. */
static bool waits_are(uint32_t first, uint32_t most, const uint32_t expected[FAILURES])
{
    struct cgx_backoff backoff = {0};
    bool right = cgx_backoff_due(&backoff);

    for (int i = 0; i < FAILURES; i++) {
        uint32_t waits = 0;

        cgx_backoff_fail(&backoff, first, most);
        while (!cgx_backoff_due(&backoff))
            waits++;
        right = right && waits == expected[i] && cgx_backoff_due(&backoff);
    }
    return right;
}

int main(void)
{
    struct cgx_backoff backoff = {.wait = 0, .next = UINT32_MAX / 2};

    ok(waits_are(4, UINT32_MAX / 2, (uint32_t[]){4, 8, 16, 32, 64, 128, 256, 512}), "waits double");
    ok(waits_are(10, 100, (uint32_t[]){10, 20, 40, 80, 100, 100, 100, 100}), "up to a limit");
    ok(waits_are(1, 64, (uint32_t[]){1, 2, 4, 8, 16, 32, 64, 64}), "that is a power of two");
    ok(waits_are(64, 64, (uint32_t[]){64, 64, 64, 64, 64, 64, 64, 64}), "or the first wait");
    cgx_backoff_fail(&backoff, 4, UINT32_MAX / 2);
    ok(backoff.wait == UINT32_MAX / 2 && backoff.next == UINT32_MAX / 2, "and never overflow");
    return done_testing();
}
