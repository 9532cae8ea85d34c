/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

/* Real numbers as text; what else is parsed is tested with the settings. */
#include "util/parse.h"

#include <stddef.h>

#include "lib/tap.h"

int main(void)
{
    static const char *const junk[] = {"",   " 1",  "1 ",   "+1",  "-1",    "-0",  ".",  "e5",
                                       "1e", "1,5", "0x10", "inf", "1e999", "nan", "1.."};
    static const char *const zeros[] = {"0", "0.0", ".0", "0e7", "00"};
    bool refused = true, zero = true;
    double value = 7;

    ok(cgx_parse_positive("2.5e-3", &value) && value == 2.5e-3, "positive numbers are taken");
    value = 7;
    for (size_t i = 0; i < sizeof zeros / sizeof zeros[0]; i++)
        zero = zero && !cgx_parse_positive(zeros[i], &value) && value == 7;
    ok(zero, "zero is not positive");
    for (size_t i = 0; i < sizeof junk / sizeof junk[0]; i++)
        refused = refused && !cgx_parse_positive(junk[i], &value);
    ok(refused && value == 7, "anything else is not, and changes nothing");
    return done_testing();
}
