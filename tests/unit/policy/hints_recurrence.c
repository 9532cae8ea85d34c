/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

/* Hints, and rules beside them, that say what recurs, what is asked of consensus, and how many
 * calls a step has; and the mistakes in hints of all kinds. */
#include <stdio.h>
#include <string.h>

#include "lib/tap.h"
#include "policy/rules/rules.h"

static struct cgx_rules_error error;
static struct cgx_hints *hints;      /* of the test */
static struct cgx_override override; /* what was said at last */

static void add(enum cgx_hint key, const char *value)
{
    const char *values[CGX_HINTS] = {NULL};

    values[key] = value;
    hints = cgx_hints_parse(hints, values, &error);
    if (hints == NULL)
        bail_out("column %u: %s", error.column, error.message);
}

static void begin(enum cgx_hint key, const char *value)
{
    cgx_hints_free(hints);
    hints = NULL;
    add(key, value);
}

static struct cgx_rules *rules_of(const char *text)
{
    struct cgx_rules *rules = cgx_rules_parse(text, strlen(text), NULL, NULL, &error);

    if (rules == NULL)
        bail_out("%s: column %u: %s", text, error.column, error.message);
    return rules;
}

/* What the hints and the rules of TEXT say of a call of 20 elements. */
static void ask(const char *text)
{
    struct cgx_rules_call call = {.count = 20, .communicator = "", .position = UINT64_MAX};
    struct cgx_rules *rules = rules_of(text);

    override = cgx_override_merge(hints, rules, &call);
    cgx_rules_free(rules);
}

static bool says_nothing(void)
{
    return !override.exact && override.recurs == CGX_RECURS_FOUND &&
           override.consensus == CGX_SWITCH_UNSET && override.least == 0 && override.most == 0 &&
           override.layers == NULL && override.op == CGX_FLOAT32;
}

static void test_codec(void)
{
    uint32_t hash;

    begin(CGX_HINT_CODEC, "rotated");
    hash = cgx_hints_hash(hints);
    ask("");
    ok(override.codec == CGX_CODEC(CGX_FAMILY_ROTATED) && !override.exact && override.least == 0,
       "cgx_codec=rotated says that alone");
    ask("-> codec=maxmin");
    ok(override.codec == CGX_CODEC(CGX_FAMILY_MAXMIN), "a rule's codec counts");
    add(CGX_HINT_CODEC, "maxmin");
    ok(cgx_hints_hash(hints) != hash && hash != 0, "ranks compare it");
    add(CGX_HINT_CODEC, "");
    ask("");
    ok(says_nothing() && override.codec == CGX_CODEC_AS_SET, "and it can be taken back");
}

static void test_recurs(void)
{
    begin(CGX_HINT_RECURS, " Always ");
    ask("");
    ok(override.recurs == CGX_RECURS_ALWAYS && !override.exact && override.least == 0 &&
           override.consensus != CGX_SWITCH_OFF,
       "cgx_recurs=always says that alone");
    ask("-> recurs=never bits=4");
    ok(override.recurs == CGX_RECURS_NEVER && override.exact && override.least == 0,
       "a rule's never counts");
    add(CGX_HINT_RECURS, "never");
    ask("");
    ok(override.recurs == CGX_RECURS_NEVER && override.exact, "what never recurs is exact");
    ask("-> recurs=always");
    ok(override.recurs == CGX_RECURS_ALWAYS && !override.exact, "so does its always");
    ask("-> bits=4");
    ok(override.recurs == CGX_RECURS_NEVER && override.exact,
       "a rule that says neither leaves the hint's");
    add(CGX_HINT_BITS, "5");
    add(CGX_HINT_RECURS, "");
    ask("");
    ok(override.recurs == CGX_RECURS_FOUND && override.least == 5 && !override.exact,
       "an empty value takes it back, and leaves the rest");
}

static void test_exact(void)
{
    begin(CGX_HINT_RECURS, "always");
    ask("-> exact");
    add(CGX_HINT_CONSENSUS, "off");
    ok(override.exact && override.recurs == CGX_RECURS_FOUND &&
           override.consensus != CGX_SWITCH_OFF,
       "an exact rule counts");
    add(CGX_HINT_BITS, "exact");
    ask("");
    ok(override.exact && override.recurs == CGX_RECURS_FOUND &&
           override.consensus != CGX_SWITCH_OFF,
       "so do exact hints");
    ask("-> bits=4");
    ok(!override.exact && override.recurs == CGX_RECURS_ALWAYS &&
           override.consensus == CGX_SWITCH_OFF && override.least == 4,
       "a rule's widths bring the hints back");
    add(CGX_HINT_ENABLE, "0");
    ask("-> recurs=always");
    ok(override.exact && override.recurs == CGX_RECURS_FOUND,
       "no rule compresses what is switched off");
}

