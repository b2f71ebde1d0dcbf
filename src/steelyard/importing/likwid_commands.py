"""The commands of likwid-bench in the record of a terminal."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import takewhile

from steelyard.importing.patterns import find_all
from steelyard.importing.text import Text

_COMMAND = r"likwid-bench .*?-t *(\w+)(.*)"
_LINE = re.compile(r"\s*(MByte|MFlops)/s:\s*[\d.]+\s*$")


def find_runs(text: Text) -> Sequence[Text]:
    """Returns each output, with its banner or without, or else the commands with the lines that somebody picked from theirs."""
    whole = [*text.parts(r".*LIKWID MICRO BENCHMARK")] or [*text.parts(r"\s*Cycles:\s")]
    return [part for _, part in whole] or list(_find_lines(text))


def _find_lines(text: Text) -> Iterator[Text]:
    for _, part in text.parts(rf".*\b{_COMMAND}"):
        lines = tuple(takewhile(_LINE.match, part.lines[1:]))
        if len({line.split()[0] for line in lines}) < len(lines):
            text.problems.append(f"line {part.first} is a command with several results")
        else:
            yield replace(part, lines=(part.lines[0], *lines))


def read_command(text: Text, part: Text) -> tuple[str, int | None]:
    """Returns the test and the number of threads that the command of an output names, "unknown" and None without them.

    With several groups of threads, the number is None.
    """
    commands = find_all(_COMMAND, f"{text.before(part, 'Cycles per cacheline')}\n{part.lines[0]}")
    test, options = [("unknown", ""), *(found.groups() for found in commands)][-1]
    threads = re.findall(r"-[wW] *\w+:\w+(?::(\d{1,6}))?", options)
    return test, int(threads[0]) if len(threads) == 1 and threads[0] else None
