"""BabelStream 1 to 5 and its predecessor GPU-STREAM, as text; BabelStream 3 to 5 with --csv; BabelStream of the library alpaka.

https://github.com/UoB-HPC/BabelStream, https://github.com/alpaka-group/alpaka
"""

import re
from collections.abc import Mapping

from steelyard.importing.doubts import WARNS, add_note
from steelyard.importing.grids import read_separated
from steelyard.importing.name_facts import NEUTRAL
from steelyard.importing.patterns import Match, find_all, search
from steelyard.importing.text import Row, Text
from steelyard.importing.values import Column, Given, Values, best_of, expect_near, make, make_name, make_row, number

TOOL = "BabelStream"
BENCHMARK = "babelstream.stream"
# device.stream measures these kernels in the same way, if the implementation of BabelStream runs on GPUs only.
OURS = "device.stream"
NAMES_OF_OURS = {"copy": "copy", "mul": "scale", "add": "add", "triad": "triad", "read": "read"}
DOORS = {"cuda": "cuda", "hip": "hip"}
PRECISIONS = {"float": "single"}
KERNELS = ("Copy", "Mul", "Add", "Triad", "Dot", "Nstream", "Init", "Read")
HEAD = r"Function +(Mi?Bytes/sec) +Min \(sec\) +Max(?: \(sec\))? +Average"
ROW = rf"\s*({'|'.join(KERNELS)})\s"
FAILED = r"Validation failed on .*"
SUM = r"(Validation failed on sum\. Error \S+)\s+Sum was ([-+.\de]+) but should be ([-+.\de]+)"
ROUNDING = (
    1e-7  # relative; 2^29 double numbers that are added one by one have 6e-8, and the lost part of a thread is more
)
NAMES = {
    "model": r"Implementation: *(.*)", "precision": r"Precision: *(\w+)", "device": r"Using \w+ device (.*)",
    "array": r"Array size: *(.*?) *\(", "memory": r"^Memory: *(?!DEFAULT)(\w+)",
}  # fmt: skip
COLUMNS: dict[str, Column] = {
    r"max_mbytes_per_sec|MBytes/sec": ("bandwidth", "MB/s", ""), r"max_mibytes_per_sec|MiBytes/sec": ("bandwidth", "MiB/s", ""),
    r"gbytes_per_sec": ("bandwidth", "GB/s", "mean"), r"gibytes_per_sec": ("bandwidth", "GiB/s", "mean"),
    r"avg_runtime": ("pass_time", "s", "mean"), r"min_runtime": ("pass_time", "s", "least"),
    r"max_runtime": ("pass_time", "s", "greatest"),
}  # fmt: skip


def read_text(text: Text) -> Values:
    """Yields the best bandwidth of each kernel, and the mean, least and greatest time of its passes."""
    for run in text.runs(r"\s*(?:BabelStream|GPU-STREAM)\s*$"):
        yield from _check(text, run.whole, _read_run(run))


def _check(text: Text, output: str, values: Values) -> Values:
    """Yields the values of an output, none if a solution is wrong. A sum of the dot product that is rounded adds a note."""
    failed = [match[0] for match in find_all(FAILED, output)]
    rounded = [
        match[1]
        for match in find_all(SUM, output)
        if abs(number(match[2]) - number(match[3])) <= ROUNDING * abs(number(match[3]))
    ]
    if len(rounded) < len(failed):
        text.problems.append(f"the check of the solution failed ({failed[0]})")
        return
    for value in values:
        yield add_note(value, f"{TOOL}{WARNS}'{rounded[0]}'.") if rounded else value


def _read_run(run: Text) -> Values:
    for part in run.split_tables(rf"\s*{HEAD}", ROW):
        about = part.words(**NAMES)
        unit = part.find(rf"^\s*{HEAD}")
        columns = ("kernel", unit, "min_runtime", "max_runtime", "avg_runtime")
        bare = part.rewrite(r"^(\s*\w+) :", r"\1")  # the ROCm Validation Suite writes "Copy :"
        for row in bare.fit(columns, ROW) if unit else ():
            yield from _read_row(row["kernel"], row, part.find(r"Running \w+ (\d+) times"), about)
        for line, _ in part.match(r"\s*(Init|Read): *\S+ s \(=(\S+) (Mi?B)ytes/sec\)"):
            name, kernel, given = _choose(line[1].lower(), about)
            yield make(name, kernel, "bandwidth", line[2], line[3] + "/s", "one run", given)
        for line, _ in part.match(r"Bandwidth \((Gi?B/s)\): *(\S+)"):
            name, kernel, given = _choose("triad", about)
            yield make(name, kernel, "bandwidth", line[2], line[1], "mean", given)


