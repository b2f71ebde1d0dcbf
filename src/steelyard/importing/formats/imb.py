"""Intel MPI Benchmarks (IMB) 3 to 2021: MPI-1, NBC, EXT, RMA, IO, MT and P2P, also in groups (Multi-).

https://github.com/intel/mpi-benchmarks
"""

from collections.abc import Sequence
from dataclasses import replace

from steelyard.importing.launches import shorten
from steelyard.importing.operations import Meaning, find_meaning, read_rows
from steelyard.importing.patterns import find_all
from steelyard.importing.text import OTHER_LINES, Row, Text
from steelyard.importing.values import Column, Given, Values, find_unit, number, rename
from steelyard.model.units import binary_size

TOOL = "Intel MPI Benchmarks"
MARKS = ("MPI Benchmarks", "MPI Benchmark Suite", "#repetitions")
TABLE = r"(?:Group\s+)?#(?:bytes|repetitions)\b(?!.*#iterations)"  # #iterations is of perftest
PARAMETERS = {
    "ranks": r"#processes = (\d+)", "groups": r"\( *(\d+) groups", "members": r"groups of (\d+)",
    "threads": r"\(threads: (\d+)", "window": r"window_size = (\d+)",
}  # fmt: skip
COLUMNS: dict[str, Column] = {
    r"t_max\[usec\]": ("time", "us", "greatest of the ranks"), r"t_min\[usec\]": ("time", "us", "least of the ranks"),
    r"t(_avg|_pure)?\[usec\]": ("time", "us", "mean"), r"t_ovrl\[usec\]": ("together", "us", "mean"),
    r"overlap\[%\]": ("overlap", "%", "mean"), r"Msg/sec": ("message_rate", "/s", "mean"),
}  # fmt: skip
NAMES = {"network.pingpong": {"time": "latency"}, "network.sendrecv": {"bandwidth": "imb_bandwidth"}}
# A run begins with its heading, or with the command of a launcher.
RUN = r"\s*#\s+Intel ?\(R\) MPI Benchmark|\s*(?:[^\s#].*)?\b(?:mpirun|mpiexec|srun|aprun)\b.*\bIMB-[A-Z]"
UNREAD = r"\s*+(?P<size>\d++)[\d\s]*+(?P<why>out-of-|time-out|int-over)"  # rows of sizes that IMB did not measure
CHOOSING = ("-input", "-include", "-exclude", "-msglog", "-msglen", "-len", "-output")  # options
LIMITS = {"time-out": "time limit", "out-of-": "memory limit", "int-over": "greatest number"}
SMALL = 0.2  # a number with two decimals, which is rounded by more than half the difference of MB and MiB


def read(text: Text) -> Values:
    """Yields the values of each benchmark of each run; rows that ran out of memory or time have none.

    Mbytes/sec are 2^20 bytes per second up to version 4, and 10^6 since 2018. Without the version, the rows show it.
    """
    for _, run in text.parts_or_whole(RUN):
        version = run.integer(r"MPI Benchmarks? (?:Suite V)?(\d+)") or 0
        started, fresh, gpu = run.find(r"^\s*# Date +: (.+)"), run.find(r"-off_cache +-?\d"), "MPI1-GPU" in run.whole
        options = _find_options(run)
        for head, part in run.parts(r"\s*# Benchmarking\s+(\S+)"):
            _refuse_unmeasured(part)
            name = head[1].lower().replace("-", "_")
            meaning = (not gpu and find_meaning(name.removesuffix("_pure"))) or Meaning(f"imb.{name}", name)
            buffers = None if meaning.benchmark == "network.collectives" else "fresh" if fresh else "reused"
            meaning = replace(meaning, note="") if buffers == "fresh" else meaning
            counts, mode = part.integers(**PARAMETERS), part.words(mode=r"MODE: (\S+)")
            pairs = _share_ranks(meaning.benchmark, counts.get("ranks"))
            given: Given = {**counts, **mode, "device": "GPU" if gpu else None, "pairs": pairs, "buffers": buffers}
            given = {**given, "options": options}
            for rows in part.tables(TABLE, skip=f"{UNREAD}|{OTHER_LINES}"):
                with run.row(rows[0].line):
                    bandwidth = {"Mbytes/sec": ("bandwidth", _find_megabyte(rows, version), "mean")}
                    columns = rename(COLUMNS | bandwidth, **NAMES.get(meaning.benchmark, {}))
                    size = "#bytes" if "Group" in rows[0] else "bytes"
                    values = read_rows(part, rows, meaning, columns, given, message_bytes=size, group="Group")
                    yield from (replace(value, started=started) for value in values) if started else values


def _find_options(run: Text) -> str | None:
    """Returns the options in the command of a run, without those that choose benchmarks and sizes."""
    names = {head[1].lower() for head, _ in run.match(r"\s*# Benchmarking\s+(\S+)")}
    words = run.find(r"Calling sequence was:\s*\n[\s#]*(?:\S*/)?IMB-\w+ (.*)").split()
    command = f" {' '.join(word for word in words if word.lower() not in names)}"
    options = [" ".join(found[0].split()) for found in find_all(r" -\w+(?: [^-\s]\S*)*", command)]
    return shorten(" ".join(sorted(option for option in options if not option.startswith(CHOOSING)))) or None


def _refuse_unmeasured(part: Text) -> None:
    """Names the sizes that IMB did not measure."""
    for row, line in part.match(UNREAD):
        size = binary_size(int(row["size"])) if "#bytes" in part.whole else "a row"
        part.problems.append(f"line {line}: {size} was stopped by IMB's {LIMITS[row['why']]}")


def _find_megabyte(rows: Sequence[Row], version: int = 0) -> str:
    """Returns the unit of "Mbytes/sec" of IMB, which is MB/s since 2018.

    For other versions, size and time (or rate) of the row of the largest size show whether it is MB/s or MiB/s. If that rate is
    too small to show it, it is MiB/s up to version 4. Operations count their bytes once, twice or four times.
    ValueError if neither unit fits.
    """
    if version >= 2018:
        return "MB/s"
    size, row = max(((number(row.get("#bytes", row.get("bytes", "0"))), row) for row in rows), key=lambda pair: pair[0])
    if not number(row.get("Mbytes/sec", "0")):
        return "MB/s"
    if 1 < version < 5 and number(row["Mbytes/sec"]) < SMALL:
        return "MiB/s"
    time = number(row.get("t_max[usec]", row.get("t[usec]", "0")))
    rate = number(row.get("Msg/sec", "0")) or (1e6 / time if time else 0.0)
    return find_unit(row["Mbytes/sec"], rate * size, ("MB/s", "MiB/s"), multiples=(1, 2, 4))


def _share_ranks(benchmark: str, ranks: int | None) -> int | None:
    """Returns how many pairs of ranks IMB measured at once. A ping-pong has more than one pair in IMB-P2P only."""
    several = benchmark == "network.rate" or (benchmark == "network.pingpong" and (ranks or 0) > 2)
    return ranks // 2 if ranks and several else None
