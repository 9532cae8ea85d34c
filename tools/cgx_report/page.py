# SPDX-FileCopyrightText: the libcgxpmpi developers
# SPDX-License-Identifier: BSD-3-Clause

"""The report as one page of HTML: nothing is loaded from elsewhere, and nothing is run."""

import html
import re

from . import observed, plots, units, words
from .stats import mean
from .reasons import reason
from .style import style
from .trace import STAGES

# Widths of the two drawings of each plot, for narrow and wide windows; the style sheet shows one.
NARROW, WIDE = 360, 860


def _p(text, kind=""):
    style_of = f' class="{kind}"' if kind else ""
    return f"<p{style_of}>{html.escape(text)}</p>"


def _figure(name, draw, of, otherwise=""):
    """The plot that DRAW makes, or a line on why there is none."""
    drawings = [
        (draw(of, width), style_of) for width, style_of in ((NARROW, "narrow"), (WIDE, "wide"))
    ]
    if drawings[0][0] is None:
        return _p(otherwise, "note") if otherwise else ""
    return (
        f'<figure id="{name}">'
        + "".join(drawing.markup(style_of) for drawing, style_of in drawings)
        + "</figure>"
    )


def _whole_options(text):
    """TEXT as HTML, with no line broken inside an option."""
    return re.sub(r"--[a-z]+", r"<span>\g<0></span>", html.escape(text))


def _legend(entries):
    """ENTRIES: classes of a key, and what it stands for."""
    return (
        '<ul class="legend">'
        + "".join(
            f'<li><span class="key {kind}"></span>{html.escape(name)}</li>'
            for kind, name in entries
        )
        + "</ul>"
    )


def _details(name, head, rows):
    """A table that is folded away; columns but for the first are numbers."""

    def cells(row, tag):
        return "".join(
            f'<{tag}{" class=number" if number else ""}>{html.escape(cell)}</{tag}>'
            for number, cell in enumerate(row)
        )

    body = "".join(f"<tr>{cells(row, 'td')}</tr>" for row in rows)
    return (
        f'<details><summary>{html.escape(name)}</summary><div class="scroll"><table><thead>'
        f"<tr>{cells(head, 'th')}</tr></thead><tbody>{body}</tbody></table></div></details>"
    )


# ---- statistics ----


def _tiles(stats, trace):
    tiles = []
    if stats and stats.summed_bytes:
        tiles.append(
            (
                units.percent(stats.compressed_bytes, stats.summed_bytes),
                "of the bytes that were summed were compressed",
            )
        )
    if stats and stats.bytes.sent and stats.bytes.plain:
        tiles.append(
            (f"{stats.bytes.plain / stats.bytes.sent:.1f} ×", "fewer bytes sent for these")
        )
        tiles.append((units.size(stats.bytes.plain - stats.bytes.sent), "saved by this rank"))
    if trace:
        seconds = sum(rank.compressed.seconds for rank in trace.ranks) / max(1, len(trace.ranks))
        tiles.append((units.seconds(seconds), "in compressed calls, on average of the ranks"))
    return (
        (
            '<dl class="tiles">'
            + "".join(
                f"<div><dd>{html.escape(figure)}</dd><dt>{html.escape(what)}</dt></div>"
                for figure, what in tiles
            )
            + "</dl>"
        )
        if tiles
        else ""
    )


def _calls(stats):
    parts = [
        "<h2>What was compressed, and what was not</h2>",
        _p(
            "libcgxpmpi compresses the large sums that come back in every step, as gradients do, and "
            "leaves all others exact. Each bar is a part of what went through MPI_Allreduce.",
            "note",
        ),
        _figure("calls", plots.calls, stats, "No data was summed."),
    ]
    parts += [_p(line, "note") for line in words.on_data(stats)]
    if stats.exact:
        parts.append("<h2>Why calls were exact, and what to do</h2><dl class='reasons'>")
    for one in stats.exact:
        figures = (
            f"{units.counted(one.calls, 'call')}, {units.size(one.units)}, "
            f"{units.percent(one.units, stats.summed_bytes)} of all"
        )
        parts.append(
            f"<dt><code>{html.escape(one.reason)}</code>: {html.escape(reason(one.reason).meaning)} "
            f"<span>{figures}</span></dt><dd>{_whole_options(reason(one.reason).advice)}</dd>"
        )
    if stats.exact:
        parts.append("</dl>")
    return parts


def _exact_sums(stats):
    if not stats.large.kinds:
        return []
    return [
        _details(
            "Large sums that were exact: for rules, see cgx-report --suggest",
            ("elements", "calls", "why, and where", "time of one"),
            [
                (
                    words.size(kind.elements, kind.datatype),
                    units.count(kind.calls),
                    words.exact_kind(kind),
                    units.seconds(mean(kind.seconds, kind.calls) or 0),
                )
                for kind in stats.large.kinds
            ],
        )
    ]


