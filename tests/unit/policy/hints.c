/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

/* Hints of a communicator, and what they and rules say together. */
#include <stdio.h>
#include <string.h>

#include "lib/tap.h"
#include "policy/rules/rules.h"

static struct cgx_rules_error error;
static struct cgx_hints *hints; /* of the test */

static struct cgx_hints *parse(struct cgx_hints *before, const char *enable, const char *bits,
                               const char *layers)
{
    const char *const values[CGX_HINTS] = {
        [CGX_HINT_ENABLE] = enable, [CGX_HINT_BITS] = bits, [CGX_HINT_LAYERS] = layers};

    return cgx_hints_parse(before, values, &error);
}

static void add(const char *enable, const char *bits, const char *layers)
{
    hints = parse(hints, enable, bits, layers);
    if (hints == NULL)
        bail_out("column %u: %s", error.column, error.message);
}

static void begin(const char *enable, const char *bits, const char *layers)
{
    cgx_hints_free(hints);
    hints = NULL;
    add(enable, bits, layers);
}

/* What OF and the rules of TEXT, or NULL, say of a call of COUNT elements, but its layers'
 * list, which is gone: NLAYERS of them, of LAYER_BITS the first. */
static struct {
    struct cgx_override override;
    size_t nlayers;
    unsigned layer_bits;
} said;

static void ask(const struct cgx_hints *of, const char *text, uint64_t count)
{
    struct cgx_rules_call call = {.count = count, .communicator = "", .position = UINT64_MAX};
    struct cgx_rules *rules = NULL;

    if (text != NULL && !(rules = cgx_rules_parse(text, strlen(text), NULL, NULL, &error)))
        bail_out("%s: %s", text, error.message);
    said.override = cgx_override_merge(of, rules, &call);
    said.nlayers = said.override.layers == NULL ? 0 : said.override.layers->nlayers;
    said.layer_bits = said.nlayers == 0 ? 0 : said.override.layers->layers[0].bits;
    cgx_rules_free(rules);
}

static bool says_widths(unsigned least, unsigned most)
{
    return !said.override.exact && said.override.least == least && said.override.most == most;
}

static bool enables(const char *value)
{
    begin(value, NULL, NULL);
    return cgx_hints_enable(hints);
}

static uint32_t hash_of(const char *enable, const char *bits, const char *layers)
{
    begin(enable, bits, layers);
    return cgx_hints_hash(hints);
}

static void test_enable(void)
{
    ok(!enables("0") && !enables("false") && !enables(" FALSE "), "0 and false switch it off");
    ok(enables("1") && enables("true") && enables(""), "1 and true switch it on");
    ok(cgx_hints_enable(NULL), "it is on where nothing is said");
    begin("0", "4", "5");
    ask(hints, "-> bits=3", 5);
    ok(said.override.exact && said.nlayers == 0, "off is exact, whatever else is said");
}

static void test_bits(void)
{
    begin(NULL, "3:6", NULL);
    ask(hints, NULL, 7);
    ok(says_widths(3, 6), "two widths are a choice");
    add(NULL, " 5", NULL);
    ask(hints, NULL, 7);
    ok(says_widths(5, 5), "one width is fixed, and takes the place of what was said before");
    add(NULL, "Exact", NULL);
    ask(hints, NULL, 7);
    ok(said.override.exact && said.override.least == 0, "exact is exact");
    add(NULL, "exact", "7:4");
    ask(hints, NULL, 7);
    ok(said.override.exact && said.nlayers == 0, "an exact call has no layers");
}

static void test_layers(void)
{
    begin(NULL, NULL, "4096,1048576:8,512:exact; 10:exact,\t10 ");
    ask(hints, NULL, 4096 + 1048576 + 512);
    ok(said.nlayers == 3 && said.layer_bits == 0 && said.override.layers != NULL,
       "a list is for buffers of as many elements as it adds up to");
    ask(hints, NULL, 20);
    ok(said.nlayers == 2 && said.layer_bits == CGX_BITS_EXACT, "there may be several lists");
    ask(hints, NULL, 21);
    ok(said.nlayers == 0, "other buffers have no list");
    add(NULL, NULL, "20");
    ask(hints, NULL, 4096 + 1048576 + 512);
    ok(said.nlayers == 0, "new lists take the place of all before");
}

