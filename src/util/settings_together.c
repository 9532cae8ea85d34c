/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

/* Values that are allowed alone, but not together. The table of pairs in cgx-settings(7) is the
 * same. */
#include "util/settings.h"

#include <stdio.h>

static bool has_feedback_and_history(const struct cgx_settings *settings)
{
    return settings->history == CGX_HISTORY_ALWAYS && settings->error_feedback;
}

static void drop_history(struct cgx_settings *settings)
{
    settings->history = CGX_HISTORY_NEVER;
}

static bool has_feedback_and_uniform(const struct cgx_settings *settings)
{
    return settings->codec == CGX_FAMILY_UNIFORM && settings->error_feedback;
}

static void drop_feedback(struct cgx_settings *settings)
{
    settings->error_feedback = false;
}

static const struct row {
    struct cgx_settings_pair about;
    bool (*excludes)(const struct cgx_settings *settings);
    void (*drop)(struct cgx_settings *settings);
} rows[CGX_SETTINGS_PAIRS] = {
    {{"CGX_HISTORY", "1", "CGX_ERROR_FEEDBACK", "0"}, has_feedback_and_history, drop_history},
    {{"CGX_ERROR_FEEDBACK", "1", "CGX_CODEC", "maxmin, rotated, auto"},
     has_feedback_and_uniform,
     drop_feedback},
};

const struct cgx_settings_pair *cgx_settings_pair(size_t index)
{
    return index < CGX_SETTINGS_PAIRS ? &rows[index].about : NULL;
}

bool cgx_settings_together(struct cgx_settings *settings, bool refused[CGX_SETTINGS_PAIRS])
{
    bool any = false;

    for (size_t i = 0; i < CGX_SETTINGS_PAIRS; i++) {
        refused[i] = rows[i].excludes(settings);
        if (refused[i])
            rows[i].drop(settings);
        any = any || refused[i];
    }
    return !any;
}

bool cgx_settings_override(const struct cgx_settings *settings, const char *bits, char *message,
                           size_t size)
{
    unsigned base = settings->bits;
    unsigned least = cgx_settings_least(settings), most = cgx_settings_most(settings);

    if (!settings->adaptive || (base >= least && base <= most))
        return false;
    snprintf(message, size, "CGX_ADAPTIVE=bits=%u:%u excludes %s=%u: calls begin with %u bits",
             least, most, bits, base, base < least ? least : most);
    return true;
}
