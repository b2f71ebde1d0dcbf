"""LMbench 2 and 3: the results over sizes and processes in the file of a machine, and those of lat_mem_rd, bw_mem and lat_ctx.

https://lmbench.sourceforge.net
"""

import math
from collections.abc import Iterator

from steelyard.importing.patterns import Match, search
from steelyard.importing.text import Text
from steelyard.importing.values import make, make_name, number
from steelyard.model.foreign import ForeignValue

TOOL = "LMbench"
MARKS = ("[lmbench", '"stride=', "k ovr=", '"mappings', "Memory load latency")
HEAD = (
    r'"?(?P<name>mappings|size=(?P<kib>\d{1,6})k ovr=\S+|stride=(?P<stride>\d{1,6})|Random load latency|'
    r"Memory load (?:latency|parallelism)|[A-Za-z/0-9 ]* (?:bandwidth|aligned|unaligned)(?: using \S+)?)\s*$"
)
RANDOM = r"\blat_mem_rd\b.* -t\b"  # this option makes the order of its accesses random
OTHERS = {"mappings": ("latency", "us"), "memory_load_parallelism": ("parallelism", "")}


def read(text: Text) -> Iterator[ForeignValue]:
    """Yields the results of each curve. The programs print medians, and of the latency of memory the least of all passes."""
    random = False
    for head, part in text.parts(HEAD):
        named = head["name"] == "Random load latency" or search(RANDOM, text.before(part, r"^\s*[\d.]+ [\d.]+\s*$"))
        random = bool(named or (random and head["stride"]))
        for place, row in enumerate(part.fit(("size", "word"), r"[\d.]+\s", "MB/sec"), part.first + 1):
            if row.line != place or head["name"].endswith("load latency"):
                text.problems.append(f"line {row.line} does not follow the heading of its table")
                break
            yield from _read_row(head, number(row["size"]), row["word"], random)
        random = random and not part.find(r"^\s*\[\w")  # a line such as [date] ends the results of a machine


def _read_row(head: Match, size: float, word: str, random: bool) -> Iterator[ForeignValue]:
    if head["stride"]:
        amount = round(size * 2048) * 512  # of MiB with 5 digits; the sizes are multiples of 512
        chase = {"threads": 1, "chains": 1, "bytes": amount}
        stride = {"stride_bytes": int(head["stride"]), "bytes": amount}
        case = ("memory.latency", "chase", "latency") if random else ("lmbench.memory_latency", "stride", "latency")
        yield make(*case, word, "ns", "least", chase if random else stride)
    elif head["kib"]:
        given = {"processes": int(size), "bytes": int(head["kib"]) << 10}
        yield make("lmbench.context_switch", "switch", "latency", word, "us", "median", given)
    elif size > 0:
        power = 2 ** round(math.log2(size * 1e6))  # of MB with 3 digits; most sizes are powers of two
        given = {"bytes": power if abs(power - size * 1e6) < 0.005 * power else round(size * 1e6)}
        metric, unit = OTHERS.get(make_name(head["name"]), ("bandwidth", "MB/s"))
        yield make("lmbench.curve", make_name(head["name"]), metric, word, unit, "median", given)
