/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

/* Any environment, a variable a line: settings are complete and within their ranges or refused with
 * a message, which has no control characters in it, and the same each time. */
#include "util/settings.h"
#include "fuzz/fuzz.h"
#include "util/log.h"

#define VARIABLES 64

struct heard {
    unsigned errors, warnings;
};

static void hear(void *context, int level, const char *message)
{
    struct heard *heard = context;

    heard->errors += level == CGX_LOG_ERROR;
    heard->warnings += level == CGX_LOG_WARN;
    for (; *message != '\0'; message++)
        fuzz_require((unsigned char)*message >= ' ' && *message != 0x7F,
                     "messages have no control characters");
}

static bool is_known(const char *line)
{
    size_t length = strcspn(line, "=");
    const struct cgx_setting *setting;

    for (size_t i = 0; (setting = cgx_settings_row(i)) != NULL; i++)
        if (strlen(setting->name) == length && memcmp(line, setting->name, length) == 0)
            return true;
    return false;
}

/* Whether LINE is left out: a file that is named is not to be read here. */
static bool is_left_out(const char *line, bool explains)
{
    if (strncmp(line, "CGX_RULES=", strlen("CGX_RULES=")) == 0)
        return true;
    return !explains && strncmp(line, "CGX_", strlen("CGX_")) == 0 && !is_known(line);
}

/* TEXT becomes lines, with names to explain or without them. */
static void split(char *text, bool explains, char *environment[VARIABLES + 1])
{
    size_t count = 0;
    char *rest = text;

    for (char *line; count < VARIABLES && (line = strsep(&rest, "\n")) != NULL;)
        if (!is_left_out(line, explains))
            environment[count++] = line;
    environment[count] = NULL;
}

static void check(const struct cgx_settings *settings)
{
    fuzz_require(settings->bits >= 1 && settings->bits <= 8, "the width is one");
    fuzz_require(memchr(settings->stats_path, 0, sizeof settings->stats_path) &&
                     memchr(settings->trace_path, 0, sizeof settings->trace_path),
                 "paths end");
}

static void check_again(char *const environment[], const struct cgx_settings *settings,
                        const struct heard *heard)
{
    struct cgx_settings again;
    struct heard once_more = {0};

    cgx_settings_parse(environment, hear, &once_more, &again);
    fuzz_require(memcmp(settings, &again, sizeof again) == 0 &&
                     memcmp(heard, &once_more, sizeof once_more) == 0,
                 "the same is said of the same");
}

/* Names that are not known take most time, since each is compared with all that are: they
 * have every fourth input. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char *text = malloc(size + 1), *environment[VARIABLES + 1];
    struct cgx_settings settings;
    uint32_t words[CGX_SETTINGS_WORDS];
    struct heard heard = {0};

    fuzz_require(text != NULL, "there is memory");
    memcpy(text, data, size);
    text[size] = '\0';
    split(text, fuzz_has_turn(data, size, 1, 4), environment);
    cgx_settings_parse(environment, hear, &heard, &settings);
    if (fuzz_has_turn(data, size, 0, 4))
        check_again(environment, &settings, &heard);
    fuzz_require(settings.valid == (heard.errors == 0), "what is refused has a message");
    check(&settings);
    cgx_settings_words(&settings, words);
    fuzz_require(words[0] == !settings.valid, "ranks compare whether all is accepted");
    free(text);
    return 0;
}
