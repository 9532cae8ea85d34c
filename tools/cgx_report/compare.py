# SPDX-FileCopyrightText: the libcgxpmpi developers
# SPDX-License-Identifier: BSD-3-Clause

"""Two runs of one program beside each other: bytes and times of their large sums."""

import os

from . import units, words
from .stats import mean
from .terminal import Terminal

ROWS = 20
COLUMN = 22


def _names(paths):
    """What the columns are called."""
    names = [os.path.basename(path) or path for path in paths]
    if names[0] == names[1]:
        names = list(paths)
    names = ["".join(c if c.isprintable() else "?" for c in name) for name in names]
    if names[0] == names[1]:
        names = ["first", "second"]
    return [name if len(name) <= COLUMN else "…" + name[1 - COLUMN :] for name in names]


def _less(before, after):
    """ "2.5 × less"."""
    if not before or not after:
        return ""
    return f"{before / after:.2f} × less" if before >= after else f"{after / before:.2f} × more"


def _put_row(out, label, figures, note=""):
    out.lines.append(f"  {label:30} {figures[0]:>22} {figures[1]:>22}  {note}".rstrip())


def _put_values(out, label, values, unit):
    """VALUES: None where they are not known."""
    figures = [units.UNKNOWN if value is None else unit(value) for value in values]
    _put_row(out, label, figures, _less(*values))


def _mean(size):
    if not size:
        return None
    return mean(
        size.exact_seconds + size.compressed_seconds, size.exact + size.compressed
    )


def _put_sizes(out, runs):
    sizes = [{(one.elements, one.datatype): one for one in run.large.sizes} for run in runs]
    keys = list(sizes[0]) + [key for key in sizes[1] if key not in sizes[0]]
    out.title("A large sum took, on average")
    for key in keys[:ROWS]:
        _put_values(out, words.size(*key), [_mean(of.get(key)) for of in sizes], units.seconds)
    if len(keys) > ROWS:
        out.line(f"... and {len(keys) - ROWS} sizes of fewer bytes.", 2)
    if not set(sizes[0]) & set(sizes[1]):
        out.line("! The runs have no size in common: are they of one program?", 2)


def _verdict(runs, names):
    seconds = [run.large.seconds for run in runs]
    sent = [run.sent for run in runs]
    if not all(seconds) or not all(sent) or not all(run.seconds for run in runs):
        return "There is nothing to compare: a run has no large sums of more than one rank."
    parts = [f"large sums took {_times_less(seconds, names)}"]
    whole = _times_less([run.seconds for run in runs], names)
    parts.insert(0, f"from the first sum to the end a run took {whole}")
    few = 0 if sent[0] < sent[1] else 1
    parts.append(f"{names[few]} sent {sent[1 - few] / sent[few]:.2f} times fewer bytes")
    line = "; ".join(parts)
    return f"{line[0].upper()}{line[1:]}."


def _times_less(seconds, names):
    quick = 0 if seconds[0] < seconds[1] else 1
    return f"{seconds[1 - quick] / seconds[quick]:.2f} times less time in {names[quick]}"


def _advice(runs, names):
    """Where no run compressed, or the one that compressed more was slower."""
    more = 0 if runs[0].compressed_bytes > runs[1].compressed_bytes else 1
    if not runs[more].compressed_bytes:
        return "! Neither run compressed a sum. cgx-report of one of them alone says why."
    if runs[more].seconds <= runs[1 - more].seconds:
        return None
    return f"! Compression did not pay in {names[more]}. {words.WHEN_SLOWER}"


def compare(runs, paths, ascii_only=False):
    """RUNS: the statistics of two; PATHS: their files."""
    out = Terminal(ascii_only)
    names = _names(paths)
    out.line(_verdict(runs, names))
    advice = _advice(runs, names)
    if advice:
        out.line(advice)
    if runs[0].ranks != runs[1].ranks:
        out.line("! The runs have different numbers of ranks: only sums of equal ranks compare.")
    out.title("The runs")
    _put_row(out, "", names)
    _put_values(out, "from the first sum to the end", [run.seconds for run in runs], units.seconds)
    _put_row(out, "ranks", [units.count(run.ranks) for run in runs])
    _put_row(out, "large sums", [units.count(run.large.calls) for run in runs])
    _put_row(
        out,
        "compressed, of their bytes",
        [
            units.percent(run.large.compressed.bytes, run.large.compressed.bytes + run.large.exact.bytes)
            for run in runs
        ],
    )
    _put_values(out, "sent by the rank, in all", [run.sent for run in runs], units.size)
    _put_values(out, "large sums took, in all", [run.large.seconds for run in runs], units.seconds)
    _put_sizes(out, runs)
    for run, name in zip(runs, names):
        out.line(f"{name}: {words.source(run)}")
    out.line(
        "Of exact sums the bytes are those of a reduce-scatter and allgather; they are not measured."
    )
    return out.text()
