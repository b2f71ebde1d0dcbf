"""hyperfine 1.0 to 1.19: JSON with each time of each command; CSV, Markdown and the screen with mean, least and greatest time.

https://github.com/sharkdp/hyperfine
"""

import re
from math import isclose

from steelyard.importing.grids import find_title, read_separated
from steelyard.importing.text import Text
from steelyard.importing.values import UNITS, Values, make, make_spread, number

TOOL = "hyperfine"
DOUBTS = r"^[ \t]*+Warning: (.+)"
STATISTICS = {"mean": "mean", "median": "median", "min": "least", "max": "greatest"}


def read_json(text: Text) -> Values:
    """Yields each time of each command, and their mean, median, least and greatest; a command that failed has none."""
    for content in text.objects():
        for result in content.get("results", []):
            if any(result.get("exit_codes") or []):
                text.problems.append(f"the command '{result['command'][:80]}' failed in some of its runs")
                continue
            times = result.get("times") or [result["mean"]]
            if not isclose(sum(times) / len(times), result["mean"], rel_tol=0.001):
                raise ValueError(f"the mean of '{result['command'][:80]}' is not that of its times")
            about = {"command": result["command"], **(result.get("parameters") or {})}
            for seconds in result.get("times") or []:
                yield make("hyperfine.command", "command", "time", seconds, "s", "one run", about)
            for name, statistic in STATISTICS.items():
                if result.get(name) is not None:
                    yield make("hyperfine.command", "command", "time", result[name], "s", statistic, about)
            for name in ("user", "system"):
                if result.get(name) is not None:
                    yield make("hyperfine.command", "command", f"{name}_time", result[name], "s", "mean", about)


def read_csv(text: Text) -> Values:
    """Yields mean, median, least and greatest time of each command, and the mean times of the CPU in user and system mode."""
    for row in read_separated(text, r"\s*command,mean,stddev,"):
        with text.row(row.line):
            if "\ufffd" in row["command"]:
                raise ValueError("its command is damaged")
            parameters = {name.removeprefix("parameter_"): row[name] for name in row if name.startswith("parameter_")}
            about = {"command": row["command"], **parameters}
            ends = [row[name] for name in ("max", "min", "mean")]
            yield from make_spread("hyperfine.command", "command", "time", ends, "s", about)
            if row.get("median"):  # from version 1.10 on
                yield make("hyperfine.command", "command", "time", row["median"], "s", "median", about)
            for name in ("user", "system"):
                yield make("hyperfine.command", "command", f"{name}_time", row[name], "s", "mean", about)


HEADING = r"\s*\| *Command *\| *Mean \[(?P<unit>ms|s|µs)\] *\| *Min(?: \[(?P=unit)\] *\| *Max| ?… ?Max) \[(?P=unit)\]"
TIMES = r"(?P<mean>[\d.]+)(?: ± [\d.]+)? *\| *(?P<least>[\d.]+) *[|…] *(?P<greatest>[\d.]+)"
ROW = rf"\s*\| *`(?P<command>(?:[^|\\]|\\.)+)` *\| *{TIMES} *\|"  # a bar in a command has a backslash before it


def read_markdown(text: Text) -> Values:
    """Yields the times of each command. Of several tables, the title of its section says which one a command is of."""
    tables = list(text.ended().parts(HEADING))
    for head, part in tables:
        section = find_title(text.lines, part.first - text.first) if len(tables) > 1 else None
        for at, line in enumerate(part.lines[1:], part.first + 1):
            if not line.lstrip().startswith("|"):
                break
            if row := re.match(ROW, line):
                with text.row(at):
                    about = {"command": re.sub(r"\\([|\\])", r"\1", row["command"]), "section": section}
                    words, unit = row.group("greatest", "least", "mean"), head["unit"].replace("µ", "u")
                    yield from make_spread("hyperfine.command", "command", "time", words, unit, about)
            elif not re.fullmatch(r"[\s|:-]+", line):
                text.problems.append(f"line {at} is no row of a table of hyperfine")


COMMAND = r"\s*Benchmark (?:#\d+|\d+): (?P<command>.+)"
MEAN = r"\s*Time \((?:mean ± σ|abs ≡)\): +([\d.]+) (ms|s|µs)\b(?:.*\[User: ([\d.]+) (ms|s|µs), System: ([\d.]+) (ms|s|µs)\])?"
RANGE = r"\s*Range \(min … max\): +([\d.]+) (ms|s|µs) … +([\d.]+) (ms|s|µs)\b"


def read_screen(text: Text) -> Values:
    """Yields the times of each command. A single run has one time."""
    for head, part in text.parts(COMMAND):
        about = {"command": head["command"].strip()}
        ends = next((line for line, _ in part.match(RANGE)), None)
        for line, at in part.match(MEAN):
            with text.row(at):
                if ends:  # each may have another unit
                    words = [repr(_read_seconds(m[at], m[at + 1])) for m, at in ((ends, 3), (ends, 1), (line, 1))]
                    yield from make_spread("hyperfine.command", "command", "time", words, "s", about)
                else:
                    statistic = "mean" if "±" in line[0] else "one run"
                    time = _read_seconds(line[1], line[2])
                    yield make("hyperfine.command", "command", "time", time, "s", statistic, about)
                for metric, place in (("user_time", 3), ("system_time", 5)):
                    if line[place]:
                        share = _read_seconds(line[place], line[place + 1])
                        yield make("hyperfine.command", "command", metric, share, "s", "mean", about)


def _read_seconds(word: str, unit: str) -> float:
    return number(word) * UNITS[unit.replace("µ", "u")][0]


READERS = {
    # pytest-benchmark has "stddev", too. Versions before 1.12 have no exit codes.
    read_json: (
        '"exit_codes"',
        *(f'"results": [\n{" " * n}{{\n{" " * 2 * n}"command"' for n in (2, 4)),
        '"results":[{"command"',
    ),
    read_csv: ("command,mean,stddev,",),
    read_markdown: ("| Mean [ms] | Min", "| Mean [s] | Min", "| Mean [µs] | Min"),
    read_screen: ("Time (mean ± σ):", "Time (abs ≡):"),
}
