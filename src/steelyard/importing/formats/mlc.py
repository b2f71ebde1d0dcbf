"""Intel Memory Latency Checker (MLC) 3.0 to 3.11: latencies without load, of memory and from cache to cache, bandwidths, and
latencies under load.

https://www.intel.com/content/www/us/en/developer/articles/tool/intelr-memory-latency-checker.html
"""

from itertools import chain

from steelyard.importing.grids import read_cells
from steelyard.importing.patterns import search
from steelyard.importing.text import Match, Text
from steelyard.importing.values import Column, Given, Values, make, make_name, make_row

TOOL = "Intel MLC"
DOUBTS = r"^\*\*\* (Unable to modify prefetchers.*)"
RANDOM = "The accesses are random. MLC chooses them if it cannot switch off the prefetchers, or with the option -r."
SEQUENTIAL = "Without prefetchers, the accesses are sequential. They need fewer address translations than random ones."
HEAD = r"\s*(?:Measuring (idle latenc|cache-to-cache)?.*?(\(in ns\))?[ .]*|Using \S+ traffic .*)$"
NODES = r".*(?:Numa Node|Numa node|Socket)\s+0\b"
CACHES = r"\s*(Local|Remote) Socket .*?(HITM?)\s+latency\s*(?:\(.*homed in (\w+) .*\)|(\S*))\s*$"


COMMAND = r"(?:Command line parameters:|\bmlc(?:_\w+)? )"
BINARY = {"": 10, "k": 10, "m": 20, "g": 30}  # powers of two by the letter behind the option -b


def _find_settings(run: Text) -> tuple[int | None, str | None]:
    """Returns the bytes of the buffer, and the options in the command that are no mode, size or duration."""
    words = run.find(rf"{COMMAND}(.*)").split()
    sizes = [search(r"^-b(\d{1,9})([kmg]?)$", word) for word in words]
    mib = run.integer(r"Using buffer size of (\d+)\.0*Mi?B(?:/|\s*$)")
    given = next((int(size[1]) << BINARY[size[2]] for size in sizes if size), mib and mib << 20)
    return given, " ".join(sorted(word for word in words if search(r"^-[^-bt]", word))) or None


def read_idle(text: Text) -> Values:
    """Yields the latencies. The latency of the memory of the first node for its own processors is a case of memory.latency."""
    for run in text.runs(r".*Memory Latency Checker"):
        note = RANDOM if run.find(r"Unable to modify prefetchers|for random access|parameters:.* -r\b") else SEQUENTIAL
        buffer, options = _find_settings(run)
        chase = {"threads": 1, "chains": 1, "working_set_bytes": buffer, "options": options}
        for found, _ in run.match(r"\s*Each iteration took .*\(\s*(\S+)\s*ns\)"):
            yield make("memory.latency", "chase", "latency", found[1], "ns", "mean", chase, note=note)
        for head, part in run.parts(HEAD):
            if head[1] and not head[2]:
                text.problems.append(f"line {part.first} begins a section of an unknown unit: '{head[0].strip()}'")
            elif head[1]:
                yield from _read_caches(part) if head[1].startswith("cache") else _read_nodes(part, chase, note)


def _read_nodes(part: Text, chase: Given, note: str) -> Values:
    for cpu, memory, word in read_cells(part, NODES):
        if cpu == memory == 0:
            yield make("memory.latency", "chase", "latency", word, "ns", "mean", chase, note=note)
        else:
            nodes = {"cpu_node": cpu, "memory_node": memory}
            yield make("mlc.nodes", "idle", "latency", word, "ns", "mean", nodes, note=note)


def _read_caches(part: Text) -> Values:
    for line, rest in part.parts(CACHES):
        kernel = make_name(f"{line[1]} {line[2]}")
        for writer, reader, word in read_cells(rest, NODES) if line[3] else ():
            where = {"writer_node": writer, "reader_node": reader, "home": line[3]}
            yield make("mlc.cache_to_cache", kernel, "latency", word, "ns", "mean", where)
        if line[4]:
            yield make("mlc.cache_to_cache", kernel, "latency", line[4], "ns", "mean")


LOAD_HEAD = r"\s*Measuring (?P<what>Peak Injection|Maximum|Memory Bandwidths between|Loaded)?"
RATES = {"Peak Injection": "greatest injection rate", "Maximum": "best injection rate"}
PEAK = r"\s*(ALL Reads|\d:\d Reads-Writes|Stream-triad like)\s*:\s*(\S+)\s*$"
NODES = r".*(?:Numa Node|Numa node|Socket)\s+0\b"
LOADED: dict[str, Column] = {"Latency": ("latency", "ns", "mean"), "Bandwidth": ("bandwidth", "MB/s", "mean")}


def read_load(text: Text) -> Values:
    """Yields the bandwidths of the system by the share of writes and from node to node, and the latencies under load."""
    for run in text.runs(r".*(?:Memory Latency Checker|\bmlc(?:_\w+)? +--)"):
        buffer, options = _find_settings(run)
        about = {"buffer_bytes": buffer, "options": options}
        for head, part in run.parts(LOAD_HEAD):
            yield from _read_section(head, part, about)


def _read_section(head: Match, part: Text, about: Given) -> Values:
    traffic = make_name(part.find(r"Using (\S+) traffic type", "other"))
    one = 1 if part.find(r"Using only one thread from each core") else None  # the option -X
    about = {**about, "threads_per_core": one}
    unit = "Delay (ns) MB/sec" if head["what"] == "Loaded" else "Bandwidths are in MB/sec"
    if head["what"] and unit not in " ".join(part.whole.split()):
        part.problems.append(f"line {part.first} begins a section of an unknown unit: '{part.lines[0].strip()}'")
    elif head["what"] == "Loaded":
        tables = part.tables(r"Inject\s+Latency\s+Bandwidth", skip=r"\s*(Delay\b|=+|$)")
        for row in chain.from_iterable(tables):
            given = {"inject_delay": int(row["Inject"]), **about}
            yield from make_row("mlc.loaded", traffic, row, LOADED, given)
    elif head["what"] in RATES:
        rates: Given = {"rates": RATES[head["what"]], **about}
        for line, _ in part.match(PEAK):
            yield make("mlc.bandwidth", make_name(line[1]), "bandwidth", line[2], "MB/s", "mean", rates)
    elif head["what"]:
        for cpu, memory, word in read_cells(part, NODES):
            where = {"cpu_node": cpu, "memory_node": memory, **about}
            yield make("mlc.nodes", traffic, "bandwidth", word, "MB/s", "mean", where)


READERS = {
    read_idle: ("Memory Latency Checker", "Measuring idle latenc", "Each iteration took"),
    read_load: ("Memory Bandwidths for the system", "Memory Bandwidths between nodes", "Measuring Loaded Latencies"),
}
