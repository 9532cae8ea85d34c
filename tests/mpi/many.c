/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

/* Sums on many ranks: "many COUNT ...". For each it prints "sent BYTES FRAGMENTS MESSAGES": its
 * bytes, and what all ranks have sent for it. */

#include <stdlib.h>

#include "lib/bound.h"
#include "lib/check.h"
#include "lib/traffic.h"

static void test_count(size_t count)
{
    const struct sum sum = {DATA_GAUSSIAN, ELEMENT_FLOAT32, count, count, SUM_IN_PLACE};
    uint64_t before[] = {traffic_messages(), traffic_bytes()}, sent[2], all[2];
    struct judged judged = bound_judge(&sum, MPI_COMM_WORLD);

    sent[0] = traffic_messages() - before[0];
    sent[1] = traffic_bytes() - before[1];
    PMPI_Reduce(sent, all, 2, MPI_UINT64_T, MPI_SUM, 0, MPI_COMM_WORLD);
    check(judged.same, "%zu elements: the same bytes on all ranks", count);
    /* Where there are many quantisations, errors are far below the bound. */
    check(judged.right && sent[0] > 0, "%zu elements: compressed, within the bound", count);
    check_note("sent %zu %llu %llu", count * sizeof(float), (unsigned long long)all[0],
               (unsigned long long)all[1]);
}

int main(int argc, char **argv)
{
    check_begin(&argc, &argv);
    for (int i = 1; i < argc; i++)
        test_count((size_t)strtoul(argv[i], NULL, 10));
    return check_end();
}
