/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

/* Times of exact and compressed sums of one size: which sums are compared, and by what. */

#include "observe/totals.h"

#include <math.h>

#include "tests/lib/tap.h"

static void add(unsigned calls, cgx_mpi_count elements, enum cgx_reason reason, int64_t nanoseconds)
{
    const struct cgx_request request = {.count = elements, .type = CGX_TYPE_FLOAT32};
    struct cgx_record record = {.request = &request, .reason = reason};
    struct cgx_span *span = reason ? &record.exact : &record.run;

    *span = (struct cgx_span){1, 1 + nanoseconds};
    for (unsigned i = 0; i < calls; i++)
        (reason ? cgx_size_times_exact : cgx_size_times_compressed)(&record);
}

static bool is_about(double seconds, int64_t nanoseconds)
{
    return fabs(seconds - 1e-9 * (double)nanoseconds) < 1e-12;
}

int main(void)
{
    struct cgx_size_times times;

    add(9, 1000, CGX_REASON_LOOKED_AT, 100);
    add(10, 1000, CGX_REASON_NONE, 70);
    ok(!cgx_size_times_get(0, &times), "nine exact sums are too few");
    add(10, 1000, CGX_REASON_RULE, 7777);
    add(10, 1000, CGX_REASON_FIRST, 7777);
    add(10, 2000, CGX_REASON_NOT_RECURRING, 7777);
    ok(!cgx_size_times_get(0, &times), "sums by a rule, first ones and other sizes do not count");
    add(1, 1000, CGX_REASON_NOT_RECURRING, 7777);
    ok(cgx_size_times_get(0, &times) && times.elements == 1000 && times.exact.calls == 10 &&
           times.compressed.calls == 10,
       "with ten of each they are compared");
    ok(is_about(times.exact.median, 100) && is_about(times.compressed.median, 70),
       "one late rank does not change the median");
    ok(!cgx_size_times_get(1, &times), "a size without compressed sums is not there");

    add(1000, 1000, CGX_REASON_NONE, 50);
    ok(cgx_size_times_get(0, &times) && times.compressed.calls == 1010 &&
           is_about(times.compressed.median, 50),
       "of many sums the median is that of the last ones");
    for (unsigned i = 0; i < 10 * CGX_SIZES; i++)
        add(1, 10000 + i, CGX_REASON_NOT_RECURRING, 1);
    ok(cgx_size_times_get(0, &times) && times.compressed.calls == 1010,
       "sizes that hardly occur leave it where it is");
    return done_testing();
}
