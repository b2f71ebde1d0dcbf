"""SPEC CPU2017: the results as text and as CSV, with the time and the rate or ratio of each iteration.

https://www.spec.org/cpu2017/
"""

import re

from steelyard.importing.grids import read_separated
from steelyard.importing.patterns import Match, find_all
from steelyard.importing.text import Row, Text
from steelyard.importing.values import Given, Values, make, read_word

TOOL = "SPEC CPU2017"
DOUBTS = r"^(?:(valid,0)$|#\s+(INVALID RUN)\b)"
SYSTEM = r'^[ "]*CPU Name"?[:,] *"?([^",\n]+)'
STARTED = r'^"?Tested with SPEC CPU.* on (\d{4}-\d\d-\d\d \d\d:\d\d:\d\d)'
COMPILER = r'^[ "]*Compiler"?[:,] *"?([^"\n]+)'
SUITE = r"SPEC CPU(?:\(R\)|®)?2017 (Integer|Floating Point) (Rate|Speed) Result"
HEAD = r"\s*Benchmarks\s+(?P<count>Copies|Threads)\s+Run Time\s+(?P<figure>Rate|Ratio)\s+(?:Copies|Threads)\s+Run Time\s+Ra"
ROW = r"\s*(?P<name>\d{3}\.\w+)\s.*"
SIDE = r"\s(?P<count>\d+) +(?P<time>\S+) +(?P<figure>\S+)(?: +(?P<flag>[S*])(?=\s|$))?"
SCORE = r"\s*SPEC(?:rate|speed)(?:\(R\)|®)?2017_(?:int|fp)_(base|peak)\s+(\d\S*)\s*$"
SCORE_OF_CSV = r"SPEC(?:rate|speed)2017_(?:int|fp)_(base|peak),(\d[^,]*),"
PEAK = 40  # characters from the name of a benchmark, from which on its row has the results of peak
COUNTS = {
    "# copies": "copies", "# threads": "threads", "# ranks": "ranks", "# threads per rank": "threads", "# thrds/rnk": "threads",
    "model": "model",
}  # fmt: skip
FIGURES = ("run time", "rate", "ratio", "selected", "status")
MEAN = "geometric mean of the selected iterations"


def read_text(text: Text) -> Values:
    """Yields time and rate or ratio of each iteration, and the scores. An iteration that failed becomes a problem."""
    for head, part in text.parts(HEAD):
        suite, common = _find_suite(text.before(part, "=====", 200)), part.words(compiler=COMPILER)
        yield from read_iterations(suite, head, part, common)
        yield from read_scores(suite, part, SCORE, common)


def read_iterations(suite: str, head: Match, part: Text, common: Given) -> Values:
    """Yields the values of base and peak of each row below the heading. An iteration that failed becomes a problem."""
    iterations = next((at for at, line in enumerate(part.lines) if "=====" in line), len(part.lines))
    for row, at in part.match(ROW):
        for side in find_all(SIDE, row.string[row.end(1) :]) if at - part.first < iterations else ():
            tuning = "peak" if side.start() + len(row[1]) > PEAK else "base"
            about: Given = {**common, "tuning": tuning, head["count"].lower(): int(side["count"])}
            with part.row(at):
                if not side["flag"]:
                    raise ValueError(f"an iteration of {row['name']} ({tuning}) failed: {side['figure']}")
                yield from _values(suite, row["name"], side["time"], head["figure"], side["figure"], about)


def read_csv(text: Text) -> Values:
    """Yields the same of the table of all iterations, with more digits."""
    for part in text.runs("valid,[01]"):
        suite, common = _find_suite(part.whole), part.words(compiler=COMPILER)
        yield from read_rows(suite, part, common)
        yield from read_scores(suite, part, SCORE_OF_CSV, common)


def read_rows(suite: str, part: Text, common: Given) -> Values:
    """Yields the values of base and peak of the table of all iterations."""
    selected = part.whole.partition("Selected Results Table")[0].count("\n") + part.first
    for row in read_separated(part, 'Benchmark,"Base '):
        with part.row(row.line):
            for tuning in ("base", "peak") if row.line < selected else ():
                yield from _read_side(suite, row, tuning, common)


def _read_side(suite: str, row: Row, tuning: str, common: Given) -> Values:
    """Yields the values of an iteration of base or peak; of one that was not run none."""
    names = {name: name.strip('"').removeprefix("Est. ").lower() for name in row}
    cells = {names[name].removeprefix(f"{tuning} "): row[name] for name in row if names[name].startswith(tuning)}
    if cells.get("status", "") in ("", "NR"):
        return
    if cells["status"] != "S":
        raise ValueError(f"an iteration of {row['Benchmark']} ({tuning}) failed: {cells['status']}")
    if unknown := [name for name in cells if name not in {*COUNTS, *FIGURES}]:
        raise ValueError(f"the meaning of the column '{unknown[0]}' is unknown")
    figure = "rate" if "rate" in cells else "ratio"
    counts = {COUNTS[name]: read_word(word) for name, word in cells.items() if name in COUNTS and word}
    about: Given = {**common, "tuning": tuning, **counts}
    yield from _values(suite, row["Benchmark"], cells["run time"], figure, cells[figure], about)


def _values(suite: str, name: str, seconds: str, figure: str, word: str, about: Given) -> Values:
    yield make(suite, name, "time", seconds, "s", "one run", about)
    yield make(suite, name, figure.lower(), word, "", "one run", about, better="higher")


def read_scores(suite: str, part: Text, pattern: str, common: Given) -> Values:
    """Yields the scores of base and peak, which the pattern matches."""
    for score, _ in part.match(pattern):
        yield make(suite, "score", "score", score[2], "", MEAN, {**common, "tuning": score[1]}, better="higher")


def _find_suite(words: str) -> str:
    """Returns the benchmark of the last title, such as "spec_cpu2017.fp_rate". ValueError without a title."""
    titles = re.findall(SUITE, words)
    if not titles:
        raise ValueError("the title of the suite is missing")
    return f"spec_cpu2017.{'int' if titles[-1][0] == 'Integer' else 'fp'}_{titles[-1][1].lower()}"


READERS = {
    read_text: ("SPEC CPU(R)2017 Integer", "SPEC CPU(R)2017 Floating", "SPEC CPU®2017"),
    read_csv: ('"SPEC CPU2017 Integer', '"SPEC CPU2017 Floating'),
}
