/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

#include "comm/ballot.h"
#include "mpi/config.h"
#include "util/integers.h"
#include "util/pages.h"

/* What is known of the sums of one count and type from a position of the step before. */
struct remembered {
    uint64_t count;
    enum cgx_type_class type;
    bool clear;
};

struct cgx_callsites {
    size_t unplaced_end;                        /* number of sites without a position: */
    uint64_t words[CGX_CALLSITES_UNPLACED];     /* cgx_callsite_word of each */
    uint64_t looked_up[CGX_CALLSITES_UNPLACED]; /* and the number of its last look-up */
    uint64_t look_ups;                          /* so far */
    struct cgx_callsite unplaced[CGX_CALLSITES_UNPLACED];
    struct cgx_callsite once;                     /* the last sum that did not recur */
    uint64_t generation;                          /* of positions */
    size_t placed_end;                            /* one past the last of them that was looked up */
    struct cgx_callsite placed[CGX_STEP_LONGEST]; /* by position */
    size_t remembered;                            /* number of: */
    struct remembered before[CGX_STEP_LONGEST];
    struct cgx_worth worth[CGX_KINDS][CGX_WORTH_CLASSES];
    uint32_t votes[CGX_BALLOT_WORDS + CGX_LOOK_WORDS * CGX_STEP_LONGEST];
};

struct cgx_callsites *cgx_callsites_create(void)
{
    return cgx_sparse_map(sizeof(struct cgx_callsites));
}

static void clear_placed(struct cgx_callsites *table)
{
    for (size_t i = 0; i < table->placed_end; i++)
        cgx_callsite_drop(&table->placed[i]);
    table->placed_end = table->remembered = 0;
}

void cgx_callsites_clear(struct cgx_callsites *table)
{
    for (size_t i = 0; i < table->unplaced_end; i++)
        cgx_callsite_drop(&table->unplaced[i]);
    table->unplaced_end = 0;
    clear_placed(table);
}

void cgx_callsites_free(struct cgx_callsites *table)
{
    if (!table)
        return;
    cgx_callsites_clear(table);
    cgx_sparse_unmap(table, sizeof *table);
}

/* ---- look-up ---- */

/* What is known of the times of sums of KEY's size and type; NULL if no times decide about them,
 * since the user has said which ones are compressed: by a least size, or by OVERRIDE's bits. */
static struct cgx_worth *worth_of(const struct cgx_comm *state, const struct cgx_callsite_key *key,
                                  const struct cgx_override *override)
{
    const struct cgx_settings *settings = cgx_config();

    if (!(settings->minimal & CGX_MINIMAL_AUTO) || settings->enable == CGX_ENABLE_OBSERVE ||
        override->bits > 0)
        return NULL;
    return &state->callsites->worth[key->type][cgx_worth_class(key->count)];
}

/* Sets in SITE what rules and hints say about its calls, which then need another schedule, and
 * perhaps more. */
static void evaluate_override(const struct cgx_comm *state, struct cgx_callsite *site)
{
    struct cgx_callsite_key *key = &site->key;
    const struct cgx_rules_call about = {
        .count = key->count,
        .dtype = cgx_type_dtype(key->type),
        .communicator = state->terms.name,
        .position = key->position == CGX_POSITION_NONE ? UINT64_MAX : key->position};
    const struct cgx_override set = cgx_rules_override(cgx_config_rules(), &about);
    struct cgx_override *override = &site->override;

    *override = cgx_override_merge(&state->terms.hints, &set, about.count);
    site->hints = state->terms.taken;
    site->schedule.slices = 0;
    site->refusal = CGX_REASON_NONE;
    site->dtype = about.dtype;
    site->worth = worth_of(state, key, override);
    key->rule = override->rule;
    if (override->bits == CGX_BITS_EXACT)
        site->refusal = override->rule ? CGX_REASON_RULE : CGX_REASON_HINT;
    else if (key->type == CGX_TYPE_OPAQUE16 && !override->op)
        site->refusal = CGX_REASON_UNKNOWN_SUM;
    else if (key->type == CGX_TYPE_OPAQUE16)
        site->dtype = override->op;
}

static bool is_site(const struct cgx_callsite *site, const struct cgx_callsite_key *key)
{
    return site->key.count == key->count && site->key.type == key->type;
}

/* Whether looks at SITE's sums have come to an end. */
static bool is_judged(const struct cgx_callsite *site)
{
    return site->shared.clear || site->shared.state == CGX_SITE_BLOCKED;
}

/* Forgets the sites of a step with other positions, but for what was seen of their sums. */
static void leave_step(struct cgx_callsites *table)
{
    size_t remembered = 0;

    for (size_t i = 0; i < table->placed_end; i++) {
        const struct cgx_callsite *site = &table->placed[i];

        if (is_judged(site))
            table->before[remembered++] =
                (struct remembered){site->key.count, site->key.type, site->shared.clear};
    }
    clear_placed(table);
    table->remembered = remembered;
}

/* Whether sums of KEY's count and type were seen, and all of them were gradients. Where positions
 * change their meaning, they need no looks again. */
