/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

/* The file of CGX_RULES: for which calls its rules are. hints.c has what they say. */
#include "policy/rules/rules.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/tap.h"

static struct cgx_rules *rules; /* of the last text; NULL: it was refused */
static struct cgx_rules_error error;
static const struct cgx_override none;

static struct {
    unsigned count, line;
    char message[160];
} warnings;

static void collect(unsigned line, const char *message)
{
    warnings.count++;
    warnings.line = line;
    snprintf(warnings.message, sizeof warnings.message, "%s", message);
}

static void parse_bytes(const char *text, size_t length)
{
    cgx_rules_free(rules);
    memset(&error, 0, sizeof error);
    memset(&warnings, 0, sizeof warnings);
    rules = cgx_rules_parse(text, length, collect, &error);
}

static void parse(const char *text)
{
    parse_bytes(text, strlen(text));
    if (rules == NULL)
        bail_out("line %u, column %u: %s: %s", error.line, error.column, error.message, text);
}

static struct cgx_override say_of_call(struct cgx_rules_call call)
{
    if (call.communicator == NULL)
        call.communicator = "";
    return cgx_rules_override(rules, &call);
}

/* Of a call whose position is not known. */
static struct cgx_override say_of(uint64_t count)
{
    return say_of_call((struct cgx_rules_call){.count = count, .position = UINT64_MAX});
}

/* Whether the exact rule of this beginning is for a call; names are of all rows up to theirs. */
static const struct condition {
    const char *text;
    struct cgx_rules_call call;
    bool reserved;
    const char *name;
} conditions[] = {
    {"count=7 -> ", {.count = 7}, true, NULL},
    {"count=7 -> ", {.count = 8}, false, "a count is for calls of that count"},
    {"count=7-9 -> ", {.count = 6}, false, NULL},
    {"count=7-9 -> ", {.count = 7}, true, NULL},
    {"count=7-9 -> ", {.count = 9}, true, NULL},
    {"count=7-9 -> ", {.count = 10}, false, "a range of counts has both its ends"},
    {"count=7- -> ", {.count = 6}, false, NULL},
    {"count=7- -> ", {.count = UINT64_MAX}, true, "an open range has no end"},
    {"count=5-->", {.count = 6}, true, NULL},
    {"count=5->", {.count = 6}, false, "blanks around the arrow may be left out"},
    {"count=18446744073709551615 -> ", {.count = UINT64_MAX}, true, "counts go up to 2^64 - 1"},
    {"position=0-3 -> ", {.position = 0}, true, NULL},
    {"position=0-3 -> ", {.position = 3}, true, NULL},
    {"position=0-3 -> ", {.position = 4}, false, "positions are a range"},
    {"position=0- -> ", {.position = UINT64_MAX}, false, NULL},
    {"->", {.position = UINT64_MAX}, true, "no condition holds for a position that is not known"},
    {"type=float32 -> ", {.dtype = CGX_FLOAT32}, true, NULL},
    {"type=float16 -> ", {.dtype = CGX_FLOAT16}, true, NULL},
    {"type=bfloat16 -> ", {.dtype = CGX_BFLOAT16}, true, NULL},
    {"type=float16 -> ", {.dtype = CGX_FLOAT32}, false, NULL},
    {"type=float16 -> ", {.dtype = CGX_BFLOAT16}, false, "types are told apart"},
    {"comm=world -> ", {.communicator = "world"}, true, NULL},
    {"comm=world -> ", {.communicator = "World"}, false, NULL},
    {"comm=world -> ",
     {.communicator = "worlds"},
     false,
     "a communicator's name is compared whole"},
    {"comm=\"data # parallel -> 1\" -> ",
     {.communicator = "data # parallel -> 1"},
     true,
     "a name in quotes may have blanks, arrows and hashes"},
    {"comm=\"\" -> ", {.communicator = ""}, true, NULL},
    {"comm=\"\" -> ", {.communicator = "x"}, false, "a communicator without a name can be meant"},
    {"  ->  ", {.count = 1}, true, "a rule without conditions is for every call"},
    {"\xEF\xBB\xBF->", {.count = 1}, true, "the byte order mark of an editor is passed over"},
};

static void test_conditions(void)
{
    bool right = true;

    for (size_t i = 0; i < sizeof conditions / sizeof conditions[0]; i++) {
        const struct condition *row = &conditions[i];
        char text[64];

        snprintf(text, sizeof text, "%sexact", row->text);
        parse(text);
        right = right && (say_of_call(row->call).rule == 1) == row->reserved;
        if (row->name) {
            ok(right, "%s", row->name);
            right = true;
        }
    }
}