static void test_memory(void)
{
    begin("0", "5", "20");
    add("1", NULL, NULL);
    ask(hints, NULL, 20);
    ok(says_widths(5, 5) && said.nlayers == 1, "what other keys said before stays");
    ok(parse(hints, "1", "6", "20,") == NULL, "a mistake in one key refuses all");
    ask(hints, NULL, 20);
    ok(says_widths(5, 5) && said.nlayers == 1, "and what was said before stays");
    add(NULL, "", " ");
    ask(hints, NULL, 20);
    ok(says_widths(0, 0) && said.nlayers == 0, "an empty value takes back what its key said");
    begin(NULL, NULL, NULL);
    ok(hints != NULL && cgx_hints_hash(hints) == 0, "no keys at all say nothing");
}

static void test_hash(void)
{
    ok(cgx_hints_hash(NULL) == 0 && hash_of("", "", "") == 0, "nothing said has no hash");
    ok(hash_of("1", "4", "5:4,6") == hash_of("true", " 4", "5:4, 6 ") &&
           hash_of("1", NULL, NULL) != 0,
       "the same content has the same hash");
    ok(hash_of("1", NULL, NULL) != hash_of("0", NULL, NULL) &&
           hash_of(NULL, "4", NULL) != hash_of(NULL, "4:5", NULL) &&
           hash_of(NULL, "3:5", NULL) != hash_of(NULL, "4:5", NULL) &&
           hash_of(NULL, NULL, "5,6") != hash_of(NULL, NULL, "6,5") &&
           hash_of(NULL, NULL, "5,6:3") != hash_of(NULL, NULL, "5,6:4") &&
           hash_of(NULL, NULL, "5,6") != hash_of(NULL, NULL, "5;6"),
       "any difference shows in the hash");
}

static void test_together(void)
{
    begin(NULL, "5", "10,10:3");
    ask(NULL, NULL, 20);
    ok(says_widths(0, 0) && said.override.rule == 0, "neither says nothing");
    ask(hints, "-> bits=2:7", 20);
    ok(says_widths(2, 7) && said.nlayers == 2 && said.override.rule == 1,
       "a rule's widths count, with the hints' layers");
    ask(hints, "-> layers=7:2,7,6", 20);
    ok(says_widths(5, 5) && said.nlayers == 3 && said.layer_bits == 2,
       "a rule's layers count, with the hints' widths");
    ask(hints, "-> layers=7:2,7", 20);
    ok(says_widths(5, 5) && said.nlayers == 2 && said.layer_bits == 0,
       "a rule's layers for another count leave those of the hints");
    ask(hints, "count=20 -> exact", 20);
    ok(said.override.exact && said.override.least == 0 && said.nlayers == 0,
       "an exact rule counts");
    ask(hints, "count=21 -> exact", 20);
    ok(says_widths(5, 5) && said.override.rule == 0, "a rule for other calls does not");
    add(NULL, "exact", NULL);
    ask(hints, "-> bits=4", 20);
    ok(says_widths(4, 4) && said.nlayers == 2, "a rule's widths count where the hints say exact");
}

/* Junk of every kind, in values that were right. */
static void test_mutations(void)
{
    static const char seed[] = "4096:8, 1048576:exact,512;77:exact,1;3:6";
    static const char pieces[] = ":;, #\"->\t\n\x1b\xff\x30\x39";
    uint64_t state = 88172645463325252u;
    unsigned refused = 0, taken = 0, wrong = 0;

    for (unsigned round = 0; round < 20000; round++) {
        char value[sizeof seed];
        struct cgx_hints *junk;

        strcpy(value, seed);
        for (unsigned edits = 0; edits < 2; edits++) {
            state = state * 6364136223846793005u + 1442695040888963407u;
            value[(state >> 33) % (sizeof seed - 1)] = pieces[(state >> 48) % (sizeof pieces - 1)];
        }
        value[(state >> 20) % sizeof seed] = '\0';
        for (size_t key = 0; key < CGX_HINTS; key++) {
            const char *values[CGX_HINTS] = {NULL};

            values[key] = value;
            cgx_hints_free(cgx_hints_parse(NULL, values, &error));
        }
        junk = parse(NULL, NULL, NULL, value);
        *(junk != NULL ? &taken : &refused) += 1;
        wrong += junk == NULL && (error.column < 1 || error.column > strlen(value) + 1);
        cgx_hints_free(junk);
    }
    ok(taken > 1000 && refused > 1000 && wrong == 0,
       "any value is taken, or refused with a place within it");
}

int main(void)
{
    test_enable();
    test_bits();
    test_layers();
    test_memory();
    test_hash();
    test_together();
    test_mutations();
    cgx_hints_free(hints);
    return done_testing();
}
