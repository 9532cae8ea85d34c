/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

/* Hints of a communicator, what they and rules say together, and the mistakes in them. */
#include <stdio.h>
#include <string.h>

#include "lib/tap.h"
#include "policy/rules/rules.h"

static struct cgx_rules_error error;
static struct cgx_override hints; /* of the test */
static const struct cgx_override none;

/* Adds hints: "bits=4&layers=5,6". */
static bool parse(const char *text)
{
    const char *values[CGX_HINTS] = {NULL};
    char copy[128], *rest = copy, *word;

    snprintf(copy, sizeof copy, "%s", text);
    while ((word = strsep(&rest, "&")) && *word) {
        const char *key = strsep(&word, "=");
        size_t hint = 0;

        while (strcmp(cgx_action_keys[hint].about.name + strlen("cgx_"), key) != 0)
            hint++;
        values[hint] = word;
    }
    return cgx_hints_parse(&hints, values, &error);
}

static void add(const char *text)
{
    if (!parse(text))
        bail_out("%s: column %u: %s", text, error.column, error.message);
}

static void begin(const char *text)
{
    cgx_override_clear(&hints);
    hints = none;
    add(text);
}

static struct cgx_rules *rules_of(const char *text)
{
    struct cgx_rules *rules = cgx_rules_parse(text, strlen(text), NULL, &error);

    if (rules == NULL)
        bail_out("%s: column %u: %s", text, error.column, error.message);
    return rules;
}

/* What the hints and the rules of TEXT say of a call of COUNT elements, as in a rule. */
static const char *ask(const char *text, uint64_t count)
{
    static const char *const recurs[] = {"", " recurs=always", " recurs=never"};
    static const char *const consensus[] = {"", " consensus=on", " consensus=off"};
    static const char *const codecs[] = {[CGX_CODEC(CGX_FAMILY_MAXMIN)] = " codec=maxmin",
                                         [CGX_CODEC(CGX_FAMILY_UNIFORM)] = " codec=uniform"};
    static const char *const ops[] = {"", " op=float16", " op=bfloat16"};
    static char said[256];
    struct cgx_rules_call call = {.count = count, .communicator = "", .position = UINT64_MAX};
    struct cgx_rules *rules = *text ? rules_of(text) : NULL;
    struct cgx_override set = cgx_rules_override(rules, &call);
    struct cgx_override is = cgx_override_merge(&hints, &set, count);
    char bits[32] = "", layers[64] = "", rule[32] = "";

    if (is.bits == CGX_BITS_EXACT)
        strcpy(bits, " exact");
    else if (is.bits > 0)
        snprintf(bits, sizeof bits, " bits=%u", is.bits);
    if (is.layers)
        snprintf(layers, sizeof layers, " layers=%zu,%u", is.layers->nlayers,
                 is.layers->layers[0].bits);
    if (is.rule > 0)
        snprintf(rule, sizeof rule, " rule=%u", is.rule);
    snprintf(said, sizeof said, "%s%s%s%s%s%s%s", bits, is.codec ? codecs[is.codec] : "", layers,
             recurs[is.recurs], consensus[is.consensus], ops[is.op], rule);
    cgx_rules_free(rules);
    return said[0] ? said + 1 : said;
}

