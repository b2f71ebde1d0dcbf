"""Intel MPI Benchmarks (IMB) 3 to 2021: MPI-1, NBC, EXT, RMA, IO, MT and P2P, also in groups (Multi-).

https://github.com/intel/mpi-benchmarks
"""

from collections.abc import Iterator
from dataclasses import replace

from steelyard.importing.message_rows import IMB_RUN, UNREAD, find_megabyte, refuse_unmeasured, share_ranks
from steelyard.importing.operations import Meaning, find_meaning, read_rows
from steelyard.importing.text import OTHER_LINES, Text
from steelyard.importing.values import Column, Given, rename
from steelyard.model.foreign import ForeignValue

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


def read(text: Text) -> Iterator[ForeignValue]:
    """Yields the values of each benchmark of each run; rows that ran out of memory or time have none.

    Mbytes/sec are 2^20 bytes per second up to version 4, and 10^6 since 2018. Without the version, the rows show it.
    """
    for _, run in text.parts_or_whole(IMB_RUN):
        version = run.integer(r"MPI Benchmarks? (?:Suite V)?(\d+)") or 0
        started, fresh, gpu = run.find(r"^\s*# Date +: (.+)"), run.find(r"-off_cache +-?\d"), "MPI1-GPU" in run.whole
        for head, part in run.parts(r"\s*# Benchmarking\s+(\S+)"):
            refuse_unmeasured(part)
            name = head[1].lower().replace("-", "_")
            meaning = (not gpu and find_meaning(name.removesuffix("_pure"))) or Meaning(f"imb.{name}", name)
            buffers = None if meaning.benchmark == "network.collectives" else "fresh" if fresh else "reused"
            meaning = replace(meaning, note="") if buffers == "fresh" else meaning
            counts, mode = part.integers(**PARAMETERS), part.words(mode=r"MODE: (\S+)")
            pairs = share_ranks(meaning.benchmark, counts.get("ranks"))
            given: Given = {**counts, **mode, "device": "GPU" if gpu else None, "pairs": pairs, "buffers": buffers}
            for rows in part.tables(TABLE, skip=f"{UNREAD}|{OTHER_LINES}"):
                with run.row(rows[0].line):
                    bandwidth = {"Mbytes/sec": ("bandwidth", find_megabyte(rows, version), "mean")}
                    columns = rename(COLUMNS | bandwidth, **NAMES.get(meaning.benchmark, {}))
                    size = "#bytes" if "Group" in rows[0] else "bytes"
                    values = read_rows(part, rows, meaning, columns, given, message_bytes=size, group="Group")
                    yield from (replace(value, started=started) for value in values) if started else values
