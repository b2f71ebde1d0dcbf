"""The names in the summary of HPC Challenge, and their rows."""

import re

from steelyard.importing.text import Text

ENDINGS = {
    "Tflops": ("flops", "Tflop/s"), "Gflops": ("flops", "Gflop/s"), "GBs": ("bandwidth", "GB/s"), "usec": ("latency", "us"),
    "GBytes": ("bandwidth", "GB/s"), "GUPs": ("rate", "Gupdate/s"), "time": ("time", "s"),
    **dict.fromkeys(("Copy", "Scale", "Add", "Triad"), ("bandwidth", "GB/s")),
}  # fmt: skip
SIZES = re.findall(r"\w+", "HPL_N PTRANS_n DGEMM_N STREAM_VectorSize MPIFFT_N FFT_N MPIRandomAccess_N RandomAccess_N")
PAIRS = {"Max": "greatest of the pairs", "Min": "least of the pairs", "Avg": "mean of the pairs"}


def find_rows(run: Text) -> dict[str, tuple[str, int]]:
    """Returns word and line of each name. A name with several words, as in two excerpts, becomes a problem instead."""
    rows: dict[str, tuple[str, int]] = {}
    twice = set()
    for found, at in run.match(r"(\w+)(?:=|  +)(\S+)\s*$"):
        if found[1] in rows and rows[found[1]][0] != found[2]:
            twice.add(found[1])
        rows.setdefault(found[1], (found[2], at))
    doubled = sorted(name for name in twice if name.rpartition("_")[2] in ENDINGS)
    run.problems.extend(f"line {rows[name][1]}: {name} has several values" for name in doubled)
    return {name: row for name, row in rows.items() if name not in twice}
