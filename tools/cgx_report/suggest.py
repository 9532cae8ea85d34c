# SPDX-FileCopyrightText: the libcgxpmpi developers
# SPDX-License-Identifier: BSD-3-Clause

"""The rules that a program wants (cgx-rules(5)), from what its large sums were exact for."""

import collections

from . import units
from .reasons import reason

# Sums that come as often are of a step; fewer may be those that begin a program.
OFTEN = 4

# What a rule says of sums that were exact for a reason, if they are gradients.
RULES = {
    "not_recurring": "recurs=always",
    "stray": "recurs=always",
    "held": "consensus=off",
    "unknown_sum": "op=float16",
}

_RECURS = ("not_recurring", "stray")
_MEANT = ("rule", "hint", "enable", "hint_enable", "observed")
_BEGINNING = ("first", "looked_at")
_IF = {"held": "they are gradients", "unknown_sum": "it sums float16"}
_TYPES = ("float32", "float16", "bfloat16")


def _compressed(stats):
    calls = collections.Counter()
    for layer in stats.layers:
        calls[layer.elements, layer.datatype] += layer.compressed
    return calls


def _exact(stats, reasons):
    """Calls of exact sums for one of REASONS, by elements and datatype; the largest first."""
    calls = collections.Counter()
    for kind in stats.large.kinds:
        if kind.reason in reasons:
            calls[kind.elements, kind.datatype] += kind.calls
    return dict(sorted(calls.items(), reverse=True))


def condition(elements, datatype, all_sums):
    """That of a rule for sums of ELEMENTS of DATATYPE; ALL_SUMS are pairs of these."""
    types = {other for count, other in all_sums if count == elements}
    return f"count={elements}" + (f" type={datatype.replace('two bytes', 'float16')}" if len(types) > 1 else "")


def _step(stats, often):
    """How many large sums a step has if the sums OFTEN are all of it, and each comes as often in each
    step; None where their numbers do not say so."""
    if len(stats.communicators) != 1 or stats.communicators[0].positions or not often:
        return None
    steps = min(often.values())
    times = [round(calls / steps) for calls in often.values()]
    if any(abs(calls - n * steps) > n for calls, n in zip(often.values(), times)):
        return None
    return sum(times) if sum(times) <= 4096 else None


def _recurring(stats, lines):
    compressed = _compressed(stats)
    exact = _exact(stats, _RECURS)
    often = {
        key: calls
        for key, calls in exact.items()
        if calls >= OFTEN and calls > compressed[key] and key[1] in _TYPES
    }
    if not often:
        return False
    lines.append("# These sums came again and again. Delete those that are no gradients.")
    for (elements, datatype), calls in often.items():
        where = condition(elements, datatype, exact)
        lines.append(f"{where} -> {RULES['stray']}  # {units.counted(calls, 'exact sum')}")
    step = _step(stats, often)
    if step:
        lines += [
            f"# If these are all the large sums of a step, {step} in each, this line in their place",
            "# gives each sum its place in the step as well, and with it a history of its own:",
            f"# -> step={step}",
        ]
    return True


def is_slower(layer):
    """Whether the sums of LAYER, which were observed, take longer compressed."""
    return 0 < layer.plain_time < layer.time


def _slower(stats, lines):
    slower = [one for one in stats.layers if stats.observe and is_slower(one)]
    if not slower:
        return
    sums = [(one.elements, one.datatype) for one in stats.layers]
    lines.append("# On this network these sums took longer compressed:")
    rules = {condition(one.elements, one.datatype, sums): None for one in slower}
    lines += [f"# {rule} -> exact" for rule in rules]


def _perhaps(stats, lines):
    for name, what in _IF.items():
        sums = _exact(stats, (name,))
        if sums:
            lines.append(f"# {reason(name).meaning} If {what}:")
            lines += [f"# {condition(*key, sums)} -> {RULES[name]}" for key in sums]


def _others(stats, lines):
    """Reasons that no rule changes, with the calls that have them."""
    calls = collections.Counter()
    for kind in stats.large.kinds:
        if kind.reason not in _RECURS + _MEANT + _BEGINNING + tuple(_IF):
            calls[kind.reason] += kind.calls
    for name, count in calls.most_common():
        lines += [
            f"# No rule changes this: {units.counted(count, 'large sum')} exact: {reason(name).meaning}",
            f"#     {reason(name).advice}",
        ]


def suggest(stats, name):
    """A file of rules; NAME is that of the statistics."""
    lines = [f"# Rules for libcgxpmpi, from {name}: cgxrun --rules FILE, or CGX_RULES=FILE"]
    has_rules = _recurring(stats, lines)
    _perhaps(stats, lines)
    _slower(stats, lines)
    _others(stats, lines)
    if not has_rules:
        lines.append("# No large sum that came again and again was left out: no rule is needed.")
    return "\n".join(lines) + "\n"
