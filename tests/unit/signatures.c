/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

/* The table of what ranks have agreed. */
#include "pmpi/signatures.h"

#include "lib/tap.h"

static void test_memory(void)
{
    struct cgx_signatures *table = cgx_signatures_create();
    unsigned kept = 0;

    for (uint64_t key = 1; key <= 300; key++)
        cgx_signatures_find(table, key << 14, 0)->agreed = true;
    for (uint64_t key = 1; key <= 300; key++)
        kept += cgx_signatures_find(table, key << 14, 0)->agreed;
    ok(kept == 300, "three hundred signatures are remembered");

    for (uint64_t key = 1000; key < 200000; key++) {
        cgx_signatures_find(table, key, 0);
        cgx_signatures_find(table, (uint64_t)7 << 14, 0);
    }
    ok(cgx_signatures_find(table, (uint64_t)7 << 14, 0)->agreed, "one in use is never forgotten");
    ok(!cgx_signatures_find(table, (uint64_t)8 << 14, 0)->agreed,
       "one long unused is, and comes back as new");
    cgx_signatures_free(table);
}

static void test_waits(void)
{
    struct cgx_signatures *table = cgx_signatures_create();
    struct cgx_signature *signature = cgx_signatures_find(table, 42, 0);
    unsigned waits[4];

    ok(cgx_signature_due(signature), "ranks ask each other in the first call");
    for (unsigned i = 0; i < 4; i++) {
        cgx_signature_refuse(signature);
        waits[i] = 0;
        while (!cgx_signature_due(signature))
            waits[i]++;
    }
    ok(waits[0] == 4 && waits[1] == 8 && waits[2] == 16 && waits[3] == 32,
       "after a refusal they ask again at doubling intervals");
    cgx_signatures_free(table);
}

int main(void)
{
    test_memory();
    test_waits();
    return done_testing();
}