static void test_consensus(void)
{
    begin(CGX_HINT_CONSENSUS, "off");
    ask("");
    ok(override.consensus == CGX_SWITCH_OFF && !override.exact &&
           override.recurs == CGX_RECURS_FOUND && override.least == 0,
       "cgx_consensus=off says that alone");
    ask("-> consensus=on");
    ok(override.consensus == CGX_SWITCH_ON, "a rule's on counts");
    add(CGX_HINT_CONSENSUS, "ON");
    ask("-> consensus=off");
    ok(override.consensus == CGX_SWITCH_OFF, "so does its off");
    ask("");
    ok(override.consensus == CGX_SWITCH_ON && !override.exact &&
           override.recurs == CGX_RECURS_FOUND && override.least == 0,
       "cgx_consensus=on says that alone");
    begin(CGX_HINT_CONSENSUS, " ");
    ask("");
    ok(says_nothing(), "an empty value says nothing");
}

static void test_op(void)
{
    begin(CGX_HINT_OP, "bfloat16");
    ask("");
    ok(override.op == CGX_BFLOAT16 && !override.exact && override.least == 0,
       "cgx_op says that alone");
    ask("-> op=float16");
    ok(override.op == CGX_FLOAT16, "a rule's op counts");
    ask("-> exact");
    ok(override.op == CGX_FLOAT32, "an exact call needs none");
    begin(CGX_HINT_OP, "");
    ask("");
    ok(says_nothing(), "an empty op says nothing");
}

static void test_step(void)
{
    struct cgx_rules *rules = rules_of("comm=a -> step=7\ncomm=b -> bits=3");

    begin(CGX_HINT_STEP, " 24 ");
    ask("");
    ok(cgx_override_step(hints, NULL, "a") == 24 && cgx_override_step(hints, rules, "b") == 24 &&
           says_nothing(),
       "cgx_step is of the communicator, and says nothing of a call");
    ok(cgx_override_step(hints, rules, "a") == 7 && cgx_override_step(NULL, rules, "a") == 7,
       "a rule's step counts");
    ok(cgx_override_step(NULL, rules, "b") == 0 && cgx_override_step(NULL, NULL, "") == 0,
       "where neither says, none is said");
    add(CGX_HINT_STEP, "");
    ok(cgx_override_step(hints, NULL, "") == 0, "an empty value takes it back");
    cgx_rules_free(rules);
}

static uint32_t hash_of(enum cgx_hint key, const char *value)
{
    begin(key, value);
    return cgx_hints_hash(hints);
}

static void test_hash(void)
{
    const uint32_t hashes[] = {
        0,
        hash_of(CGX_HINT_RECURS, "always"),
        hash_of(CGX_HINT_RECURS, "never"),
        hash_of(CGX_HINT_CONSENSUS, "off"),
        hash_of(CGX_HINT_CONSENSUS, "on"),
        hash_of(CGX_HINT_STEP, "1"),
        hash_of(CGX_HINT_STEP, "2"),
        hash_of(CGX_HINT_ENABLE, "1"),
        hash_of(CGX_HINT_ENABLE, "0"),
        hash_of(CGX_HINT_BITS, "1"),
    };
    size_t n = sizeof hashes / sizeof hashes[0];
    bool differ = true;

    for (size_t i = 0; i < n; i++)
        for (size_t j = 0; j < i; j++)
            differ = differ && hashes[i] != hashes[j];
    ok(differ, "each of them shows in the hash");
    ok(hash_of(CGX_HINT_RECURS, "") == 0 && hash_of(CGX_HINT_STEP, " ") == 0 &&
           hash_of(CGX_HINT_STEP, "12") == hash_of(CGX_HINT_STEP, " 0012 "),
       "the same content has the same hash");
}

