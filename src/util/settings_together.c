/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

/* Values that are allowed each for itself, but not together. */

#include <stdio.h>

#include "util/settings_values.h"

/* Stochastic rounding has no grid of 1 bit. */
static const char *refuse_rounding(struct cgx_settings *settings)
{
    bool fixed = settings->bits == 1;
    bool chosen = settings->adaptive && cgx_settings_least(settings) == 1;

    if (settings->rounding != CGX_ROUNDING_STOCHASTIC || (!fixed && !chosen))
        return NULL;
    settings->rounding = CGX_ROUNDING_NEAREST;
    return fixed ? "CGX_ROUNDING=\"stochastic\" refused: allowed with "
                   "CGX_COMPRESSION_QUANTIZATION_BITS: 2-8, 32; every call is exact"
                 : "CGX_ROUNDING=\"stochastic\" refused: allowed with CGX_ADAPTIVE_BITS: MIN:MAX, "
                   "each 2-8; every call is exact";
}

/* The noise is measured where the inputs of all ranks come together: in a ring that is nowhere. */
static const char *refuse_budget(struct cgx_settings *settings)
{
    bool ring = settings->inner_reduction == CGX_REDUCTION_RING ||
                settings->cross_reduction == CGX_REDUCTION_RING;

    if (settings->adaptive_budget_kind != CGX_BUDGET_NOISE || !settings->adaptive || !ring)
        return NULL;
    settings->adaptive_budget_kind = CGX_BUDGET_ERROR;
    settings->adaptive_budget = 1;
    return "CGX_ADAPTIVE_BUDGET=\"noise:...\" refused: allowed with CGX_INNER_REDUCTION_TYPE, "
           "CGX_CROSS_REDUCTION_TYPE: SRA, for in a ring no rank has the inputs of all; every call "
           "is exact";
}

/* History is of max-min quantisation to the nearest, and what it leaves is no error that feedback
 * could use. */
static const char *refuse_history(struct cgx_settings *settings)
{
    if (!settings->history)
        return NULL;
    settings->history = false;
    if (settings->error_feedback)
        return "CGX_HISTORY=\"1\" refused: allowed with CGX_ERROR_FEEDBACK: 0; every call is exact";
    if (settings->rounding != CGX_ROUNDING_NEAREST)
        return "CGX_HISTORY=\"1\" refused: allowed with CGX_ROUNDING: nearest; every call is exact";
    if (settings->codec != CGX_FAMILY_MAXMIN && settings->codec != CGX_FAMILY_AUTO)
        return "CGX_HISTORY=\"1\" refused: allowed with CGX_CODEC: maxmin, auto; every call is "
               "exact";
    settings->history = true;
    return NULL;
}

bool cgx_settings_override(const struct cgx_settings *settings, char *message, size_t size)
{
    unsigned base = (unsigned)settings->bits;
    unsigned least = cgx_settings_least(settings), most = cgx_settings_most(settings);

    if (!settings->adaptive || base == CGX_BITS_EXACT || (base >= least && base <= most))
        return false;
    snprintf(message, size,
             "CGX_ADAPTIVE_BITS=%u:%u does not have CGX_COMPRESSION_QUANTIZATION_BITS=%u: calls "
             "begin with %u bits",
             least, most, base, base < least ? least : most);
    return true;
}

bool cgx_settings_together(struct cgx_settings *settings,
                           const char *messages[CGX_SETTINGS_TOGETHER])
{
    messages[0] = refuse_rounding(settings);
    messages[1] = refuse_budget(settings);
    messages[2] = refuse_history(settings);
    return !messages[0] && !messages[1] && !messages[2];
}
