"""likwid-bench of LIKWID 3 to 5.

https://github.com/RRZE-HPC/likwid
"""

from collections.abc import Iterator

from steelyard.importing.likwid_commands import find_runs, read_command
from steelyard.importing.text import Text
from steelyard.importing.values import make
from steelyard.model.foreign import ForeignValue

TOOL = "likwid-bench"
MARKS = ("LIKWID MICRO BENCHMARK", "Cycles per cacheline:", "likwid-bench -")
OURS = {"copy": ("copy", 2), "stream": ("triad", 3)}  # kernel and vectors of memory.stream
NOTE = "The value is the mean of many passes. The bytes are counted as in STREAM."
FIGURES = (
    ("MByte/s", "bandwidth", "MB/s"), ("MFlops/s", "flops", "Mflop/s"), ("Time", "time", "s"),
    ("Cycles per update", "cycles_per_update", "cycle"), ("Cycles per cacheline", "cycles_per_cacheline", "cycle"),
)  # fmt: skip


def read(text: Text) -> Iterator[ForeignValue]:
    """Yields bandwidth, speed, time and cycles of each kernel in the file."""
    for part in find_runs(text):
        pairs = part.pairs(r":\s*")
        test, threads = read_command(text, part)
        test = pairs.get("Test") or test
        about: dict[str, int | str | None] = {"threads": part.integer(r"Using (\d+) threads") or threads}
        groups = part.integer(r"Using (\d+) work groups") or 1
        about["groups"] = groups if groups > 1 else None  # each has memory of its own, perhaps on another socket
        size = part.integer(r"^\s*Size(?: \(Byte\))?:\s*(\d+)")
        first, *variants = test.split("_")
        ours = first in OURS and "sp" not in variants
        if ours:
            kernel, vectors = OURS[first]
            about["stores"] = "streaming" if "mem" in variants else "ordinary"
            about["elements"] = size // (8 * vectors) if size and "Size (Byte)" in pairs else None
        for name, metric, unit in FIGURES:
            word = pairs.get(name, "").removesuffix("sec").strip()
            if word and not (metric == "flops" and float(word) == 0):
                if ours and metric == "bandwidth":
                    yield make("memory.stream", kernel, metric, word, unit, "mean", about, note=f"{test}. {NOTE}")
                else:
                    yield make("likwid.bench", test, metric, word, unit, "mean", {**about, "bytes": size})
