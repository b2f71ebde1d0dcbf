"""SPEC OMP2012, SPEC MPI2007 and SPEChpc 2021: the results as CSV, and those of OMP2012 and MPI2007 as text.

https://www.spec.org/hpg/
"""

import re

from steelyard.importing.formats import spec_cpu
from steelyard.importing.grids import read_separated
from steelyard.importing.patterns import find_all
from steelyard.importing.text import Row, Text
from steelyard.importing.values import Given, Values, make, read_word

TOOL = "SPEC HPG"
DOUBTS, SYSTEM = spec_cpu.DOUBTS, spec_cpu.SYSTEM
STARTED = r'^"?Tested with SPEC.* on (\d{4}-\d\d-\d\d \d\d:\d\d:\d\d)'
SIGN = r"(?:\(R\)|®|\(TM\)|™)?"
SUITES = {
    "omp2012": rf"SPEC{SIGN} OMPG?{SIGN}2012 Result", "mpi2007": rf"SPEC{SIGN} MPI([ML]){SIGN}2007 Result",
    "hpc2021": rf"SPEChpc{SIGN} 2021 (Tiny|Small|Medium|Large) Result",
}  # fmt: skip
HEAD = r"\s*Benchmarks\s+(?P<count>Threads|Ranks)\s+(?:Run Time|Seconds)\s+Ratio\s+(?:Threads|Ranks)\s+(?:Run Time|Seconds)\s+Ra"
SCORE = rf"\s*(?:SPECompG{SIGN}|SPECmpi[ML]{SIGN})_(base|peak)20\d\d[ ,]+(\d[^\s,]*)"
SCORE_OF_HPC = rf'"?SPEChpc{SIGN} 2021_\w+_(base|peak)"?,(\d[^\s,]*)'
COUNTS = {
    "# threads": "threads",
    "# ranks": "ranks",
    "# threads per rank": "threads",
    "# thrds/rnk": "threads",
    "model": "model",
}
FIGURES = ("run time", "ratio", "selected", "status")
MEAN = "geometric mean of the selected iterations"


def read_text(text: Text) -> Values:
    """Yields time and ratio of each iteration, and the scores. An iteration that failed becomes a problem."""
    suite, common = _find_suite(text), text.words(compiler=spec_cpu.COMPILER)
    if suite.startswith("spec_hpc2021"):
        raise ValueError("Steelyard does not read the text of SPEChpc 2021. Import the result as CSV")
    for head, part in text.parts(HEAD):
        iterations = next((at for at, line in enumerate(part.lines) if "=====" in line), len(part.lines))
        for row, at in part.match(spec_cpu.ROW):
            for side in find_all(spec_cpu.SIDE, row.string[row.end(1) :]) if at - part.first < iterations else ():
                tuning = "peak" if side.start() + len(row[1]) > spec_cpu.PEAK else "base"
                with part.row(at):
                    if not side["flag"]:
                        raise ValueError(f"an iteration of {row['name']} ({tuning}) failed: {side['figure']}")
                    about: Given = {**common, "tuning": tuning, head["count"].lower(): int(side["count"])}
                    yield from _values(suite, row["name"], side["time"], side["figure"], about)
        yield from _read_scores(suite, part, SCORE, common)


def read_csv(text: Text) -> Values:
    """Yields the same of the table of all iterations, with more digits."""
    suite, common = _find_suite(text), text.words(compiler=spec_cpu.COMPILER)
    selected = text.whole.partition("Selected Results Table")[0].count("\n") + text.first
    for row in read_separated(text, 'Benchmark,"Base '):
        for tuning in ("base", "peak") if row.line < selected else ():
            with text.row(row.line):
                yield from _read_side(suite, row, tuning, common)
    yield from _read_scores(suite, text, SCORE_OF_HPC if "hpc2021" in suite else SCORE, common)


def _read_side(suite: str, row: Row, tuning: str, common: Given) -> Values:
    names = {name: name.strip('"').removeprefix("Est. ").lower() for name in row}
    cells = {names[name].removeprefix(f"{tuning} "): row[name] for name in row if names[name].startswith(tuning)}
    if cells.get("status", "") in ("", "NR"):
        return
    if cells["status"] != "S":
        raise ValueError(f"an iteration of {row['Benchmark']} ({tuning}) failed: {cells['status']}")
    if unknown := [name for name in cells if name not in {*COUNTS, *FIGURES}]:
        raise ValueError(f"the meaning of the column '{unknown[0]}' is unknown")
    counts = {COUNTS[name]: read_word(word) for name, word in cells.items() if name in COUNTS and word}
    about: Given = {**common, "tuning": tuning, **counts}
    yield from _values(suite, row["Benchmark"], cells["run time"], cells["ratio"], about)


def _values(suite: str, name: str, seconds: str, ratio: str, about: Given) -> Values:
    yield make(suite, name, "time", seconds, "s", "one run", about)
    yield make(suite, name, "ratio", ratio, "", "one run", about, better="higher")


def _read_scores(suite: str, part: Text, pattern: str, common: Given) -> Values:
    for score, _ in part.match(pattern):
        yield make(suite, "score", "score", score[2], "", MEAN, {**common, "tuning": score[1]}, better="higher")


def _find_suite(text: Text) -> str:
    """Returns the benchmark, such as "spec_hpc2021.tiny". ValueError without exactly one title of a suite."""
    found = {
        (suite, title[1].lower()) for suite, pattern in SUITES.items() for title in find_all(f"({pattern})", text.whole)
    }
    if len(found) != 1:
        raise ValueError("it needs exactly one title of a suite")
    ((suite, title),) = found
    size = re.findall(r"mpi([ml])|2021 (\w+)", title)
    return f"spec_{suite}.{''.join(size[0]) if size else 'omp'}"


READERS = {
    read_text: ("SPEC(R) OMP", "SPEC OMPG2012", "SPEC(R) MPI", "SPEC MPIM2007", "SPEC MPIL2007", "SPEChpc(TM) 2021"),
    read_csv: ('"SPEC OMP', '"SPEC MPI', '"SPEChpc'),
}
