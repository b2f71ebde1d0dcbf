"""likwid-bench of LIKWID 3 to 5.

https://github.com/RRZE-HPC/likwid
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import takewhile

from steelyard.importing.patterns import find_all
from steelyard.importing.text import Text
from steelyard.importing.values import Values, make

TOOL = "likwid-bench"
MARKS = ("LIKWID MICRO BENCHMARK", "Cycles per cacheline:", "likwid-bench -")
DOUBTS = r"^[ \t]*+WARN(?:ING)?[: -]+(.+)"
COMMAND = r"likwid-bench .*?-t *(\w+)(.*)"
LINE = re.compile(r"\s*(MByte|MFlops)/s:\s*[\d.]+\s*$")


def _find_runs(text: Text) -> Sequence[Text]:
    """Returns each output, with its banner or without, or else the commands with the lines that somebody picked from theirs."""
    whole = [*text.parts(r".*LIKWID MICRO BENCHMARK")] or [*text.parts(r"\s*Cycles:\s")]
    return [part for _, part in whole] or list(_find_lines(text))


def _find_lines(text: Text) -> Iterator[Text]:
    for _, part in text.parts(rf".*\b{COMMAND}"):
        lines = tuple(takewhile(LINE.match, part.lines[1:]))
        if len({line.split()[0] for line in lines}) < len(lines):
            text.problems.append(f"line {part.first} is a command with several results")
        else:
            yield replace(part, lines=(part.lines[0], *lines))


def _read_command(text: Text, part: Text) -> tuple[str, int | None]:
    """Returns the test and the number of threads that the command of an output names, "unknown" and None without them.

    With several groups of threads, the number is None.
    """
    commands = find_all(COMMAND, f"{text.before(part, 'Cycles per cacheline')}\n{part.lines[0]}")
    test, options = [("unknown", ""), *(found.groups() for found in commands)][-1]
    threads = re.findall(r"-[wW] *\w+:\w+(?::(\d{1,6}))?", options)
    return test, int(threads[0]) if len(threads) == 1 and threads[0] else None


OURS = {"copy": ("copy", 2), "stream": ("triad", 3)}  # kernel and vectors of memory.stream
NOTE = "The value is the mean of many passes. The bytes are counted as in STREAM."
FIGURES = (
    ("MByte/s", "bandwidth", "MB/s"), ("MFlops/s", "flops", "Mflop/s"), ("Time", "time", "s"),
    ("Cycles per update", "cycles_per_update", "cycle"), ("Cycles per cacheline", "cycles_per_cacheline", "cycle"),
)  # fmt: skip


def read(text: Text) -> Values:
    """Yields bandwidth, speed, time and cycles of each kernel in the file."""
    for part in _find_runs(text):
        pairs = part.pairs(r":\s*")
        test, threads = _read_command(text, part)
        test = pairs.get("Test") or test
        about: dict[str, int | str | None] = {"threads": part.integer(r"Using (\d+) threads") or threads}
        groups = part.integer(r"Using (\d+) work groups") or 1
        about["groups"] = groups if groups > 1 else None  # each has memory of its own, perhaps on another socket
        size = part.integer(r"^\s*Size(?: \(Byte\))?:\s*(\d+)")
        first, *variants = test.split("_")
        ours = first in OURS and "sp" not in variants
        if ours:
            kernel, vectors = OURS[first]
            about["stores"] = "streaming" if "mem" in variants else "ordinary"
            about["elements"] = size // (8 * vectors) if size and "Size (Byte)" in pairs else None
        for name, metric, unit in FIGURES:
            word = pairs.get(name, "").removesuffix("sec").strip()
            if word and not (metric == "flops" and float(word) == 0):
                if ours and metric == "bandwidth":
                    yield make("memory.stream", kernel, metric, word, unit, "mean", about, note=f"{test}. {NOTE}")
                else:
                    yield make("likwid.bench", test, metric, word, unit, "mean", {**about, "bytes": size})
