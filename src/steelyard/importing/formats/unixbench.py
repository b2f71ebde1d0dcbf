"""UnixBench (BYTE UNIX Benchmarks) 4.1 to 6: the rate of each test, and the index of all of them.

https://github.com/kdlucas/byte-unixbench
"""

from dataclasses import replace
from statistics import geometric_mean

from steelyard.importing.text import Text
from steelyard.importing.values import ROUNDED, Values, expect_near, make, make_name, number
from steelyard.model import Better

TOOL = "UnixBench"
MARKS = ("Dhrystone 2 using register variables", "BYTE UNIX Benchmarks (Version", "parallel cop")
HOST = r"^\s*System(?:: (\S+?): | -- \S+ (\S+) )"
METRICS: dict[str, tuple[str, Better | None]] = {"KBps": ("bandwidth", None), "MWIPS": ("rate", "higher")}
UNITS = {"lps": "/s", "lpm": "/min", "KBps": "KiB/s", "MWIPS": "MWIPS"}  # fstime.c divides by 1024
ROW = r"(\S.*?)\s+(\d\S*) ?(lps|lpm|KBps|MWIPS)\b"
INDEX = r"\S.*?\s+\d[\d.]*\s+\d[\d.]*\s+(\d[\d.]*)\s*$"
SCORE = r"\s*(System Benchmarks Index Score(?: \(Partial Only\))?|FINAL SCORE)\s*:?\s+(\d\S*)\s*$"


def read(text: Text) -> Values:
    """Yields the rates and the index of each run on each system; a run has as many copies of each test as it says."""
    for system in text.runs(r"\s*BYTE UNIX Benchmarks \(Version"):
        host = system.find(HOST)
        for run in system.runs(r"\s*(?:Start )?Benchmark Run: "):
            started = run.find(r"Benchmark Run: (.+?)(?: - .*)?$")
            for part in run.runs(r"\s*\d+ CPUs? in system; running"):  # a mail quotes several without their headings
                for value in _read_run(part):
                    yield replace(value, host=host, started=started)


def _read_run(run: Text) -> Values:
    given = {"copies": run.integer(r"running (\d+) parallel cop") or 1}
    for row, at in run.match(ROW):
        with run.row(at):
            metric, better = METRICS.get(row[3], ("rate", None))
            yield make("unixbench.test", make_name(row[1]), metric, row[2], UNITS[row[3]], "mean", given, better=better)
    indices = [number(row[1]) for row, _ in run.match(INDEX)]
    for score, at in run.match(SCORE):
        with run.row(at):
            mean = geometric_mean(indices) if indices and min(indices) > 0 else 0.0
            sentence = f"the index {score[2]} is not the geometric mean of the indices above it"
            expect_near(mean, number(score[2]), ROUNDED * mean, sentence)
            kernel = "partial_index" if "Partial" in score[1] else "index"
            yield make("unixbench.test", kernel, "index", score[2], "", "geometric mean", given, better="higher")