static void test_steps(void)
{
    const struct cgx_rules_call of_a = {.communicator = "a"};

    parse("comm=a -> bits=5 step=1");
    ok(say_of_call(of_a).rule == 1, "a rule may override of calls and of steps");
    parse("comm=a -> step=24\ncount=7 -> exact\ncomm=\"b b\" -> bits=5 step=1\n-> step=4096");
    ok(cgx_rules_step(rules, &none, "a") == 24 && cgx_rules_step(rules, &none, "b b") == 1 &&
           cgx_rules_step(rules, &none, "") == 4096,
       "the first rule for a communicator that says its step counts");
    ok(say_of(7).bits == CGX_BITS_EXACT && say_of(7).rule == 2 && say_of(8).rule == 0,
       "a rule that says nothing else is none for calls");
    ok(cgx_rules_name_communicators(rules) && warnings.count == 0, "and hides no other");
    parse("comm=\"b b\" -> bits=5 step=1\ncomm=a -> step=2 exact");
    ok(cgx_rules_step(rules, &none, "c") == 0 && cgx_rules_step(rules, &none, "a") == 2 &&
           cgx_rules_step(NULL, &none, "a") == 0,
       "its step is of its communicator alone");
}

static void test_layers(void)
{
    const struct cgx_layer_list *list;
    struct cgx_override other;

    parse("-> bits=3:6 layers=4096:exact,1000,500:2, 4:exact");
    list = say_of(5600).layers;
    other = say_of(5601);
    ok(list != NULL && list->total == 5600 && list->nlayers == 4 && list->layers[0].count == 4096 &&
           list->layers[0].bits == CGX_BITS_EXACT && list->layers[1].count == 1000 &&
           list->layers[1].bits == 0 && list->layers[2].count == 500 && list->layers[2].bits == 2 &&
           list->layers[3].count == 4 && list->layers[3].bits == CGX_BITS_EXACT,
       "layers have sizes and widths, in order");
    ok(other.layers == NULL && other.bits == 6 && other.rule == 1,
       "of a call of another count the rule says all but the layers");
    ok(warnings.count == 1 && strstr(warnings.message, "ranges are retired") != NULL,
       "of a range it is said that it is retired, and layers for one count are nothing to warn of");
    parse("-> layers=18446744073709551614,1");
    ok(say_of(UINT64_MAX).layers != NULL, "layers add up to as much as 2^64 - 1");
}

static void test_text(void)
{
    static const char with_nul[] = "# \0\n-> exact # \0";

    parse("\n  # nothing\r\n\t\r\ncount=1 -> exact\r\n\r\n-> bits=4\r\n");
    ok(say_of(1).bits == CGX_BITS_EXACT && say_of(2).bits == 4,
       "lines may end as in DOS, be blank, or hold a comment alone");
    parse_bytes(with_nul, sizeof with_nul - 1);
    ok(rules != NULL && say_of(1).bits == CGX_BITS_EXACT, "comments may have any bytes");
    parse_bytes(NULL, 0);
    ok(rules != NULL && say_of(1).rule == 0 && !cgx_rules_name_communicators(rules),
       "an empty file has no rules");
    parse("count=1 -> exact\ncomm=a -> exact");
    ok(cgx_rules_name_communicators(rules) && !cgx_rules_name_communicators(NULL),
       "it is known whether names are asked for");
}

static void test_warnings(void)
{
    parse("count=10-20 -> bits=4\n\ncount=12-20 type=float16 -> exact");
    ok(say_of(12).rule == 1, "a rule that an earlier one hides has no effect");
    parse("count=100 -> layers=50,51");
    ok(warnings.count == 1 && warnings.line == 1 &&
           strstr(warnings.message, "they add up to 101") != NULL,
       "layers that cannot add up to the rule's count are warned of");
    parse("count=100-101 -> layers=50,51");
    ok(warnings.count == 0, "layers that can are not");
    cgx_rules_free(rules);
    rules = cgx_rules_parse("-> layers=50,51", 15, NULL, &error);
    ok(rules != NULL, "warnings need not be taken");
}

static void test_many_rules(void)
{
    enum { RULES = 10000 };
    char *text;
    size_t size;
    FILE *out = open_memstream(&text, &size);

    if (out == NULL)
        bail_out("out of memory");
    for (unsigned i = 1; i <= RULES; i++)
        fprintf(out, "count=%u -> bits=4 layers=%u\n", i, i);
    fclose(out);
    parse_bytes(text, size);
    free(text);
    ok(rules != NULL && warnings.count == 0 && say_of(RULES).rule == RULES &&
           say_of(RULES).layers->total == RULES && say_of(RULES + 1).rule == 0,
       "ten thousand rules are read, and the last is found");
}

static void test_unused(void)
{
    parse("comm=a -> step=4\ncount=10 -> exact\n\ncount=20 -> exact");
    cgx_rules_unused(rules, collect);
    ok(warnings.count == 0, "rules that have not been looked at for a call are not warned of");
    say_of(10);
    cgx_rules_unused(rules, collect);
    ok(warnings.count == 2 && warnings.line == 4, "of a call, those that said nothing are");
    cgx_rules_step(rules, &none, "a");
    say_of(20);
    warnings.count = 0;
    cgx_rules_unused(rules, collect);
    ok(warnings.count == 0, "and none once all have, of a step or of a call");
    cgx_rules_unused(NULL, collect);
    ok(warnings.count == 0, "nor where there are no rules");
}

int main(void)
{
    test_conditions();
    test_steps();
    test_layers();
    test_text();
    test_warnings();
    test_many_rules();
    test_unused();
    cgx_rules_free(rules);
    return done_testing();
}
