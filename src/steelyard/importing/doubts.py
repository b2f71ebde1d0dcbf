"""Doubts that a tool prints about its own results. They become a note of the values of that run."""

import re
from dataclasses import replace

from steelyard.importing.format import Format
from steelyard.importing.patterns import find_all
from steelyard.importing.text import Text
from steelyard.importing.values import Values

WARNS = " warns: "  # in such a note
_MOST, _LONGEST = 3, 120  # sentences of a run, and characters of each


def add_doubts(known: Format, text: Text) -> Values:
    """Yields the values that a format reads; those of an output with lines in which its tool doubts them with a note."""
    for part in text.runs(known.output) if text.find(known.doubts) else (text,):
        note = find_doubts(known.tool, part, known.doubts)
        for value in known.read(part):
            yield replace(value, note=f"{value.note} {note}".strip()) if note else value


def find_doubts(tool: str, run: Text, doubts: str) -> str:
    """Returns a sentence with the first groups of the matches, or the whole ones, up to the end of a sentence; '' without any."""
    words = (next(filter(None, match.groups()), match[0]) for match in find_all(doubts, run.whole))
    quoted = dict.fromkeys(f"'{re.split(r'[.](?: |$)', word.strip())[0][:_LONGEST]}'" for word in words)
    return f"{tool}{WARNS}{', '.join([*quoted][:_MOST])}." if quoted else ""
