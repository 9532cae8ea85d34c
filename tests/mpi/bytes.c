/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

/* The busiest rank sends no more than the contract allows: 1 % above the share 2(P-1)/P of K
 * buckets of B*b/8 + 4 bytes, with chunks rounded up to a bucket: "bytes [COUNT]". */

#include <stdlib.h>

#include "lib/bound.h"
#include "lib/check.h"
#include "lib/sum.h"
#include "lib/traffic.h"

static void test_count(size_t count)
{
    struct scheme scheme = scheme_from_environment(ELEMENT_FLOAT32);
    struct sum sum = {DATA_GAUSSIAN, ELEMENT_FLOAT32, 1, count, SUM_IN_PLACE};
    float *result = check_memory(count * sizeof(float));
    size_t buckets = (count + scheme.bucket - 1) / scheme.bucket;
    size_t chunk = (buckets + (size_t)check_size - 1) / (size_t)check_size;
    double each = (double)(scheme.bucket * scheme.bits) / 8 + 4;
    double allowed = 2.0 * (check_size - 1) * (double)chunk * each;
    double plain = 2.0 * (check_size - 1) / check_size * 4 * (double)count;
    uint64_t before = traffic_bytes(), sent, most;

    sum_reduce(&sum, MPI_COMM_WORLD, result);
    sent = traffic_bytes() - before;
    PMPI_Allreduce(&sent, &most, 1, MPI_UINT64_T, MPI_MAX, MPI_COMM_WORLD);
    check(most > 0, "%zu elements: compressed", count);
    check((double)most <= 1.01 * allowed, "%zu elements: the busiest rank sends what is allowed",
          count);
    check_note("sent %llu bytes, %.4f of the allowed, %.2f times less than 32-bit sums need",
               (unsigned long long)most, (double)most / allowed, plain / (double)most);
    free(result);
}

int main(int argc, char **argv)
{
    check_begin(&argc, &argv);
    if (argc > 1) {
        test_count((size_t)atol(argv[1]));
        return check_end();
    }
    test_count(1000003);
    test_count(1 << 20);
    test_count(5000011);
    return check_end();
}
