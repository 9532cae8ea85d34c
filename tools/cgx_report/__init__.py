# SPDX-FileCopyrightText: the libcgxpmpi developers
# SPDX-License-Identifier: BSD-3-Clause

"""cgx-report(1): what libcgxpmpi did in a run, from its statistics and its timeline.

files.py tells the two apart and reads them; stats.py and trace.py are what they say; terminal.py
writes a summary; page.py a page of HTML, whose plots are in plots.py, drawn with svg.py. Both take their words from words.py and reasons.py, and their figures through units.py.
"""
