/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

/* Holds the list of variables in cgx-settings.7 to the table of settings, that of reasons in
 * cgx-stats.5 to theirs, and the words of rules and hints in cgx-rules.5 to those that are read. An
 * item of the list of variables is
 *
 *     .TP
 *     .B NAME
 *     text
 *     .br
 *     Values: VALUES
 *     .br
 *     Default: DEFAULT
 */

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/tap.h"
#include "observe/reason.h"
#include "policy/rules/rules.h"
#include "util/settings.h"

#define LINE_BYTES 256
#define LINES 2000

static char lines[LINES][LINE_BYTES];
static size_t nlines;

static void read_page(const char *name)
{
    const char *top = getenv("top_srcdir");
    char path[4096];
    FILE *page;

    nlines = 0;
    snprintf(path, sizeof path, "%s/man/%s", top == NULL ? "." : top, name);
    page = fopen(path, "r");
    if (page == NULL)
        bail_out("%s cannot be read", path);
    while (nlines < LINES && fgets(lines[nlines], LINE_BYTES, page) != NULL) {
        lines[nlines][strcspn(lines[nlines], "\n")] = '\0';
        nlines++;
    }
    fclose(page);
}

/* The line that is TEXT, from FIRST on; nlines if there is none. */
static size_t find(size_t first, const char *text)
{
    while (first < nlines && strcmp(lines[first], text) != 0)
        first++;
    return first;
}

/* Whether an item about NAME begins with line I. */
static bool is_item(size_t i, const char *name)
{
    return i + 1 < nlines && strcmp(lines[i], ".TP") == 0 && strncmp(lines[i + 1], ".B ", 3) == 0 &&
           strcmp(lines[i + 1] + 3, name) == 0;
}

/* The one item about NAME between two lines, else 0: there is none, or more. */
static size_t find_item(size_t begin, size_t end, const char *name)
{
    size_t found = 0;
    unsigned count = 0;

    for (size_t i = begin; i < end; i++) {
        if (is_item(i, name)) {
            found = i;
            count++;
        }
    }
    return count == 1 ? found : 0;
}

/* Whether the item has the line "LABEL: TEXT". */
static bool item_says(size_t item, const char *label, const char *text)
{
    char expected[LINE_BYTES];

    snprintf(expected, sizeof expected, "%s: %s", label, text);
    for (size_t i = item + 2; i < nlines && lines[i][0] != '\0'; i++) {
        if (strcmp(lines[i], expected) == 0)
            return true;
        if (strcmp(lines[i], ".TP") == 0 || strncmp(lines[i], ".S", 2) == 0)
            break;
    }
    diag("no line \"%s\"", expected);
    return false;
}

static bool is_row(const char *name)
{
    const struct cgx_setting *row;

    for (size_t i = 0; (row = cgx_settings_row(i)) != NULL; i++)
        if (strcmp(row->name, name) == 0)
            return true;
    diag("%s is in no row", name);
    return false;
}

/* Each reason has a row "NAME TAB TEXT" in cgx-stats(5), and there is no other row. */
static void test_reasons(void)
{
    size_t begin, end, rows = 0;

    read_page("cgx-stats.5");
    begin = find(0, ".SS Reasons");
    end = find(begin, ".SH THE TABLE");
    for (unsigned i = CGX_REASON_NONE + 1; i < CGX_REASONS; i++) {
        char row[LINE_BYTES];

        snprintf(row, sizeof row, "%s\t%s", cgx_reasons[i].name, cgx_reasons[i].text);
        ok(find(begin, row) < end, "the reason %s is explained", cgx_reasons[i].name);
    }
    for (size_t i = begin; i < end; i++)
        rows += strchr(lines[i], '\t') != NULL;
    ok(rows == CGX_REASONS - 1, "the page has no other reason");
}

/* Whether line I begins an item, after .TP, and its first word is NAME. */
static bool begins_with_word(size_t i, const char *name)
{
    const char *text = strchr(lines[i], ' ');
    size_t length = strlen(name);

    return i > 0 && strcmp(lines[i - 1], ".TP") == 0 && lines[i][0] == '.' && text != NULL &&
           strncmp(text + 1, name, length) == 0 && strchr("= ", text[1 + length]) != NULL;
}

/* Each of COUNT words has one item between two lines, and there is no other. */
static void test_words(const char *what, size_t begin, size_t end,
                       const char *(*word)(size_t index), size_t count)
{
    size_t items = 0;

    for (size_t index = 0; index < count; index++) {
        size_t found = 0;

        for (size_t i = begin; i < end; i++)
            found += begins_with_word(i, word(index));
        ok(found == 1, "%s %s has an item", what, word(index));
    }
    for (size_t i = begin; i < end; i++)
        items += strcmp(lines[i], ".TP") == 0;
    ok(items == count && count > 0, "there is no other item of a %s", what);
}

static const char *hint_key(size_t index)
{
    return cgx_hint_key((enum cgx_hint)index);
}

static void test_rules_and_hints(void)
{
    size_t rules, hints, words = 0;

    read_page("cgx-rules.5");
    rules = find(0, ".SH RULES");
    hints = find(rules, ".SH HINTS");
    while (cgx_rule_word(words) != NULL)
        words++;
    test_words("word of rules", rules, hints, cgx_rule_word, words);
    test_words("hint", hints, nlines, hint_key, CGX_HINTS);
}

int main(void)
{
    size_t begin, end;
    const struct cgx_setting *row;
    bool known = true;

    read_page("cgx-settings.7");
    begin = find(0, ".SH ENVIRONMENT");
    end = find(begin, ".SS Retired");
    if (end == nlines)
        bail_out("the sections of the page are not as expected");
    for (size_t i = 0; (row = cgx_settings_row(i)) != NULL; i++) {
        size_t item = find_item(begin, end, row->name);

        ok(item != 0, "%s is listed once", row->name);
        ok(item != 0 && item_says(item, "Values", row->values), "%s has the values of the table",
           row->name);
        ok(item != 0 && item_says(item, "Default", *row->initial == '\0' ? "unset" : row->initial),
           "%s has the default of the table", row->name);
    }
    for (size_t i = begin; i < end; i++)
        if (strcmp(lines[i], ".TP") == 0)
            known = is_row(lines[i + 1] + 3) && known;
    ok(known, "the page lists no other variable");
    test_reasons();
    test_rules_and_hints();
    return done_testing();
}
