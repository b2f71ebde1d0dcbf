"""HPCG 2.0 to 3.1: the YAML-like and the key=value report, also Intel's, and the line that some versions print.

https://www.hpcg-benchmark.org
"""

from collections.abc import Iterator

from steelyard.importing.text import Text
from steelyard.importing.values import make, number
from steelyard.model.foreign import ForeignValue

TOOL = "HPCG"
MARKS = ("HPCG result is", "HPCG-Benchmark", "GFLOP/s Summary")
RUN = r".*\bDistributed Processes[:=]|\S+:\s+nx[:=]"  # grep writes the name of the file before each line
RATING = r".*HPCG result is[:=]?\s*(?P<valid>VALID|INVALID)\b(?:.*\bGFLOP/s rating of[:=]?\s*(?P<rate>\S+))?"
# "Raw SpMV: 1.5" below the heading of its section (YAML), or "GFLOP/s Summary::Raw SpMV=1.5".
SECTION = r"[\s_]*(?P<name>\w[\w/ ]*?) (?:Summary|Overheads|Information|Tests)(?:::|[\s_]*[:=])"
LINE = r"(?:.*::)?\s*(?P<name>Raw \w+(?: B/W)?|DDOT|WAXPBY|SpMV|MG|Total)[:=]\s*(?P<value>\S+)\s*$"
UNITS = {"GFLOP/s": ("flops", "Gflop/s"), "GB/s": ("bandwidth", "GB/s"), "Benchmark Time": ("time", "s")}
ABOUT = {"ranks": r"Distributed Processes[:=] *(\d+)", "threads": r"Threads per processes[:=] *(\d+)"}
LOCAL = r"(?:Local Domain Dimensions ?(?:::|: *\n(?:.*\n){0,4}? *)|^\S+: +)"  # in YAML, a line of its own
ABOUT |= {name: rf"{LOCAL}{name}[:=] *(\d+)" for name in ("nx", "ny", "nz")}


def read(text: Text) -> Iterator[ForeignValue]:
    """Yields rating, speeds, bandwidths and times of each valid report. An INVALID result has no values."""
    ratings, words = list[tuple[float, str, dict[str, int]]](), list[str]()
    for run in text.ended().runs(RUN):
        about, printed = run.integers(**ABOUT), list(run.match(RATING))
        for rating, at in printed:
            with run.row(at):
                if rating["valid"] == "INVALID":
                    raise ValueError("HPCG says that the result is INVALID")
                ratings.append((number(rating["rate"] or ""), rating["rate"], about))
        if printed and printed[0][0]["valid"] == "VALID":
            yield from _parts(run, about)
        elif not printed and (about or "GFLOP/s Summary" in run.whole):
            text.problems.append(f"line {run.first}: the report does not say that the result is valid")
    for i, (rate, word, about) in enumerate(ratings):  # some versions print a rating on the screen and in the report
        words.append(word)
        if i + 1 == len(ratings) or abs(ratings[i + 1][0] - rate) > 1e-5 * rate:
            yield make("hpcg.solve", "hpcg", "rating", max(words, key=len), "Gflop/s", "one run", about)
            words = []


def _parts(run: Text, about: dict[str, int]) -> Iterator[ForeignValue]:
    for head, part in run.parts(SECTION):
        for row, at in part.match(LINE) if head["name"] in UNITS else ():
            metric, unit = UNITS[head["name"]]
            with run.row(at):
                kernel = row["name"].removeprefix("Raw ").removesuffix(" B/W").lower()
                yield make("hpcg.solve", kernel, metric, row["value"], unit, "one run", about)