static void test_mistakes(void)
{
    static const struct {
        enum cgx_hint key;
        const char *value;
        unsigned column;
        const char *message; /* how it begins */
    } cases[] = {
        {CGX_HINT_ENABLE, "yes", 1, "cgx_enable: \"yes\" refused: allowed: 1, 0, true, false"},
        {CGX_HINT_ENABLE, " 1 1", 4,
         "cgx_enable: \"1\" refused: allowed: one value of 1, 0, true, false"},
        {CGX_HINT_ENABLE, "\"1\"", 1, "cgx_enable: \"\"\" refused: "},
        {CGX_HINT_ENABLE, "->", 1, "cgx_enable: \"->\" refused: "},
        {CGX_HINT_BITS, "9", 1,
         "cgx_bits: \"9\" refused: allowed: 1-8, MIN:MAX with both 1-8, exact"},
        {CGX_HINT_BITS, "4 # wide", 3, "cgx_bits: \"#\" refused: allowed: one value of 1-8, "},
        {CGX_HINT_BITS, "4,5", 1, "cgx_bits: \"4,5\" refused: "},
        {CGX_HINT_BITS, "\x80\xff\n", 1, "cgx_bits: \"\x80\xff?\" refused: "},
        {CGX_HINT_LAYERS, "0", 1, "cgx_layers: \"0\" refused: allowed: SIZE[:BITS],... "},
        {CGX_HINT_LAYERS, "4;", 3, "cgx_layers: something is missing here: allowed: SIZE[:BITS]"},
        {CGX_HINT_LAYERS, "4,#", 3, "cgx_layers: \"#\" refused: allowed: SIZE[:BITS]"},
        {CGX_HINT_LAYERS, "4 5", 3, "cgx_layers: \"5\" refused: allowed: a comma and a size, or "},
        {CGX_HINT_LAYERS, "1,3; 2,2", 6,
         "cgx_layers: refused: two lists add up to the same number"},
        {CGX_HINT_LAYERS, "1,18446744073709551615", 3,
         "cgx_layers: the sizes add up to 2^64 or more"},
        {CGX_HINT_RECURS, "yes", 1, "cgx_recurs: \"yes\" refused: allowed: always, never"},
        {CGX_HINT_RECURS, " always never", 9, "cgx_recurs: \"never\" refused: allowed: one value"},
        {CGX_HINT_RECURS, "found", 1, "cgx_recurs: \"found\" refused: "},
        {CGX_HINT_RECURS, "always # so", 8, "cgx_recurs: \"#\" refused: "},
        {CGX_HINT_CONSENSUS, "0.05", 1, "cgx_consensus: \"0.05\" refused: allowed: on, off"},
        {CGX_HINT_CONSENSUS, "off,", 1, "cgx_consensus: \"off,\" refused: "},
        {CGX_HINT_STEP, "0", 1, "cgx_step: \"0\" refused: allowed: 1-4096 calls"},
        {CGX_HINT_STEP, " 4097", 2, "cgx_step: \"4097\" refused: "},
        {CGX_HINT_STEP, "18446744073709551617", 1, "cgx_step: \"18446744073709551617\" refused: "},
        {CGX_HINT_STEP, "-1", 1, "cgx_step: \"-1\" refused: "},
        {CGX_HINT_STEP, "3 4", 3, "cgx_step: \"4\" refused: allowed: one value"},
    };

    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        const char *values[CGX_HINTS] = {NULL};
        struct cgx_hints *mistaken;
        bool right;

        memset(&error, 0, sizeof error);
        values[cases[i].key] = cases[i].value;
        mistaken = cgx_hints_parse(NULL, values, &error);
        right = mistaken == NULL && error.line == 1 && error.column == cases[i].column &&
                strncmp(error.message, cases[i].message, strlen(cases[i].message)) == 0;
        if (!right)
            diag("column %u: %s", error.column, error.message);
        ok(right, "mistake %zu is refused with key, column and what is allowed", i + 1);
        cgx_hints_free(mistaken);
    }
}

int main(void)
{
    bool named = true;

    for (enum cgx_hint hint = 0; hint < CGX_HINTS; hint++)
        named = named && strncmp(cgx_hint_key(hint), "cgx_", 4) == 0;
    ok(named && strcmp(cgx_hint_key(CGX_HINT_STEP), "cgx_step") == 0 &&
           strcmp(cgx_hint_key(CGX_HINT_CONSENSUS), "cgx_consensus") == 0,
       "every hint has its key");
    test_codec();
    test_recurs();
    test_exact();
    test_consensus();
    test_op();
    test_step();
    test_hash();
    test_mistakes();
    cgx_hints_free(hints);
    return done_testing();
}
