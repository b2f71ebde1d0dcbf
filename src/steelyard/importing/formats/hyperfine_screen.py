"""hyperfine 1.0 to 1.19 on the screen: mean, least and greatest time of each command.

https://github.com/sharkdp/hyperfine
"""

from collections.abc import Iterator

from steelyard.importing.text import Text
from steelyard.importing.values import UNITS, make, make_spread, number
from steelyard.model.foreign import ForeignValue

TOOL = "hyperfine"
MARKS = ("Time (mean ± σ):", "Time (abs ≡):")
COMMAND = r"\s*Benchmark (?:#\d+|\d+): (?P<command>.+)"
MEAN = r"\s*Time \((?:mean ± σ|abs ≡)\): +([\d.]+) (ms|s|µs)\b(?:.*\[User: ([\d.]+) (ms|s|µs), System: ([\d.]+) (ms|s|µs)\])?"
RANGE = r"\s*Range \(min … max\): +([\d.]+) (ms|s|µs) … +([\d.]+) (ms|s|µs)\b"


def read(text: Text) -> Iterator[ForeignValue]:
    """Yields the times of each command. A single run has one time."""
    for head, part in text.parts(COMMAND):
        about = {"command": head["command"].strip()}
        ends = next((line for line, _ in part.match(RANGE)), None)
        for line, at in part.match(MEAN):
            with text.row(at):
                if ends:  # each may have another unit
                    words = [repr(_seconds(m[at], m[at + 1])) for m, at in ((ends, 3), (ends, 1), (line, 1))]
                    yield from make_spread("hyperfine.command", "command", "time", words, "s", about)
                else:
                    statistic = "mean" if "±" in line[0] else "one run"
                    time = _seconds(line[1], line[2])
                    yield make("hyperfine.command", "command", "time", time, "s", statistic, about)
                for metric, place in (("user_time", 3), ("system_time", 5)):
                    if line[place]:
                        share = _seconds(line[place], line[place + 1])
                        yield make("hyperfine.command", "command", metric, share, "s", "mean", about)


def _seconds(word: str, unit: str) -> float:
    return number(word) * UNITS[unit.replace("µ", "u")][0]
