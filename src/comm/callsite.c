/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

#include "comm/callsite.h"

#include <stdlib.h>

#define FIRST_DECLINED 4
#define MOST_DECLINED (UINT32_MAX / 2)
#define FIRST_BLOCKED 10
#define MOST_BLOCKED 100
#define FIRST_UNKNOWN 1
#define MOST_UNKNOWN 100
#define HELD_ENOUGH 3

/* Enters STATE; the next window is a new one. */
static void enter(struct cgx_callsite *site, enum cgx_site_state state)
{
    site->state = state;
    site->held = 0;
    cgx_window_clear(&site->window);
    if (state == CGX_SITE_COMPRESSED)
        return;
    cgx_site_history_forget(&site->history);
    site->step_size = (struct cgx_step_size){.mean = 0};
}

static void agree(struct cgx_callsite *site)
{
    site->unknown.wait = 0;
    enter(site, CGX_SITE_COMPRESSED);
}

static void decline(struct cgx_callsite *site, enum cgx_reason reason)
{
    site->reason = reason == CGX_REASON_NONE ? CGX_REASON_OTHER_RANK : reason;
    cgx_backoff_fail(&site->declined, FIRST_DECLINED, MOST_DECLINED);
    enter(site, CGX_SITE_DECLINED);
}

/* Takes the verdict on a window of exact calls. */
static void judge(struct cgx_callsite *site, enum cgx_look look)
{
    site->clear = look == CGX_LOOK_GRADIENT;
    if (site->clear) {
        site->suspect = false;
        agree(site);
    } else if (cgx_look_is_state(look)) {
        cgx_backoff_fail(&site->blocked, FIRST_BLOCKED, MOST_BLOCKED);
        enter(site, CGX_SITE_BLOCKED);
    } else {
        cgx_backoff_fail(&site->unknown, FIRST_UNKNOWN, MOST_UNKNOWN);
        cgx_window_clear(&site->window);
    }
}

/* Takes a compressed call that was done again. What it sums now may be of another size. */
static void hold(struct cgx_callsite *site)
{
    if (site->state != CGX_SITE_COMPRESSED || ++site->held < HELD_ENOUGH)
        return;
    site->clear = false;
    site->suspect = true;
    site->inputs.sizes = (struct cgx_sizes){.count = 0};
    enter(site, CGX_SITE_NEW);
}

void cgx_callsite_note(struct cgx_callsite *site, const struct cgx_site_note *note)
{
    site->pending = note->event == CGX_EVENT_LOOKED && cgx_window_ends(&site->window);
    switch (note->event) {
    case CGX_EVENT_AGREED:
        agree(site);
        break;
    case CGX_EVENT_DECLINED:
        decline(site, note->reason);
        break;
    case CGX_EVENT_JUDGED:
        judge(site, note->look);
        break;
    case CGX_EVENT_RAN:
        site->held = 0;
        site->runs++;
        break;
    case CGX_EVENT_HELD:
        hold(site);
        break;
    default:
        break;
    }
    if (site->state <= CGX_SITE_LOOKED_AT)
        site->state = site->window.looks > 0 ? CGX_SITE_LOOKED_AT : CGX_SITE_NEW;
}

bool cgx_callsite_due(struct cgx_callsite *site)
{
    return cgx_backoff_due(&site->declined) && cgx_backoff_due(&site->blocked) &&
           cgx_backoff_due(&site->unknown);
}

void cgx_callsite_drop(struct cgx_callsite *site)
{
    cgx_site_history_forget(&site->history);
    cgx_window_clear(&site->window);
    free(site->inputs.kept);
    *site = (struct cgx_callsite){.used = false};
}
