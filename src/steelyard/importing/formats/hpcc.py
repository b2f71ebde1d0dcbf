"""HPC Challenge (HPCC) 1.0 to 1.5: the summary section, also as hpccoutf.pl -a prints it, and the sections before it. If a
summary follows, the means are read from it. HPL's own table is read as HPL.

https://hpcchallenge.org
"""

import re
from collections.abc import Mapping
from dataclasses import replace

from steelyard.importing.text import Text
from steelyard.importing.values import Given, Values, make
from steelyard.model.foreign import ForeignValue

TOOL = "HPC Challenge"
CONDITIONS = {"build": r"^Compiled on (\S.*)"}
HOST, STARTED = r"^Hostname: '(.+)'", r"^Current time \(\d+\) is (.+)"
ENDINGS = {
    "Tflops": ("flops", "Tflop/s"), "Gflops": ("flops", "Gflop/s"), "GBs": ("bandwidth", "GB/s"), "usec": ("latency", "us"),
    "GBytes": ("bandwidth", "GB/s"), "GUPs": ("rate", "Gupdate/s"), "time": ("time", "s"),
    **dict.fromkeys(("Copy", "Scale", "Add", "Triad"), ("bandwidth", "GB/s")),
}  # fmt: skip
SIZES = re.findall(r"\w+", "HPL_N PTRANS_n DGEMM_N STREAM_VectorSize MPIFFT_N FFT_N MPIRandomAccess_N RandomAccess_N")
PAIRS = {"Max": "greatest of the pairs", "Min": "least of the pairs", "Avg": "mean of the pairs"}


def _find_rows(run: Text) -> dict[str, tuple[str, int]]:
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


ALONE = "One rank works while the others wait. The compiler may have used streaming stores."
BETWEEN = "Pairs of all ranks, also of those on one node. The same buffers are used for all messages."


def read_summary(text: Text) -> Values:
    """Yields each result of the summaries whose unit its name has. A test that did not run has the result -1."""
    for run in text.ended().runs(r"This is the DARPA/DOE HPC Chall|Begin of Summary section"):
        rows = _find_rows(run)
        if rows.get("Success", ("1",))[0] != "1":
            text.problems.append(f"line {rows['Success'][1]}: the summary says that the run did not succeed")
            continue
        pairs, started = {name: word for name, (word, _) in rows.items()}, run.find(STARTED)
        for name, (word, at) in sorted(rows.items(), key=lambda row: row[0][:3] != "Avg"):  # means first
            if name.rpartition("_")[2] in ENDINGS and not word.startswith("-"):
                with run.row(at):
                    yield replace(_make_value(name, word, pairs), started=started)


def _make_value(name: str, word: str, pairs: Mapping[str, str]) -> ForeignValue:
    head, _, last = name.rpartition("_")
    metric, unit = ENDINGS[last]
    ranks = int(pairs.get("CommWorldProcs", 0)) or None
    size = next((int(pairs[key]) for key in SIZES if key.partition("_")[0] in head and key in pairs), None)
    if pair := re.fullmatch(r"(Max|Min|Avg)PingPong(Latency|Bandwidth)", head):
        length = 8 if pair[2] == "Latency" else 2_000_000
        about: Given = {"message_bytes": length, "buffers": "reused", "ranks": ranks}
        return make("network.pingpong", "pingpong", metric, word, unit, PAIRS[pair[1]], about, note=BETWEEN)
    if head == "SingleSTREAM":
        threads = int(pairs.get("STREAM_Threads", 0)) or None
        given = {"elements": size, "threads": threads, "ranks": ranks}
        return make("memory.stream", last.lower(), metric, word, unit, "best of 9", given, note=ALONE)
    kernel = name if "STREAM" in head else head
    statistic = "mean of the ranks" if head.startswith("Star") else "as printed" if "Ring" in head else "one run"
    return make("hpcc.summary", kernel, metric, word, unit, statistic, {"N": size, "ranks": ranks})


RUN = r"This is the DARPA/DOE HPC Chall"
WORLD = r"^CommWorldProcs=(\d+)|^Running on (\d+) processors"
LINE = (
    r"(?:(?P<which>Minimum|Average|Maximum|Single)(?: (?:STREAM|DGEMM|FFT))?(?: (?P<operation>Copy|Scale|Add|Triad))? "
    r"(?P<unit>GUP/s|Gflop/s|GB/s)\s+|(?P<one>Gflop/s):\s+)(?P<value>\S+)\s*$"
)
UPDATES = r"(?P<value>\S+) Billion\(10\^9\) Updates\s+per second \[GUP/s\]"
UNITS = {"GUP/s": ("rate", "Gupdate/s"), "Gflop/s": ("flops", "Gflop/s"), "GB/s": ("bandwidth", "GB/s")}
STATISTICS = {"Average": "mean of the ranks", "Minimum": "least of the ranks", "Maximum": "greatest of the ranks"}


def read_sections(text: Text) -> Values:
    """Yields least and greatest result of the ranks, without a summary also their means and the results of one rank."""
    for run in text.ended().runs(RUN):
        ranks, started = run.integers(ranks=WORLD), run.find(STARTED)
        summary = "Begin of Summary section" in run.whole
        if "Success=0" in run.lines:
            continue  # the summary is read by its own format, which says it
        sizes: dict[str, int | None] = {}
        for head, part in run.parts(r"Begin of (\w+) section"):
            if part.find(r"Node\(s\) with error [1-9]|\(failed\)"):
                text.problems.append(f"line {part.first}: a check of {head[1]} failed")
                continue
            stated = part.integer(r"(?:^(?:Total )?Main table size *= .*= +|^Vector size: +)(\d+)")
            name = re.sub(
                "^(?:MPI|Star|Single)", "", head[1]
            )  # that of one rank is the size of each of all ranks, above it
            sizes[name] = stated or sizes.get(name)
            about = {**ranks, "N": None if summary else sizes[name]}
            rows = [(row, at) for row, at in part.match(LINE) if not summary or row["which"] in ("Minimum", "Maximum")]
            for row, at in sorted(rows, key=lambda found: found[0]["which"] != "Average"):  # means first
                with run.row(at):
                    metric, unit = UNITS[row["unit"] or row["one"]]
                    kernel = f"{head[1]}_{row['operation']}" if row["operation"] else head[1]
                    statistic = STATISTICS.get(row["which"], "one run")
                    made = make("hpcc.summary", kernel, metric, row["value"], unit, statistic, about)
                    yield replace(made, started=started)
            for row, at in part.match(UPDATES) if not summary and head[1].startswith("MPI") else ():
                with run.row(at):
                    made = make("hpcc.summary", head[1], "rate", row["value"], "Gupdate/s", "one run", about)
                    yield replace(made, started=started)


READERS = {
    read_summary: ("Begin of Summary section", "StarSTREAM_Triad=", "HPCCOUTF NAME"),
    read_sections: ("HPC Challenge Benchmark version", "Begin of StarSTREAM section"),
}
