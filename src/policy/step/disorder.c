/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

#include "policy/step/disorder.h"

#include <stddef.h>

#include "policy/step/sums.h"

/* Numbers of repeats make layers predictable: a stack of layers ends at the same length every time.
 */
static uint64_t hash_context(const struct cgx_disorder *disorder)
{
    return cgx_scramble(disorder->last * 37 + disorder->repeated_last +
                        cgx_scramble(disorder->before * 31 + disorder->repeated_before));
}

static void advance(struct cgx_disorder *disorder, uint64_t key)
{
    if (key == disorder->last) {
        disorder->repeated_last++;
        return;
    }
    disorder->before = disorder->last;
    disorder->repeated_before = disorder->repeated_last;
    disorder->last = key;
    disorder->repeated_last = 1;
}

void cgx_disorder_take(struct cgx_disorder *disorder, uint64_t key, bool known)
{
    uint64_t context = hash_context(disorder);
    size_t place = context % CGX_DISORDER_CONTEXTS;
    uint16_t check = (uint16_t)(context >> 48), next = (uint16_t)(cgx_scramble(key) >> 48 | 1);
    bool predicted, right;

    if (!known) {
        disorder->novel = true;
        return;
    }
    predicted = disorder->seen[place].check == check && disorder->seen[place].next != 0;
    right = predicted && disorder->seen[place].next == next;
    if (right)
        disorder->off_step += disorder->novel;
    else if (predicted || key != disorder->last)
        disorder->mistakes++;
    disorder->novel = false;
    disorder->seen[place].check = check;
    disorder->seen[place].next = next;
    advance(disorder, key);
}
