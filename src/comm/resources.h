/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

/* What compressed calls need: where ranks are, a private communicator, memory, backends, and
 * connections between local peers. All ranks get it, or none. */
#ifndef CGX_COMM_RESOURCES_H
#define CGX_COMM_RESOURCES_H

#include "comm/connect.h"

/* What ranks say about a call. */
struct cgx_answer {
    enum cgx_vote vote;            /* the worst counts */
    uint32_t data[CGX_LOOK_WORDS]; /* of the data; the least of each word counts */
};

/* Whether what SITE's calls need is there, which its served then says. */
bool cgx_resources_suffice(struct cgx_comm *state, struct cgx_callsite *site);

/* What this rank can do with CAPABILITY, and its element type, in words of a ballot; and the joint
 * vote.
 */
#define CGX_VOTE_WORDS 3
void cgx_resources_vote(const struct cgx_callsite *site, const struct cgx_capability *capability,
                        uint32_t *words);
enum cgx_vote cgx_resources_joint(const uint32_t *words);

/* Gets what SITE's calls need and, unless a rank could not have that before, those of the other
 * sites of the step. *ALL, this rank's data, becomes the joint answer; CAPABILITY, this rank's,
 * gets its backends, or the reason why it or all ranks cannot compress. Ranks meet in up to three
 * ballots: to say what they lack (OFFER), whether they have it then (HAVE), and whether local peers
 * reach each other (REACHED). Returns the code of the communicator's error handler. */
int cgx_resources_get(struct cgx_comm *state, struct cgx_callsite *site,
                      struct cgx_capability *capability, struct cgx_answer *all);

#endif
