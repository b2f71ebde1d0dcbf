"""likwid-bench of LIKWID 3 to 5.

https://github.com/RRZE-HPC/likwid
"""

import re
from collections.abc import Iterator

from steelyard.importing.text import Text
from steelyard.importing.values import make
from steelyard.model.foreign import ForeignValue

TOOL = "likwid-bench"
MARKS = ("LIKWID MICRO BENCHMARK", "Cycles per cacheline:")
OURS = {"copy": ("copy", 2), "stream": ("triad", 3)}  # kernel and vectors of memory.stream
NOTE = "The value is the mean of many passes. The bytes are counted as in STREAM."
FIGURES = (
    ("MByte/s", "bandwidth", "MB/s"), ("MFlops/s", "flops", "Mflop/s"), ("Time", "time", "s"),
    ("Cycles per update", "cycles_per_update", "cycle"), ("Cycles per cacheline", "cycles_per_cacheline", "cycle"),
)  # fmt: skip


def read(text: Text) -> Iterator[ForeignValue]:
    """Yields bandwidth, speed, time and cycles of each kernel in the file."""
    for _, part in [*text.parts(r".*LIKWID MICRO BENCHMARK")] or text.parts(r"\s*Cycles:\s"):
        pairs = part.pairs(r":\s*")
        named = re.findall(r"likwid-bench .*?-t (\w+)", text.before(part, "Cycles per cacheline"))
        test = pairs.get("Test") or (named[-1] if named else "unknown")
        about: dict[str, int | str | None] = {"threads": part.integer(r"Using (\d+) threads")}
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