/* HINTS with a "+" are added to those of the row before. */
static const struct {
    const char *hints, *rules;
    uint64_t count;
    const char *says, *name;
} cases[] = {
    {"enable=0&bits=4&layers=5", "-> bits=3", 5, "exact rule=1",
     "off is exact, whatever else is said"},
    {"bits=3:6", "", 7, "bits=6", "of a range the greatest width counts"},
    {"+bits= 5", "", 7, "bits=5", "another width takes the place of those before"},
    {"+bits=Exact", "", 7, "exact", "exact is exact"},
    {"+bits=exact&layers=7:4", "", 7, "exact", "an exact call has no layers"},
    {"layers=4096,1048576:8,512:exact; 10:exact,\t10 ", "", 1053184, "layers=3,0",
     "a list is for buffers of as many elements as it adds up to"},
    {"+", "", 20, "layers=2,32", "there may be several lists"},
    {"+", "", 21, "", "other buffers have no list"},
    {"+layers=20", "", 1053184, "", "new lists take the place of all before"},
    {"enable=0&bits=5&layers=20", "", 20, "exact", "several keys are read at once"},
    {"+enable=1", "", 20, "bits=5 layers=1,0", "what other keys said before stays"},
    {"+bits=&layers= ", "", 20, "", "an empty value takes back what its key said"},
    {"bits=5&layers=10,10:3", "-> bits=2:7", 20, "bits=7 layers=2,0 rule=1",
     "a rule's widths count, with the hints' layers"},
    {"+", "-> layers=7:2,7,6", 20, "bits=5 layers=3,2 rule=1",
     "a rule's layers count, with the hints' widths"},
    {"+", "-> layers=7:2,7", 20, "bits=5 layers=2,0 rule=1",
     "a rule's layers for another count leave those of the hints"},
    {"+", "count=20 -> exact", 20, "exact rule=1", "an exact rule counts"},
    {"+", "count=21 -> exact", 20, "bits=5 layers=2,0", "a rule for other calls does not"},
    {"+bits=exact", "-> bits=4", 20, "bits=4 layers=2,0 rule=1",
     "a rule's widths count where the hints say exact"},
    {"codec=uniform", "", 20, "codec=uniform", "cgx_codec says that alone"},
    {"codec=Rotated", "", 20, "codec=uniform", "a retired one is another"},
    {"codec=auto", "", 20, "codec=uniform", "and so is auto"},
    {"+", "-> codec=maxmin", 20, "codec=maxmin rule=1", "a rule's codec counts"},
    {"+codec=", "", 20, "", "a codec can be taken back"},
    {"recurs= Always ", "", 20, "recurs=always", "cgx_recurs=always says that alone"},
    {"+", "-> recurs=never bits=4", 20, "exact recurs=never rule=1", "a rule's never counts"},
    {"+recurs=never", "", 20, "exact recurs=never", "what never recurs is exact"},
    {"+", "-> recurs=always", 20, "recurs=always rule=1", "so does a rule's always"},
    {"+", "-> bits=4", 20, "exact recurs=never rule=1",
     "a rule that says neither leaves the hint's"},
    {"+bits=5&recurs=", "", 20, "bits=5", "an empty value takes it back, and leaves the rest"},
    {"recurs=always", "-> exact", 20, "exact rule=1", "an exact rule counts"},
    {"+consensus=off&bits=exact", "", 20, "exact", "so do exact hints"},
    {"+", "-> bits=4", 20, "bits=4 recurs=always consensus=off rule=1",
     "a rule's widths bring the hints back"},
    {"+enable=0", "-> recurs=always", 20, "exact rule=1",
     "no rule compresses what is switched off"},
    {"consensus=off", "", 20, "consensus=off", "cgx_consensus=off says that alone"},
    {"+", "-> consensus=on", 20, "consensus=on rule=1", "a rule's on counts"},
    {"+consensus=ON", "-> consensus=off", 20, "consensus=off rule=1", "so does its off"},
    {"+", "", 20, "consensus=on", "cgx_consensus=on says that alone"},
    {"consensus= ", "", 20, "", "an empty value says nothing"},
    {"op=bfloat16", "", 20, "op=bfloat16", "cgx_op says that alone"},
    {"+", "-> op=float16", 20, "op=float16 rule=1", "a rule's op counts"},
    {"+", "-> exact", 20, "exact rule=1", "an exact call needs none"},
    {"op=", "", 20, "", "an empty op says nothing"},
    {"step= 24 ", "", 20, "", "cgx_step says nothing of a call"},
    {"", "", 20, "", "neither says nothing"},
    {"", "-> bits=5", 20, "bits=5 rule=1", "one width of a rule is fixed"},
    {"", "-> bits=3:6", 20, "bits=6 rule=1", "of a range the greatest counts"},
    {"", "-> bits=exact", 20, "exact rule=1", "bits=exact is exact"},
    {"", "COUNT=20 TYPE=Float32 -> BITS=Exact", 20, "exact rule=1", "case does not matter"},
    {"", "count=20 -> bits=3\n-> bits=2", 20, "bits=3 rule=1", "the first rule that holds counts"},
    {"", "count=20 -> bits=3\n-> bits=2", 21, "bits=2 rule=2", "and no other"},
    {"", "count=20 -> exact", 21, "", "nothing is said of other calls"},
    {"", "-> recurs=always", 20, "recurs=always rule=1", "recurs=always says that alone"},
    {"", "-> consensus=off", 20, "consensus=off rule=1", "so does consensus=off"},
    {"", "-> Consensus=On layers=20", 20, "layers=1,0 consensus=on rule=1",
     "two actions are both taken"},
    {"", "-> codec=rotated bits=2", 20, "bits=2 codec=uniform rule=1", "a codec and its width"},
    {"", "-> Codec=MaxMin", 20, "codec=maxmin rule=1", "the other codec"},
};

static void test_cases(void)
{
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        const char *said;

        if (cases[i].hints[0] == '+')
            add(cases[i].hints + 1);
        else
            begin(cases[i].hints);
        said = ask(cases[i].rules, cases[i].count);
        if (strcmp(said, cases[i].says) != 0)
            diag("\"%s\", not \"%s\"", said, cases[i].says);
        ok(strcmp(said, cases[i].says) == 0, "%s", cases[i].name);
    }
}

static bool enables(const char *text)
{
    begin(text);
    return hints.enable != CGX_SWITCH_OFF;
}