static bool were_gradients(const struct cgx_callsites *table, const struct cgx_callsite_key *key)
{
    bool seen = false;

    for (size_t i = 0; i < table->remembered; i++) {
        const struct remembered *before = &table->before[i];

        if (before->count != key->count || before->type != key->type)
            continue;
        if (!before->clear)
            return false;
        seen = true;
    }
    for (size_t i = 0; i < table->unplaced_end; i++) {
        const struct cgx_callsite *site = &table->unplaced[i];

        if (!is_site(site, key) || !is_judged(site))
            continue;
        if (!site->shared.clear)
            return false;
        seen = true;
    }
    return seen;
}

static struct cgx_callsite *place_of(struct cgx_callsites *table, size_t position,
                                     uint64_t generation)
{
    if (table->generation != generation)
        leave_step(table);
    table->generation = generation;
    table->placed_end = cgx_larger(table->placed_end, position + 1);
    return &table->placed[position];
}

static size_t least_recent(const struct cgx_callsites *table)
{
    size_t place = 0;

    for (size_t i = 1; i < CGX_CALLSITES_UNPLACED; i++)
        if (table->looked_up[i] < table->looked_up[place])
            place = i;
    return place;
}

/* The place of KEY's site; if it has none, a free one or else the least recently used, whose site
 * the caller must drop. */
static struct cgx_callsite *unplaced_of(struct cgx_callsites *table,
                                        const struct cgx_callsite_key *key, bool *is_new)
{
    const uint64_t word = cgx_callsite_word(key->count, key->type);
    size_t place = 0;

    while (place < table->unplaced_end && table->words[place] != word)
        place++;
    *is_new = place == table->unplaced_end;
    if (*is_new && place == CGX_CALLSITES_UNPLACED)
        place = least_recent(table);
    else if (*is_new)
        table->unplaced_end++;
    table->words[place] = word;
    table->looked_up[place] = ++table->look_ups;
    return &table->unplaced[place];
}

struct cgx_callsite *cgx_callsites_find(struct cgx_comm *state, const struct cgx_callsite_key *key,
                                        bool recurs)
{
    struct cgx_callsites *table = state->callsites;
    struct cgx_callsite *site;
    bool is_new;

    if (!recurs) {
        table->once = (struct cgx_callsite){.key = *key};
        evaluate_override(state, &table->once);
        if (table->once.override.recurs != CGX_RECURS_ALWAYS)
            return &table->once;
    }
    if (key->position != CGX_POSITION_NONE) {
        site = place_of(table, key->position, state->stream.recurrence->pattern.generation);
        is_new = !is_site(site, key);
    } else {
        site = unplaced_of(table, key, &is_new);
    }
    if (is_new) {
        cgx_callsite_drop(site);
        *site = (struct cgx_callsite){.key = *key,
                                      .shared.clear = key->position != CGX_POSITION_NONE &&
                                                      were_gradients(table, key)};
    }
    if (is_new || site->hints != state->terms.taken)
        evaluate_override(state, site);
    return site;
}

struct cgx_callsite *cgx_callsites_next(struct cgx_callsites *table, struct cgx_callsite *site)
{
    struct cgx_callsite *end = table->placed + table->placed_end;

    for (site = site ? site + 1 : table->placed; site < end; site++)
        if (site->key.count > 0)
            return site;
    return NULL;
}

uint32_t *cgx_callsites_words(struct cgx_callsites *table)
{
    return table->votes;
}

/* ---- plans and schedules ---- */

static struct cgx_schedule schedule_of(const struct cgx_comm *state,
                                       const struct cgx_override *override, enum cgx_dtype dtype,
                                       uint64_t count)
{
    const struct cgx_plan plan = cgx_plan_of(cgx_config(), override, dtype, (size_t)count);

    return cgx_coll_schedule(&plan, &state->scheme, cgx_config()->fusion_buffer_bytes);
}

const struct cgx_schedule *cgx_callsites_schedule(struct cgx_comm *state, struct cgx_callsite *site)
{
    /* The layers of the last override belong to hints that may have been freed. */
    if (site->hints != state->terms.taken)
        evaluate_override(state, site);
    /* Schedules are stale that were made before the network was found to be slower. */
    if (site->schedule.slices == 0 ||
        site->schedule.network.local_byte_ps != state->scheme.network.local_byte_ps)
        site->schedule = schedule_of(state, &site->override, site->dtype, site->key.count);
    return &site->schedule;
}

void cgx_callsites_add_needs(const struct cgx_comm *state, const struct cgx_override *override,
                             enum cgx_dtype dtype, uint64_t count, struct cgx_needs *needs)
{
    const struct cgx_needs more = schedule_of(state, override, dtype, count).needs;

    *needs = cgx_needs_most(needs, &more);
}

void cgx_callsites_add_step(const struct cgx_comm *state, struct cgx_needs *needs)
{
    const struct cgx_recurrence *recurrence = state->stream.recurrence;

    for (size_t i = 0; i < recurrence->pattern.length; i++) {
        struct cgx_callsite site = {.key = cgx_recurrence_expects(recurrence, i)};

        evaluate_override(state, &site);
        if (!site.refusal)
            cgx_callsites_add_needs(state, &site.override, site.dtype, site.key.count, needs);
    }
}