def _read_row(kernel: str, row: Mapping[str, str], passes: str, about: Given) -> Values:
    """Yields the values of a row, whose columns have names of the CSV. `passes` is their number, or empty."""
    best = "one run" if passes == "1" else best_of(int(passes or 1) - 1)  # the first pass is left out
    columns = {name: (metric, unit, statistic or best) for name, (metric, unit, statistic) in COLUMNS.items()}
    name, kernel, given = _choose(kernel.lower(), about)
    yield from make_row(name, kernel, row, columns, given)


def _choose(kernel: str, about: Given) -> tuple[str, str, Given]:
    """Returns the benchmark, its kernel and its parameters: those of Steelyard where they measure the same."""
    door = DOORS.get(str(about.get("model")).lower())
    if not (door and kernel in NAMES_OF_OURS):
        return BENCHMARK, kernel, about
    precision = str(about.get("precision") or "double").lower()
    ours = {**about, "door": door, "precision": PRECISIONS.get(precision, precision)}
    return OURS, NAMES_OF_OURS[kernel], {name: word for name, word in ours.items() if name != "model"}


ALPAKA_NAMES = {
    "model": r"^AcceleratorType: *(.+)", "precision": r"^Precision: *(\w+)", "device": r"^DeviceName: *(.+)",
}  # fmt: skip
ALPAKA_COLUMNS: dict[str, Column] = {
    r"Bandwidths\(GB/s\)": ("bandwidth", "GB/s", "best"),
    r"MinTime\(s\)": ("pass_time", "s", "least"), r"MaxTime\(s\)": ("pass_time", "s", "greatest"),
    r"AvgTime\(s\)": ("pass_time", "s", "mean"),
}  # fmt: skip


def read_alpaka(text: Text) -> Values:
    """Yields the bandwidth of the fastest pass of each kernel, and the times of its passes."""
    for run in text.runs(r"\s*AcceleratorType:"):
        about: Given = {**run.words(**ALPAKA_NAMES), **run.integers(elements=r"^DataSize\(items\): *(\d+)")}
        for rows in run.tables(r"Kernels\s.*Bandwidths\(GB/s\)", row=r"\w+Kernel"):
            for row in rows:
                with run.row(row.line):
                    rate, moved = number(row["Bandwidths(GB/s)"]), number(row["DataUsage(MB)"]) * 1e-3
                    sentence = "its bandwidth does not fit its time and the moved data"
                    expect_near(rate * number(row["MinTime(s)"]), moved, 0.01 * moved, sentence)
                    name = row["Kernels"].removesuffix("Kernel").lower().replace("mult", "mul")
                    yield from make_row(BENCHMARK, name, row, ALPAKA_COLUMNS, about)


CSV_HEAD = r"(?:function,num_times|phase,n_elements),"
CSV_COLUMNS = rf"function|phase|num_times|n_elements|sizeof|runtime|{'|'.join(COLUMNS)}"


def read_csv(text: Text) -> Values:
    """Yields the best bandwidth of each kernel, and the mean, least and greatest time of its passes."""
    for _, part in text.parts(CSV_HEAD):
        above = text.before(part, rf"^(?:{'|'.join(KERNELS)}),")
        yield from _check(text, above, _read_csv(text, part, search(NAMES["device"], above)))


def _read_csv(text: Text, part: Text, device: Match | None) -> Values:
    for row in read_separated(part, CSV_HEAD):
        kernel = row.get("function") or row["phase"]
        sizes = {"elements": int(row["n_elements"]), "precision": "float" if row["sizeof"] == "4" else "double"}
        if kernel in KERNELS:
            about = {"device": device[1].strip() if device else None, **sizes, **_find_added(row)}
            yield from _read_row(kernel, row, row.get("num_times", "1"), about)
        else:
            text.problems.append(f"line {row.line}: the kernel '{kernel}' is unknown")


def _find_added(row: Row) -> dict[str, str]:
    """Returns the columns that a script added, such as the threads, without those that count repetitions."""
    added = {name: word for name, word in row.items() if not re.fullmatch(CSV_COLUMNS, name)}
    repeating = {name for name in added if NEUTRAL & {*re.findall("[a-z]+", name.lower())}}
    return {make_name(name): word for name, word in added.items() if name not in repeating}


READERS = {
    read_text: ("BabelStream", "GPU-STREAM", "Bytes/sec  Min (sec)"),
    read_alpaka: ("Bandwidths(GB/s)",),
    read_csv: ("function,num_times,n_elements", "phase,n_elements"),
}