static void test_enable(void)
{
    ok(!enables("enable=0") && !enables("enable=false") && !enables("enable= FALSE "),
       "0 and false switch it off");
    ok(enables("enable=1") && enables("enable=true") && enables("enable="),
       "1 and true switch it on");
}

static void test_memory(void)
{
    begin("bits=5&layers=20");
    ok(!parse("enable=1&bits=6&layers=20,") && strcmp(ask("", 20), "bits=5 layers=1,0") == 0,
       "a mistake in one key refuses all, and what was said before stays");
}

static void test_step(void)
{
    struct cgx_rules *rules = rules_of("comm=a -> step=7\ncomm=b -> bits=3");

    begin("step= 24 ");
    ok(cgx_rules_step(NULL, &hints, "a") == 24 && cgx_rules_step(rules, &hints, "b") == 24,
       "cgx_step is of the communicator");
    ok(cgx_rules_step(rules, &hints, "a") == 7 && cgx_rules_step(rules, &none, "a") == 7,
       "a rule's step counts");
    ok(cgx_rules_step(rules, &none, "b") == 0 && cgx_rules_step(NULL, &none, "") == 0,
       "where neither says, none is said");
    add("step=");
    ok(cgx_rules_step(NULL, &hints, "") == 0, "an empty value takes it back");
    cgx_rules_free(rules);
}

/* Those of a row have the same hash, and no others have it. */
static const char *const alike[][2] = {
    {"", "enable=&bits=&layers=&recurs=&step= "},
    {"enable=1", "enable=true"},
    {"enable=0", "enable=false"},
    {"enable=1&bits=4&layers=5:4,6", "enable=true&bits= 4&layers=5:4, 6 "},
    {"bits=1", NULL},
    {"bits=5", "bits=3:5"},
    {"layers=5,6", NULL},
    {"layers=6,5", NULL},
    {"layers=5,6:3", NULL},
    {"layers=5,6:4", NULL},
    {"layers=5;6", NULL},
    {"codec=uniform", "codec=auto"},
    {"codec=maxmin", NULL},
    {"recurs=always", NULL},
    {"recurs=never", NULL},
    {"consensus=off", NULL},
    {"consensus=on", NULL},
    {"step=12", "step= 0012 "},
    {"step=2", NULL},
    {"op=float16", NULL},
    {"op=bfloat16", NULL},
};

static void test_hash(void)
{
    uint32_t hashes[sizeof alike / sizeof alike[0]];
    bool differ = true, same = true;

    for (size_t i = 0; i < sizeof alike / sizeof alike[0]; i++) {
        begin(alike[i][0]);
        hashes[i] = cgx_hints_hash(&hints);
        for (size_t j = 0; j < i; j++)
            differ = differ && hashes[i] != hashes[j];
        if (alike[i][1] == NULL)
            continue;
        begin(alike[i][1]);
        same = same && cgx_hints_hash(&hints) == hashes[i];
    }
    ok(differ && same, "the same content has the same hash, and any difference shows");
    ok(hashes[0] == 0 && cgx_hints_hash(&none) == 0, "nothing said has no hash");
}

static void test_mistakes(void)
{
    static const struct {
        enum cgx_hint key;
        const char *value;
        unsigned column;
        const char *message; /* how it begins */
    } mistakes[] = {
        {CGX_HINT_ENABLE, "yes", 1, "cgx_enable: \"yes\" refused: allowed: 1, 0, true, false"},
        {CGX_HINT_ENABLE, " 1 1", 4,
         "cgx_enable: \"1\" refused: allowed: one value of 1, 0, true, false"},
        {CGX_HINT_ENABLE, "\"1\"", 1, "cgx_enable: \"\"\" refused: "},
        {CGX_HINT_ENABLE, "->", 1, "cgx_enable: \"->\" refused: "},
        {CGX_HINT_BITS, "9", 1, "cgx_bits: \"9\" refused: allowed: 1-8, exact"},
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

    for (size_t i = 0; i < sizeof mistakes / sizeof mistakes[0]; i++) {
        const char *values[CGX_HINTS] = {NULL};
        struct cgx_override mistaken = none;
        bool right;

        memset(&error, 0, sizeof error);
        values[mistakes[i].key] = mistakes[i].value;
        right = !cgx_hints_parse(&mistaken, values, &error) && error.line == 1 &&
                error.column == mistakes[i].column &&
                strncmp(error.message, mistakes[i].message, strlen(mistakes[i].message)) == 0;
        if (!right)
            diag("column %u: %s", error.column, error.message);
        ok(right, "mistake %zu is refused with key, column and what is allowed", i + 1);
        cgx_override_clear(&mistaken);
    }
}

int main(void)
{
    test_cases();
    test_enable();
    test_memory();
    test_step();
    test_hash();
    test_mistakes();
    cgx_override_clear(&hints);
    return done_testing();
}
