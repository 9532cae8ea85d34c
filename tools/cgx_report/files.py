# SPDX-FileCopyrightText: the libcgxpmpi developers
# SPDX-License-Identifier: BSD-3-Clause

"""Reads what CGX_STATS and CGX_TRACE have written, and refuses all else in one line.

A timeline may be larger than the memory: its events are read one by one.
"""

import json
import re

# Characters that are read at a time, and that statistics, what stands before the events of a
# timeline, an event, and a string may have; values in statistics.
CHUNK = 1 << 20
STATS_MOST = 1 << 26
HEAD_MOST = 1 << 22
EVENT_MOST = 1 << 16
TEXT_MOST = 1 << 20
VALUES_MOST = 1 << 22

# What numbers may be: sums, products and quotients of two and a count are finite, and none is
# subnormal. Smaller ones are taken for 0.
LEAST, MOST = 1e-140, 1e140

_STATS = re.compile(r'\s*\{\s*"cgx_stats"\s*:')
_TRACE = re.compile(r'\s*\{\s*"displayTimeUnit"\s*:')
_EVENTS = re.compile(r'"traceEvents"\s*:\s*\[')
_BETWEEN = re.compile(r"[\s,]*")


class Unreadable(Exception):
    """Why a file cannot be read: a clause."""


def _no_constant(name):
    raise ValueError(f"{name} is no number")


_decoder = json.JSONDecoder(parse_constant=_no_constant)


# ---- values from a file that anything may be in ----


def signed(value):
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not -MOST < value < MOST:
        raise ValueError("a number is too large, or none")
    return value if abs(value) >= LEAST else 0


def number(value):
    """A finite number of at least 0."""
    if signed(value) < 0:
        raise ValueError("a number is negative")
    return signed(value)


def whole(value):
    if not isinstance(value, int) or isinstance(value, bool) or not 0 <= value < 1 << 64:
        raise ValueError("a count is negative, too large, or none")
    return value


def known(value):
    """A number, or None where the file has null."""
    return None if value is None else number(value)


def text(value):
    """A string, of which a terminal obeys no character."""
    if not isinstance(value, str) or len(value) > TEXT_MOST:
        raise ValueError("a name is too long, or no string")
    return "".join(character if character.isprintable() else " " for character in value)


def items(value, kind):
    """VALUE, which is a list or a dict."""
    if not isinstance(value, kind):
        raise ValueError("an array or object is none")
    return value


# ---- files ----


class File:
    """The file at PATH, which is read once, so that it may be a pipe. KIND is "statistics" or
    "timeline", by its beginning."""

    def __init__(self, path):
        try:
            self._file = open(path, encoding="utf-8")
        except OSError as error:
            raise Unreadable(f"cannot be read: {error.strerror}") from None
        self._beginning = self._read(CHUNK)
        if not self._beginning.strip():
            raise Unreadable("is empty")
        if _STATS.match(self._beginning):
            self.kind = "statistics"
        elif _TRACE.match(self._beginning):
            self.kind = "timeline"
        else:
            raise Unreadable("is neither a file of CGX_STATS nor one of CGX_TRACE")

    def _read(self, most):
        try:
            return self._file.read(most)
        except OSError as error:
            raise Unreadable(f"cannot be read: {error.strerror}") from None
        except UnicodeDecodeError:
            raise Unreadable("is damaged: it is not UTF-8") from None

    def read(self, most):
        """The next characters; "" at the end."""
        beginning, self._beginning = self._beginning, ""
        return beginning or self._read(most)


def _decode(string):
    try:
        return _decoder.decode(string)
    except json.JSONDecodeError as error:
        if error.pos >= len(string.rstrip()) or "Unterminated" in error.msg:
            raise Unreadable("is cut off: it has no end") from None
        raise Unreadable(f"is damaged in line {error.lineno}: {error.msg}") from None
    except (RecursionError, ValueError) as error:
        raise Unreadable(f"is damaged: {error}") from None


def read_statistics(file):
    """The object in FILE."""
    string = file.read(CHUNK)
    string += file.read(STATS_MOST)
    if len(string) > STATS_MOST or sum(map(string.count, "[{,")) > VALUES_MOST:
        raise Unreadable("is larger than any file of CGX_STATS")
    return _decode(string)


class Timeline:
    """HEAD is what FILE has before the events; iterating gives these, once."""

    def __init__(self, file):
        self._file = file
        self._buffer = ""
        self._at = 0
        found = None
        while not found:
            size = len(self._buffer)
            if size > HEAD_MOST:
                raise Unreadable("is damaged: it has no events")
            if not self._more():
                raise Unreadable("is cut off: it has no events")
            found = _EVENTS.search(self._buffer, max(0, size - 64))
        self.head = _decode(self._buffer[: found.start()] + '"traceEvents": []}')
        self._at = found.end()

    def _more(self):
        """Whether there was more of the file."""
        chunk = self._file.read(CHUNK)
        self._buffer = self._buffer[self._at :] + chunk
        self._at = 0
        return chunk != ""

    def __iter__(self):
        while True:
            self._at = _BETWEEN.match(self._buffer, self._at).end()
            # What is decoded is whole, unless the file is cut off.
            if len(self._buffer) - self._at < EVENT_MOST and self._more():
                continue
            if self._buffer.startswith("]", self._at):
                return
            yield self._event()

    def _event(self):
        try:
            event, self._at = _decoder.raw_decode(self._buffer, self._at)
        except json.JSONDecodeError:
            if len(self._buffer) - self._at < EVENT_MOST:
                raise Unreadable("is cut off, or damaged, in its events") from None
            raise Unreadable("is damaged in its events") from None
        except (RecursionError, ValueError) as error:
            raise Unreadable(f"is damaged: {error}") from None
        return event
