"""Doubts that a tool prints about its own results. They become a note of the values of that run."""

import re
from collections.abc import Callable, Iterator
from dataclasses import replace

from steelyard.importing.patterns import find_all
from steelyard.importing.text import Text
from steelyard.model.foreign import ForeignValue

# By tool; a format may declare others. Details of a warning of IOR, and what concerns no value, are left out.
DOUBTS = {
    "IOR": r"^[ \t]*+(?:ior )?WARNING: (?!Expected|Stat\(\)|Using|unable to use realpath)(.+)",
    "mdtest": r"^.*WARNING: (?!unable to use realpath)(.+)",
    "hyperfine": r"^[ \t]*+Warning: (.+)",
    "Google Benchmark": r"^[^\w\n]*+WARNING[^\w\n]+(.+)|\"library_build_type\"\s*:\s*\"debug\"",
    "netperf": r"^!!! (Desired confidence .+)",
    "perftest": r"^[ \t]*+(Conflicting CPU frequency values detected.*)",
    "Intel MLC": r"^\*\*\* (Unable to modify prefetchers.*)",
    **dict.fromkeys(("likwid-bench", "likwid-perfctr"), r"^[ \t]*+WARN(?:ING)?[: -]+(.+)"),
    "stress-ng": r"stress-ng: warn: +(?:\[\d+\] )?(.+)",
    "iperf3": r"^(?:iperf3: )?(?:warning|WARNING): (.+)",
    "HPCG": r"^[ \t]*+WARNING: (.+)",
}
WARNS = " warns: "  # in such a note
_MOST, _LONGEST = 3, 120  # sentences of a run, and characters of each


def add_doubts(
    tool: str, read: Callable[[Text], Iterator[ForeignValue]], text: Text, doubts: str, run: str
) -> Iterator[ForeignValue]:
    """Yields the values; those of an output in which a line matches `doubts` with a note. `run` begins an output in the text."""
    for part in text.runs(run) if text.find(doubts) else (text,):
        note = find_doubts(tool, part, doubts)
        for value in read(part):
            yield replace(value, note=f"{value.note} {note}".strip()) if note else value


def find_doubts(tool: str, run: Text, doubts: str) -> str:
    """Returns a sentence with the first groups of the matches, or the whole ones, up to the end of a sentence; '' without any."""
    words = (next(filter(None, match.groups()), match[0]) for match in find_all(doubts, run.whole))
    quoted = dict.fromkeys(f"'{re.split(r'[.](?: |$)', word.strip())[0][:_LONGEST]}'" for word in words)
    return f"{tool}{WARNS}{', '.join([*quoted][:_MOST])}." if quoted else ""
