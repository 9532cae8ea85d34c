# SPDX-FileCopyrightText: the libcgxpmpi developers
# SPDX-License-Identifier: BSD-3-Clause

"""Plots of a timeline, as in plots.py."""

from . import units
from .plots import BAR, EDGE, ROW, _row
from .svg import Drawing, Scale, TEXT, axis_below, text_width
from .trace import STAGES

RANKS = 16
SLICES = 16


def _time_axis(drawing, scale, top, bottom, name):
    """In one unit for all ticks."""
    factor, unit = next(
        (
            (factor, unit)
            for factor, unit in ((1, "s"), (1e3, "ms"), (1e6, "µs"))
            if scale.most * factor >= 1
        ),
        (1e9, "ns"),
    )
    ticks = [(tick, f"{tick * factor:.6g} {unit}") for tick in scale.ticks(44)]
    axis_below(drawing, scale, ticks, top, bottom, name)


def _stacked(width, label, rows, name):
    """ROWS: a label, and seconds by stage."""
    drawing = Drawing(width, label)
    scale = Scale(max(sum(stages.values()) for _, stages in rows), EDGE, width - 2 * EDGE)
    _time_axis(drawing, scale, 0, ROW * len(rows), name)
    for number, (label, stages) in enumerate(rows):
        top = ROW * number
        _row(drawing, top, label, units.seconds(sum(stages.values())))
        before = 0
        for stage, seconds in stages.items():
            drawing.rect(
                scale(before),
                top + TEXT + 6,
                scale(before + seconds) - scale(before),
                BAR,
                STAGES[stage][1],
                f"{STAGES[stage][0]}: {units.seconds(seconds)}",
            )
            before += seconds
    return drawing


def stages(trace, width):
    """Time by stage, a bar for each rank."""
    there = trace.stages()
    rows = [
        (
            f"rank {rank.rank}, {units.counted(rank.compressed.events, 'call')}",
            {stage: rank.stages[stage].seconds for stage in there if stage in rank.stages},
        )
        for rank in trace.ranks
        if rank.stages
    ][:RANKS]
    return (
        _stacked(width, "Time by stage, rank by rank", rows, "time of all calls") if rows else None
    )


def slices(trace, width):
    """Mean time by stage, a bar for each slice."""
    numbers = sorted({number for number, _ in trace.slices})[:SLICES]
    rows = []
    for number in numbers:
        found = {
            stage: trace.slices[number, stage]
            for stage in STAGES
            if (number, stage) in trace.slices
        }
        rows.append(
            (
                f"slice {number}",
                {stage: kind.seconds / kind.events for stage, kind in found.items()},
            )
        )
    return (
        _stacked(width, "Mean time by stage, slice by slice", rows, "mean time in a call")
        if rows
        else None
    )


def example(trace, width):
    """One call: what each rank did when, in a row for each slot."""
    call = trace.example.call
    ranks = [rank for rank in trace.ranks if rank.spans]
    if not call or not ranks:
        return None
    begin = min(span.begin for rank in ranks for span in rank.spans)
    end = max(span.end for rank in ranks for span in rank.spans)
    drawing = Drawing(width, "One call: stages over time, rank by rank")
    left = EDGE + 48
    scale = Scale(end - begin, left, width - left - EDGE)
    slots = [(rank, slot) for rank in ranks for slot in sorted({span.slot for span in rank.spans})]
    row = BAR + 8
    tops = {}
    top = 0
    for rank, slot in slots:
        if slot == min(span.slot for span in rank.spans):
            drawing.text(EDGE, top + TEXT, f"rank {rank.rank}")
            top += TEXT + 4
        tops[rank.rank, slot] = top
        drawing.text(EDGE, top + TEXT, f"slot {slot}", "muted")
        top += row
    _time_axis(drawing, scale, 0, top + 4, "time from the first work of the call")
    for rank in ranks:
        for span in rank.spans:
            x = scale(span.begin - begin)
            length = scale(span.end - begin) - x
            drawing.rect(
                x,
                tops[rank.rank, span.slot],
                length,
                BAR,
                STAGES[span.stage][1],
                f"slice {span.slice}, {STAGES[span.stage][0]}: "
                f"{units.seconds(span.end - span.begin)}",
            )
            if length > text_width(str(span.slice)) + 6 and STAGES[span.stage][1] != "wait":
                drawing.text(
                    x + length / 2,
                    tops[rank.rank, span.slot] + 11,
                    str(span.slice),
                    f"on-{STAGES[span.stage][1]}",
                    "middle",
                )
    return drawing