def _observed(stats):
    parts = ["<h2>What compression would do, in a call on average</h2>"]
    sums = observed.sums(stats)
    keys, several = observed.keys(sums), words.has_several(stats.layers)
    for one in sums:
        table = observed.rows(one.layer) if one.layer else []
        parts.append(f"<h3>{html.escape(observed.title(one, several))}</h3>")
        parts += [_p(line) for line in observed.remarks(stats, one, keys)]
        if table:
            parts.append(
                _details("At each width", observed.HEAD, [observed.cells(row, table[0]) for row in table])
            )
    return [*parts, _p(observed.MEANING, "note")]


def _speed(stats):
    """Exact and compressed sums of each size."""
    if not stats.large.compressed.calls:
        return []
    parts = ["<h2>Time of large sums, exact and compressed</h2>", _p(words.speed(stats.large))]
    if stats.large.compared:
        rows = [
            (
                words.size(one.elements, one.datatype),
                units.count(one.exact),
                units.seconds(one.exact_median),
                units.count(one.compressed),
                units.seconds(one.compressed_median),
            )
            for one in stats.large.compared
        ]
        heads = ("elements", "exact calls", "an exact one", "compressed calls", "a compressed one")
        parts.append(_details("All sizes in figures", heads, rows))
    return parts


def _bytes(stats):
    if not stats.bytes.plain:
        return []
    return [
        "<h2>Bytes</h2>",
        _p("What this rank sent in compressed calls, beside what it would have sent.", "note"),
        _legend(
            (
                ("compressed", "sent"),
                ("plain", "uncompressed it would have been"),
            )
        ),
        _figure("bytes", plots.bytes_sent, stats),
    ]


def _layers(stats):
    parts = ["<h2>Layers</h2>"]
    if not stats.layers:
        return parts + [_p(words.NO_LAYERS, "note")]
    parts += [
        _p(f"{one.name}, {units.counted(one.ranks, 'rank')}: {words.step(one)}", "note")
        for one in stats.communicators
        if one.layers
    ]
    several = words.has_several(stats.layers)
    heads = ("layer", "calls", "bits", "error", "of the bytes", "sent", "uncompressed", "seconds")
    rows = [
        (
            words.layer(layer, several),
            units.count(layer.compressed),
            units.bits(layer.bits),
            units.ratio(layer.error),
            words.share(stats, layer),
            units.size(layer.bytes.sent),
            units.size(layer.bytes.plain),
            f"{layer.seconds:.3g}",
        )
        for layer in stats.layers
    ]
    if any(layer.error is not None for layer in stats.layers):
        parts.append(_p(words.ERROR, "note"))
    return [*parts, _details("All layers in figures", heads, rows)]


# ---- the timeline ----


def _times(trace):
    parts = ["<h2>Time by stage and slice</h2>", _p(words.trace_source(trace), "note")]
    there = trace.stages()
    if not there:
        return parts + [_p("There are no compressed calls in the timeline.", "note")]
    parts += [
        _p(
            "Large calls go in slices, two at a time, so that stages may add up to more than the "
            "calls. A long reduce-scatter on one rank waits for another rank; a long one on all ranks "
            "is the network.",
            "note",
        ),
        _legend([(STAGES[stage][1], STAGES[stage][0]) for stage in there]),
        "<h3>All calls, rank by rank</h3>",
        _figure("stages", plots.stages, trace),
        "<h3>A mean call, slice by slice</h3>",
        _figure("slices", plots.slices, trace),
    ]
    call = trace.example.call
    if call:
        parts += [
            "<h3>One call</h3>",
            _p(
                f"{units.count(call.elements)} elements in {units.counted(call.slices, 'slice')}, "
                "of median duration among the largest. Numbers are those of slices.",
                "note",
            ),
            _figure("example", plots.example, trace),
        ]
    return parts


def page(stats, trace):
    """Of what there is: either may be None."""
    parts = ["<h1>What libcgxpmpi did in this run</h1>"]
    if stats:
        parts.append(_p(words.verdict(stats), "verdict"))
        parts += [_p(line, "warning") for line in words.warnings(stats)]
        parts.append(_p(words.source(stats), "source"))
    parts.append(_tiles(stats, trace))
    if stats:
        compressed = (_calls, _exact_sums, _bytes, _speed, _layers)
        for put in (_observed, _calls, _exact_sums) if stats.observe else compressed:
            parts += put(stats)
    if trace:
        parts += _times(trace)
    return (
        '<!DOCTYPE html>\n<html lang="en"><head><meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>libcgxpmpi: report</title>\n<style>\n{style()}</style></head>\n<body><main>\n"
        + "\n".join(parts)
        + "\n</main></body></html>\n"
    )
