# SPDX-FileCopyrightText: the libcgxpmpi developers
# SPDX-License-Identifier: BSD-3-Clause

"""Drawings as SVG: text, shapes and axes. Colours are classes of the page's style sheet."""

import html
import math

# Of the text, in units of the drawing; the page scales a drawing by little.
TEXT = 12
_CHARACTER = 7.4  # of the widest fonts, on average

MARGIN = 6


def fit(text, width):
    """TEXT, cut to WIDTH."""
    most = int(width / _CHARACTER)
    return text if len(text) <= most else text[: max(1, most - 1)] + "…"


def text_width(text):
    return _CHARACTER * len(text)


class Drawing:
    """Of a WIDTH; the height follows from what is drawn."""

    def __init__(self, width, label):
        self.width = width
        self.height = 0
        self._label = label
        self._parts = []

    def _put(self, markup, bottom):
        self._parts.append(markup)
        self.height = max(self.height, bottom)

    @staticmethod
    def _tip(tip):
        return f"<title>{html.escape(tip)}</title>" if tip else ""

    def rect(self, x, y, width, height, style, tip=None):
        if width > 0:
            self._put(
                f'<rect x="{x:.1f}" y="{y:.1f}" width="{max(width, 0.5):.1f}" height="{height:.1f}" '
                f'class="{style}">{self._tip(tip)}</rect>',
                y + height,
            )

    def line(self, x1, y1, x2, y2, style):
        self._put(
            f'<line x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}" class="{style}"/>',
            max(y1, y2),
        )

    def path(self, points, style):
        if len(points) > 1:
            steps = "L".join(f"{x:.1f} {y:.1f}" for x, y in points)
            self._put(f'<path d="M{steps}" class="{style}"/>', max(y for _, y in points))

    def dot(self, x, y, style, tip=None):
        self._put(
            f'<circle cx="{x:.1f}" cy="{y:.1f}" r="3.5" class="{style}">{self._tip(tip)}</circle>',
            y + 4,
        )

    def text(self, x, y, text, style="", anchor="start", tip=None):
        """With its base line at Y."""
        kind = f' class="{style}"' if style else ""
        self._put(
            f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}"{kind}>{html.escape(text)}'
            f"{self._tip(tip)}</text>",
            y + 4,
        )

    def fitted(self, x, y, text, width, style=""):
        """Cut to WIDTH; what was cut off is in a tip."""
        short = fit(text, width)
        self.text(x, y, short, style, tip=text if short != text else None)

    def markup(self, style):
        return (
            f'<svg class="{style}" viewBox="0 0 {self.width} {math.ceil(self.height + MARGIN)}" '
            f'role="img" aria-label="{html.escape(self._label)}">{"".join(self._parts)}</svg>'
        )

    def document(self, rules):
        """A file of its own, with RULES as its style sheet."""
        height = math.ceil(self.height + MARGIN)
        return (
            f'<svg xmlns="http://www.w3.org/2000/svg" width="{self.width}" height="{height}" '
            f'viewBox="0 0 {self.width} {height}">\n<title>{html.escape(self._label)}</title>\n'
            f"<style>{rules}</style>\n"
            '<rect width="100%" height="100%" class="ground"/>\n' + "\n".join(self._parts) + "\n</svg>\n"
        )


# ---- axes ----


def _round_step(rough, steps):
    power = 10.0 ** math.floor(math.log10(rough))
    return next((step * power for step in steps if step * power >= rough * 0.999), 10 * power)


class Scale:
    """From 0 to MOST, along so many units of a drawing from START on."""

    def __init__(self, most, start, length):
        self.most = most if most > 0 else 1
        self.start = start
        self.length = length

    def __call__(self, value):
        return self.start + self.length * min(value, self.most) / self.most

    def ticks(self, widest, whole=False):
        """Round numbers, as far apart as WIDEST, the longest label, and a gap need."""
        room = max(2, int(self.length / (widest + 24)))
        step = _round_step(self.most / room, (1, 2, 5))
        if whole:
            step = max(1, round(step))
        return [number * step for number in range(int(self.most / step * 1.0001) + 1)]


class SizeScale(Scale):
    """Of bytes: round in their unit."""

    def ticks(self, widest, whole=False):
        unit = 1024 ** min(6, max(0, int(math.log(self.most, 1024)))) if self.most >= 1 else 1
        return [tick * unit for tick in Scale(self.most / unit, 0, self.length).ticks(widest)]


class LogScale:
    """From LEAST to MOST, widened to powers of ten."""

    def __init__(self, least, most, start, length):
        self.low = math.floor(math.log10(least) + 1e-9)
        self.high = max(math.ceil(math.log10(most) - 1e-9), self.low + 1)
        self.start = start
        self.length = length

    def __call__(self, value):
        share = (math.log10(max(value, 10.0**self.low)) - self.low) / (self.high - self.low)
        return self.start + self.length * min(share, 1)

    def ticks(self, room):
        apart = max(1, math.ceil((self.high - self.low) / max(1, room - 1)))
        return [
            (10.0**power, f"{10.0 ** power:g}" if -4 <= power <= 4 else f"1e{power}")
            for power in range(self.low, self.high + 1, apart)
        ]


def axis_below(drawing, scale, ticks, top, bottom, name):
    """TICKS are pairs of a value and its label; grid lines from TOP to BOTTOM."""
    for value, label in ticks:
        x = scale(value)
        drawing.line(x, top, x, bottom, "grid")
        anchor = "middle"
        if x + text_width(label) / 2 > drawing.width:
            anchor = "end"
        elif x - text_width(label) / 2 < 0:
            anchor = "start"
        drawing.text(x, bottom + 18, label, "muted", anchor)
    drawing.text(scale.start + scale.length, bottom + 34, name, "muted", "end")


def axis_left(drawing, scale, ticks, left, right):
    """TICKS as for axis_below; grid lines from LEFT to RIGHT."""
    for value, label in ticks:
        y = scale(value)
        drawing.line(left, y, right, y, "grid")
        drawing.text(left - 6, y + 4, label, "muted", "end")
