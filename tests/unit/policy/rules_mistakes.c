/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

/* The file of CGX_RULES: what is said of its mistakes. tests/fuzz/rules has files of any bytes. */
#include "policy/rules/rules.h"

#include <stdlib.h>
#include <string.h>

#include "lib/tap.h"

static struct cgx_rules_error error;

static struct cgx_rules *parse_bytes(const char *text, size_t length)
{
    memset(&error, 0, sizeof error);
    return cgx_rules_parse(text, length, NULL, &error);
}

static const struct {
    const char *text;
    unsigned line, column;
    const char *message; /* part of it */
} cases[] = {
    {"count=4", 1, 8, "something is missing here: allowed: count=, position="},
    {"count=4 exact", 1, 9, "\"exact\" refused: allowed: count=, position=, type=, comm="},
    {"-> count=4", 1, 4,
     "\"count=4\" refused: allowed: exact, or bits=, codec=, layers=, recurs=, consensus=, op=; "
     "step="},
    {"count=4 ->", 1, 11, "something is missing here: allowed: exact, or bits="},
    {"count=4 -> # exact", 1, 12, "\"#\" refused: allowed: exact, or bits="},
    {"-> exact\n\n  conut=4 -> exact", 3, 3, "\"conut=4\" refused: allowed: count="},
    {"count=4 count=5 -> exact", 1, 9, "\"count\" refused: it is given twice"},
    {"-> bits=4 bits=5", 1, 11, "\"bits\" refused: it is given twice"},
    {"-> exact exact", 1, 10, "\"exact\" refused: it is given twice"},
    {"-> exact bits=4", 1, 10, "an exact call can have no other action"},
    {"-> layers=4:8 exact", 1, 15, "an exact call can have no other action"},
    {"-> layers=4:8 bits=exact", 1, 15, "an exact call can have no other action"},
    {"-> exact -> exact", 1, 10, "\"->\" refused: allowed: exact"},
    {"-> exact=1", 1, 9, "\"=1\" refused: allowed: a blank"},
    {"count -> exact", 1, 6, "= and a value must follow"},
    {"count = 4 -> exact", 1, 6, "= and a value must follow"},
    {"count= -> exact", 1, 7, "count: something is missing here: allowed: N, N-M or N-"},
    {"count=-> exact", 1, 7, "\"->\" refused: allowed: N, N-M or N-"},
    {"count=4k -> exact", 1, 7, "\"4k\" refused: allowed: N, N-M or N-"},
    {"count=-4 -> exact", 1, 7, "\"-4\" refused"},
    {"count=4,5 -> exact", 1, 7, "\"4,5\" refused"},
    {"count=4-5-6 -> exact", 1, 7, "\"4-5-6\" refused"},
    {"count=5-4 -> exact", 1, 7, "\"5-4\" refused: the range ends before it begins"},
    {"count=18446744073709551616 -> exact", 1, 7, "refused: allowed: N, N-M or N-"},
    {"position=18446744073709551615 -> exact", 1, 10, "refused: allowed: N, N-M or N-"},
    {"type=double -> exact", 1, 6, "type: \"double\" refused: allowed: float32, float16, bfloat16"},
    {"comm= -> exact", 1, 6, "comm: something is missing here: allowed: a name, in double"},
    {"comm=\"a b -> exact", 1, 6, "the closing double quote is missing"},
    {"comm=\"a\nb\" -> exact", 1, 6, "the closing double quote is missing"},
    {"comm=a\"b\" -> exact", 1, 7, "\"\"\" refused: allowed: a blank"},
    {"comm=\"a\"b -> exact", 1, 9, "\"b\" refused: allowed: a blank"},
    {"comm=a\033b -> exact", 1, 7, "a name cannot have control characters"},
    {"-> recurs=", 1, 11, "recurs: something is missing here: allowed: always, never"},
    {"-> recurs=maybe", 1, 11, "recurs: \"maybe\" refused: allowed: always, never"},
    {"count>=20000 -> exact", 1, 1, "\"count>=20000\" refused: allowed: count=N- for N and more"},
    {"-> recurs", 1, 10, "= and a value must follow"},
    {"-> recurs=always,never", 1, 11, "\"always,never\" refused"},
    {"-> recurs=never recurs=never", 1, 17, "\"recurs\" refused: it is given twice"},
    {"-> exact recurs=always", 1, 10, "an exact call can have no other action"},
    {"-> recurs=never bits=exact", 1, 17, "an exact call can have no other action"},
    {"-> codec=best", 1, 10, "codec: \"best\" refused: allowed: auto, uniform, maxmin"},
    {"-> codec=uniform exact", 1, 18, "an exact call can have no other action"},
    {"-> consensus=0", 1, 14, "consensus: \"0\" refused: allowed: on, off"},
    {"-> consensus=off exact", 1, 18, "an exact call can have no other action"},
    {"-> op=float32", 1, 7, "op: \"float32\" refused: allowed: float16, bfloat16"},
    {"-> step=0", 1, 9, "step: \"0\" refused: allowed: 1-4096 calls"},
    {"-> step=4097", 1, 9, "\"4097\" refused: allowed: 1-4096 calls"},
    {"-> step=1-2", 1, 9, "\"1-2\" refused"},
    {"-> step=8 step=8", 1, 11, "\"step\" refused: it is given twice"},
    {"count=4 -> step=8", 1, 12, "step: refused: a step belongs to a communicator, so a rule with"},
    {"comm=a type=float32 -> bits=4 step=8", 1, 31, "no condition except comm="},
    {"position=0 -> step=8 bits=4", 1, 15, "no condition except comm="},
    {"-> bits=0", 1, 9, "bits: \"0\" refused: allowed: 1-8, exact"},
    {"-> bits=9", 1, 9, "\"9\" refused"},
    {"-> bits=4,5", 1, 9, "\"4,5\" refused"},
    {"-> bits=8:3", 1, 9, "\"8:3\" refused"},
    {"-> bits=3:9", 1, 9, "\"3:9\" refused"},
    {"-> bits=0:3", 1, 9, "\"0:3\" refused"},
    {"-> bits=3:32", 1, 9, "\"3:32\" refused"},
    {"-> bits=4\033", 1, 9, "\"4?\" refused"},
    {"-> layers=", 1, 11, "layers: something is missing here: allowed: SIZE[:BITS],..."},
    {"-> layers=0", 1, 11, "\"0\" refused: allowed: SIZE[:BITS],... with SIZE at least 1"},
    {"-> layers=4,,5", 1, 13, "\",5\" refused"},
    {"-> layers=4,", 1, 13, "something is missing here"},
    {"-> layers=4:9", 1, 11, "\"4:9\" refused"},
    {"-> layers=4:", 1, 11, "\"4:\" refused"},
    {"-> layers=:4", 1, 11, "\":4\" refused"},
    {"-> layers=4:3:5", 1, 11, "\"4:3:5\" refused"},
    {"-> layers=4;5", 1, 12, "\";5\" refused: allowed: a blank"},
    {"-> layers=18446744073709551615,1", 1, 32, "the sizes add up to 2^64 or more"},
    {"-> layers=18446744073709551616", 1, 11, "refused: allowed: SIZE"},
    {"exact", 1, 1, "\"exact\" refused: allowed: count="},
    {"\"count\"=4 -> exact", 1, 1, "\"\"\" refused: allowed: count="},
    {"-> exact\r-> exact", 1, 4, "refused: allowed: exact"},
};

