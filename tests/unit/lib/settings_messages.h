/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

/* Settings of environments that tests make up, and what is said of them. */
#ifndef CGX_TESTS_SETTINGS_MESSAGES_H
#define CGX_TESTS_SETTINGS_MESSAGES_H

#include <stdio.h>
#include <string.h>

#include "lib/tap.h"
#include "util/log.h"
#include "util/settings.h"

struct messages {
    unsigned errors, warnings;
    char text[2048];
    const struct cgx_settings *settings;
    int log_level; /* in *settings when the first message came */
};

static inline void collect(void *context, int level, const char *message)
{
    struct messages *messages = context;

    if (messages->errors + messages->warnings == 0)
        messages->log_level = messages->settings->log_level;
    *(level == CGX_LOG_ERROR ? &messages->errors : &messages->warnings) += 1;
    strncat(messages->text, message, sizeof messages->text - strlen(messages->text) - 2);
    strcat(messages->text, "\n");
}

static struct messages messages;

/* ENTRIES: up to eight, one a line. */
static inline struct cgx_settings parse(const char *entries)
{
    static char copy[2048];
    char *environment[9] = {NULL};
    struct cgx_settings settings;
    size_t count = 0;

    memset(&settings, 0xA5, sizeof settings);
    memset(&messages, 0, sizeof messages);
    messages.settings = &settings;
    snprintf(copy, sizeof copy, "%s", entries);
    for (char *entry = strtok(copy, "\n"); entry != NULL; entry = strtok(NULL, "\n"))
        environment[count++] = entry;
    cgx_settings_parse(environment, collect, &messages, &settings);
    return settings;
}

static inline bool silent(void)
{
    return messages.errors + messages.warnings == 0;
}

#endif
