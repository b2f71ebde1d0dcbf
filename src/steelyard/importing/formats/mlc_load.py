"""Intel Memory Latency Checker (MLC) 3.0 to 3.11: bandwidths, and latencies under load.

https://www.intel.com/content/www/us/en/developer/articles/tool/intelr-memory-latency-checker.html
"""

from collections.abc import Iterator
from itertools import chain

from steelyard.importing.grids import read_cells
from steelyard.importing.text import Text
from steelyard.importing.values import Column, Given, make, make_name, make_row
from steelyard.model.foreign import ForeignValue

TOOL = "Intel MLC"
MARKS = ("Memory Bandwidths for the system", "Memory Bandwidths between nodes", "Measuring Loaded Latencies")
HEAD = r"\s*Measuring (?P<what>Peak Injection|Maximum|Memory Bandwidths between|Loaded)?"
RATES = {"Peak Injection": "greatest injection rate", "Maximum": "best injection rate"}
PEAK = r"\s*(ALL Reads|\d:\d Reads-Writes|Stream-triad like)\s*:\s*(\S+)\s*$"
NODES = r".*(?:Numa Node|Numa node|Socket)\s+0\b"
LOADED: dict[str, Column] = {"Latency": ("latency", "ns", "mean"), "Bandwidth": ("bandwidth", "MB/s", "mean")}


def read(text: Text) -> Iterator[ForeignValue]:
    """Yields the bandwidths of the system by the share of writes and from node to node, and the latencies under load."""
    for head, part in text.parts(HEAD):
        traffic = make_name(part.find(r"Using (\S+) traffic type", "other"))
        one = 1 if part.find(r"Using only one thread from each core") else None  # the option -X
        unit = "Delay (ns) MB/sec" if head["what"] == "Loaded" else "Bandwidths are in MB/sec"
        if head["what"] and unit not in " ".join(part.whole.split()):
            text.problems.append(f"line {part.first} begins a section of an unknown unit: '{part.lines[0].strip()}'")
        elif head["what"] == "Loaded":
            tables = part.tables(r"Inject\s+Latency\s+Bandwidth", skip=r"\s*(Delay\b|=+|$)")
            for row in chain.from_iterable(tables):
                given = {"inject_delay": int(row["Inject"]), "threads_per_core": one}
                yield from make_row("mlc.loaded", traffic, row, LOADED, given)
        elif head["what"] in RATES:
            rates: Given = {"rates": RATES[head["what"]], "threads_per_core": one}
            for line, _ in part.match(PEAK):
                yield make("mlc.bandwidth", make_name(line[1]), "bandwidth", line[2], "MB/s", "mean", rates)
        elif head["what"]:
            for cpu, memory, word in read_cells(part, NODES):
                where = {"cpu_node": cpu, "memory_node": memory, "threads_per_core": one}
                yield make("mlc.nodes", traffic, "bandwidth", word, "MB/s", "mean", where)