static void test_mistakes(void)
{
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct cgx_rules *rules = parse_bytes(cases[i].text, strlen(cases[i].text));
        bool right = rules == NULL && error.line == cases[i].line &&
                     error.column == cases[i].column &&
                     strstr(error.message, cases[i].message) != NULL;

        if (!right)
            diag("%s: line %u, column %u: %s", cases[i].text, error.line, error.column,
                 error.message);
        ok(right, "mistake %zu is refused with line, column and what is allowed", i + 1);
        cgx_rules_free(rules);
    }
}

static void test_hostile_bytes(void)
{
    static const char nul[] = "-> bits=4\0 exact";
    size_t length = 1 << 20;
    char *text = malloc(length);

    if (text == NULL)
        bail_out("out of memory");
    ok(parse_bytes(nul, sizeof nul - 1) == NULL && error.column == 9 &&
           strstr(error.message, "\"4?\" refused") != NULL,
       "a NUL byte ends no value");
    memset(text, '7', length);
    memcpy(text, "count=", 6);
    ok(parse_bytes(text, length) == NULL && error.column == 7 &&
           strstr(error.message, "777...\" refused: allowed: N, ") != NULL,
       "a word as long as the file is cut in the message");
    memset(text, ' ', length);
    memcpy(text + length - 8, "-> exact", 8);
    ok(parse_bytes(text, length - 1) == NULL && error.column == length - 4,
       "columns are counted in long lines");
    free(text);
}

int main(void)
{
    test_mistakes();
    test_hostile_bytes();
    return done_testing();
}
