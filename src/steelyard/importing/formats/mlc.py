"""Intel Memory Latency Checker (MLC) 3.0 to 3.11: latencies without load, of memory and from cache to cache.

https://www.intel.com/content/www/us/en/developer/articles/tool/intelr-memory-latency-checker.html
"""

from collections.abc import Iterator

from steelyard.importing.grids import read_cells
from steelyard.importing.text import Text
from steelyard.importing.values import Given, make, make_name
from steelyard.model.foreign import ForeignValue

TOOL = "Intel MLC"
MARKS = ("Memory Latency Checker", "Measuring idle latenc", "Each iteration took")
RANDOM = "The accesses are random. MLC chooses them if it cannot switch off the prefetchers, or with the option -r."
SEQUENTIAL = "Without prefetchers, the accesses are sequential. They need fewer address translations than random ones."
HEAD = r"\s*(?:Measuring (idle latenc|cache-to-cache)?.*?(\(in ns\))?[ .]*|Using \S+ traffic .*)$"
NODES = r".*(?:Numa Node|Numa node|Socket)\s+0\b"
CACHES = r"\s*(Local|Remote) Socket .*?(HITM?)\s+latency\s*(?:\(.*homed in (\w+) .*\)|(\S*))\s*$"


def read(text: Text) -> Iterator[ForeignValue]:
    """Yields the latencies. The latency of the memory of the first node for its own processors is a case of memory.latency."""
    for run in text.runs(r".*Memory Latency Checker"):
        note = RANDOM if run.find(r"Unable to modify prefetchers|for random access|parameters:.* -r\b") else SEQUENTIAL
        mib = run.integer(r"Using buffer size of (\d+)\.0*Mi?B\s*$") or 0
        kib = run.integer(r"Command line parameters:.* -b(\d+)k?(?:\s|$)") or mib << 10
        chase = {"threads": 1, "chains": 1, "working_set_bytes": kib << 10 or None}
        for found, _ in run.match(r"\s*Each iteration took .*\(\s*(\S+)\s*ns\)"):
            yield make("memory.latency", "chase", "latency", found[1], "ns", "mean", chase, note=note)
        for head, part in run.parts(HEAD):
            if head[1] and not head[2]:
                text.problems.append(f"line {part.first} begins a section of an unknown unit: '{head[0].strip()}'")
            elif head[1]:
                yield from _between_caches(part) if head[1].startswith("cache") else _idle(part, chase, note)


def _idle(part: Text, chase: Given, note: str) -> Iterator[ForeignValue]:
    for cpu, memory, word in read_cells(part, NODES):
        if cpu == memory == 0:
            yield make("memory.latency", "chase", "latency", word, "ns", "mean", chase, note=note)
        else:
            nodes = {"cpu_node": cpu, "memory_node": memory}
            yield make("mlc.nodes", "idle", "latency", word, "ns", "mean", nodes, note=note)


def _between_caches(part: Text) -> Iterator[ForeignValue]:
    for line, rest in part.parts(CACHES):
        kernel = make_name(f"{line[1]} {line[2]}")
        for writer, reader, word in read_cells(rest, NODES) if line[3] else ():
            where = {"writer_node": writer, "reader_node": reader, "home": line[3]}
            yield make("mlc.cache_to_cache", kernel, "latency", word, "ns", "mean", where)
        if line[4]:
            yield make("mlc.cache_to_cache", kernel, "latency", line[4], "ns", "mean")
