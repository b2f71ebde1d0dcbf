"""HPCG 2.0 to 3.1: the YAML-like and the key=value report, also Intel's, and the line that some versions print. Also the
table that the versions of NVIDIA and of AMD (rocHPCG) print on the screen.

https://www.hpcg-benchmark.org, https://github.com/NVIDIA/nvidia-hpcg, https://github.com/ROCm/rocHPCG
"""

from steelyard.importing.patterns import find_all
from steelyard.importing.text import Text
from steelyard.importing.values import Values, expect_near, make, make_row, number

TOOL = "HPCG"
STARTED = r"^(\d{4}-\d\d-\d\d \d\d:\d\d:\d\d)"
DOUBTS = r"^[ \t]*+WARNING: (?!PERFORMING UNPRECONDITIONED)(.+)"  # its test of convergence does so in each run
RUN = r".*\bDistributed Processes[:=]|\S+:\s+nx[:=]"  # grep writes the name of the file before each line
RATING = r".*HPCG result is[:=]?\s*(?P<valid>VALID|INVALID)\b(?:.*\bGFLOP/s rating of[:=]?\s*(?P<rate>\S+))?"
# "Raw SpMV: 1.5" below the heading of its section (YAML), or "GFLOP/s Summary::Raw SpMV=1.5".
SECTION = r"[\s_]*(?P<name>\w[\w/ ]*?) (?:Summary|Overheads|Information|Tests)(?:::|[\s_]*[:=])"
LINE = r"(?:.*::)?\s*(?P<name>Raw \w+(?: B/W)?|DDOT|WAXPBY|SpMV|MG|Total)[:=]\s*(?P<value>\S+)\s*$"
UNITS = {"GFLOP/s": ("flops", "Gflop/s"), "GB/s": ("bandwidth", "GB/s"), "Benchmark Time": ("time", "s")}
ABOUT = {"ranks": r"Distributed Processes[:=] *(\d+)", "threads": r"Threads per processes[:=] *(\d+)"}
LOCAL = r"(?:Local Domain Dimensions ?(?:::|: *\n(?:.*\n){0,4}? *)|^\S+: +)"  # in YAML, a line of its own
ABOUT |= {name: rf"{LOCAL}{name}[:=] *(\d+)" for name in ("nx", "ny", "nz")}


def read_report(text: Text) -> Values:
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
            yield from _read_parts(run, about)
        elif not printed and (about or "GFLOP/s Summary" in run.whole):
            text.problems.append(f"line {run.first}: the report does not say that the result is valid")
    for i, (rate, word, about) in enumerate(ratings):  # some versions print a rating on the screen and in the report
        words.append(word)
        if i + 1 == len(ratings) or abs(ratings[i + 1][0] - rate) > 1e-5 * rate:
            yield make("hpcg.solve", "hpcg", "rating", max(words, key=len), "Gflop/s", "one run", about)
            words = []


def _read_parts(run: Text, about: dict[str, int]) -> Values:
    for head, part in run.parts(SECTION):
        for row, at in part.match(LINE) if head["name"] in UNITS else ():
            metric, unit = UNITS[head["name"]]
            with run.row(at):
                kernel = row["name"].removeprefix("Raw ").removesuffix(" B/W").lower()
                yield make("hpcg.solve", kernel, metric, row["value"], unit, "one run", about)


GPU_RUN = r".*\b\d+x\d+x\d+ process grid|\s*Local domain:"
GRID = r"\s*(?:Process domain: )?(\d+) ?x ?(\d+) ?x ?(\d+)(?: process grid)?\s*$"
DOMAIN = r"\s*(?:Local domain: )?(\d+) ?x ?(\d+) ?x ?(\d+)(?: local domain)?\s*$"
GPU_ROW = (
    r"\s*(?P<name>\w+)\s*=\s*(?P<rate>\S+) (?:GF|GFlop/s) \(\s*(?P<bandwidth>\S+) GB/s(?: Effective)?\)"
    r"\s+(?P<each>\S+) (?:GF_per|GFlop/s per process) \("
)
UNCHECKED = "The screen does not say whether the result is valid. Its values have one decimal."


def read_screen(text: Text) -> Values:
    """Yields speed and bandwidth of the parts and of the whole. Where a report with the rating follows, it has the rating."""
    rated = [float(found[1]) for found in find_all(r"HPCG result is VALID.* of[:=]?\s*(\d+\.?\d*)", text.whole)]
    for run in text.ended().runs(GPU_RUN):
        grid, domain = next(run.match(GRID), None), next(run.match(DOMAIN), None)
        about: dict[str, int] = {}
        if grid and domain:
            about = dict(zip(("nx", "ny", "nz"), map(int, domain[0].groups()), strict=True))
            about["ranks"] = int(grid[0][1]) * int(grid[0][2]) * int(grid[0][3])
        ranks = about.get("ranks", 1)
        if invalid := run.find(r".*INVALID RUN.*"):
            text.problems.append(f"line {run.first}: the output says '{invalid}'")
            continue
        for row, at in run.match(GPU_ROW):
            with run.row(at):
                name, sentence = row["name"].lower(), "the speed is not the sum of those of the ranks"
                if about:
                    expect_near(number(row["rate"]), number(row["each"]) * ranks, 0.06 * (ranks + 1), sentence)
                kernel, metric = ("hpcg", "rating") if name == "final" else (name, "flops")
                if name != "final" or not any(abs(number(row["rate"]) - rating) < 0.06 for rating in rated):
                    columns = {"rate": (metric, "Gflop/s", "one run"), "bandwidth": ("bandwidth", "GB/s", "one run")}
                    yield from make_row("hpcg.solve", kernel, row.groupdict(), columns, about, UNCHECKED)


READERS = {
    read_report: ("HPCG result is", "HPCG-Benchmark", "GFLOP/s Summary"),
    read_screen: ("GB/s Effective)", "GFlop/s per process ("),
}
