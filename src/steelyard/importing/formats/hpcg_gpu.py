"""HPCG of NVIDIA and of AMD (rocHPCG): the table on the screen. Their reports have the form of the reference.

https://github.com/NVIDIA/nvidia-hpcg, https://github.com/ROCm/rocHPCG
"""

from collections.abc import Iterator

from steelyard.importing.patterns import find_all
from steelyard.importing.text import Text
from steelyard.importing.values import expect_near, make_row, number
from steelyard.model.foreign import ForeignValue

TOOL = "HPCG"
MARKS = ("GB/s Effective)", "GFlop/s per process (")
STARTED = r"^(\d{4}-\d\d-\d\d \d\d:\d\d:\d\d)"
RUN = r".*\b\d+x\d+x\d+ process grid|\s*Local domain:"
GRID = r"\s*(?:Process domain: )?(\d+) ?x ?(\d+) ?x ?(\d+)(?: process grid)?\s*$"
DOMAIN = r"\s*(?:Local domain: )?(\d+) ?x ?(\d+) ?x ?(\d+)(?: local domain)?\s*$"
ROW = (
    r"\s*(?P<name>\w+)\s*=\s*(?P<rate>\S+) (?:GF|GFlop/s) \(\s*(?P<bandwidth>\S+) GB/s(?: Effective)?\)"
    r"\s+(?P<each>\S+) (?:GF_per|GFlop/s per process) \("
)
UNCHECKED = "The screen does not say whether the result is valid. Its values have one decimal."


def read(text: Text) -> Iterator[ForeignValue]:
    """Yields speed and bandwidth of the parts and of the whole. Where a report with the rating follows, it has the rating."""
    rated = [float(found[1]) for found in find_all(r"HPCG result is VALID.* of[:=]?\s*(\d+\.?\d*)", text.whole)]
    for run in text.ended().runs(RUN):
        grid, domain = next(run.match(GRID), None), next(run.match(DOMAIN), None)
        about: dict[str, int] = {}
        if grid and domain:
            about = dict(zip(("nx", "ny", "nz"), map(int, domain[0].groups()), strict=True))
            about["ranks"] = int(grid[0][1]) * int(grid[0][2]) * int(grid[0][3])
        ranks = about.get("ranks", 1)
        if invalid := run.find(r".*INVALID RUN.*"):
            text.problems.append(f"line {run.first}: the output says '{invalid}'")
            continue
        for row, at in run.match(ROW):
            with run.row(at):
                name, sentence = row["name"].lower(), "the speed is not the sum of those of the ranks"
                if about:
                    expect_near(number(row["rate"]), number(row["each"]) * ranks, 0.06 * (ranks + 1), sentence)
                kernel, metric = ("hpcg", "rating") if name == "final" else (name, "flops")
                if name != "final" or not any(abs(number(row["rate"]) - rating) < 0.06 for rating in rated):
                    columns = {"rate": (metric, "Gflop/s", "one run"), "bandwidth": ("bandwidth", "GB/s", "one run")}
                    yield from make_row("hpcg.solve", kernel, row.groupdict(), columns, about, UNCHECKED)
