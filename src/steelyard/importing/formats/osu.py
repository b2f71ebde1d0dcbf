"""OSU micro-benchmarks 2 to 7: point to point, several pairs, one-sided and collective operations, and of the start-up tests
osu_init. (osu_hello prints no figure.)

https://mvapich.cse.ohio-state.edu/benchmarks/
"""

import re

from steelyard.importing.operations import PAIR, Meaning, count_ranks, find_meaning, read_rows
from steelyard.importing.patterns import Match, find_all
from steelyard.importing.text import OTHER_LINES, Text
from steelyard.importing.values import Column, Values, make, rename

TOOL = "OSU micro-benchmarks"
HEAD = r"\s*(?:# |(?=OSU .* v\d))OSU (?:One Sided )?(?P<api>[A-Za-z_+]+)(?P<device>-[A-Z]+)? (?P<name>\S.*)"
SHORT = {  # the names of the programs
    "bi_directional_bandwidth": "bibw", "bandwidth": "bw", "multi_latency": "multi_lat", "non_blocking_": "i",
    "multi_threaded_latency": "latency_mt", "multi_process_latency": "latency_mp", "all_to_all": "alltoall",
    "_personalized_exchange": "", "alltoallw_latency": "alltoallw",
}  # fmt: skip
# Where the buffers are, at the end of a command; version 7 does not print it.
PLACES = r"\bosu_[a-z_]+\b.*[\s(]([DHM]) ([DHM])(?: ?[^\w\s]|\s*$)"
SIDES = r"Number of (Sender|Receiver) threads: (\d{1,6})"  # of osu_latency_mt, above its heading
ONE_SIDED = ("put", "get", "accumulate", "fetch_and_op", "compare_and_swap")
SYNCHRONISATIONS = {"flush": "flush", "fence": "fence", "lock/unlock": "lock", "lock": "lock"}


def _find_test(head: Match, part: Text, command: str) -> Meaning:
    """Returns what the test with this heading means: in Steelyard, or under the name of its program if Steelyard lacks it.

    `command` is what stands before the heading.
    """
    api, device = head["api"], head["device"] or ""
    name = re.sub(r"( Test)?( v\d\S*| \(Version \S+\))?$", "", head["name"].strip())
    places = re.findall(r"\(([DHM])\)", part.find(r"# (?:Send Buffer|Rank 0 Memory) on .*"))
    places = places or [place for found in [*find_all(PLACES, command)][-1:] for place in found.groups()]
    synchronisation = part.find(r"(?i)synchroni[sz]ation: *(?:MPI_Win_)?([\w/]+)")
    ours = find_meaning(name) if api == "MPI" else _find_one_sided(api.removeprefix("MPI_"), name, synchronisation)
    if ours and (not device or places == ["H", "H"]):
        return ours
    program = re.sub(r"\W+", "_", f"{api.removeprefix('MPI').lstrip('_')} {name}".strip().lower())
    for long, short in SHORT.items():
        program = program.replace(long, short)
    where = {"device": device[1:] or None, "memory": " ".join(places) or None}
    return Meaning(f"osu.{program}", program, {**where, "synchronisation": synchronisation or None})


def _find_one_sided(operation: str, what: str, synchronisation: str) -> Meaning | None:
    """Returns what a test of the latency or bandwidth of an operation such as "put" means, with the words of MPI_Win_…."""
    kernel, kind = operation.lower(), SYNCHRONISATIONS.get(synchronisation)
    if kernel not in ONE_SIDED or not kind or what.lower() not in ("latency", "bandwidth"):
        return None
    window = 1 if what.lower() == "latency" else None
    return Meaning("network.onesided", kernel, {**PAIR, "synchronisation": kind, "window": window})


TABLE = r"(?:# *)?(?:Size|Avg Lat|Overall ?\(|Bandwidth|MB/s)"
COLUMNS: dict[str, Column] = {
    r"(?:Avg )?Lat(?:ency)? ?\(us\)|Pure Comm\. ?\(us\)": ("latency", "us", "mean"),
    r"Min (?:Lat(?:ency)?|Comm\.) ?\(us\)": ("latency", "us", "least of the ranks"),
    r"Max (?:Lat(?:ency)?|Comm\.) ?\(us\)": ("latency", "us", "greatest of the ranks"),
    r"(?:Bi-)?(?:Bandwidth|BW) ?\(MB/s\)|MB/s": ("bandwidth", "MB/s", "mean"), r"Messages/s": ("message_rate", "/s", "mean"),
    r"P(\d+) Tail Lat ?\(us\)": ("latency", "us", r"p\1"), r"P(\d+) Tail BW ?\(MB/s\)": ("bandwidth", "MB/s", r"p\1"),
    r"Overall ?\(us\)": ("together", "us", "mean"), r"Overlap ?\(%\)": ("overlap", "%", "mean"),
}  # fmt: skip


def read_tables(text: Text) -> Values:
    """Yields the values of each test; what a launcher prints before, between and after the rows is skipped."""
    start = text.first
    for head, part in text.rewrite(r" (P\d+ Tail)", r"  \1").parts(HEAD):
        before, start = text.before(part, r"^\s*\d+\s+[\d.]+\s", part.first - start), part.first
        meaning = _find_test(head, part, before)
        columns = rename(COLUMNS, latency="time") if meaning.benchmark == "network.collectives" else COLUMNS
        given = {**count_ranks(before), **part.integers(pairs=r"pairs: (\d+)", window=r"window size: (\d+)")}
        given |= {"ranks": 2 * given["pairs"]} if "pairs" in given else {}
        given |= {f"{side[1].lower()}_threads": int(side[2]) for side in find_all(SIDES, before)}
        part.refuse("window size: varied", "the windows of -V are not read")
        sections = list(part.parts(r"\s*# Datatype: MPI_(\w+)"))
        for kind, section in sections if len(sections) > 1 else [(None, part)]:
            about = {"datatype": kind[1], **given} if kind else given
            for again, rows in enumerate(section.tables(TABLE, gap=True, skip=OTHER_LINES)):
                if again:  # of another test or run, whose heading the page leaves out
                    part.problems.append(f"line {rows[0].line}: no heading names the test of this table")
                    continue
                if "Size" not in rows[0] and "barrier" not in meaning.kernel:
                    part.problems.append(f"line {rows[0].line}: its table has no sizes")
                    continue
                yield from read_rows(part, rows, meaning, columns, about, message_bytes="Size")


LINE = r"\s*nprocs: (\d+), min: (\S+) ms, max: (\S+) ms, avg: (\S+) ms"
STATISTICS = ("least of the ranks", "greatest of the ranks", "mean")


def read_startup(text: Text) -> Values:
    """Yields the times of MPI_Init."""
    for found, place in text.match(LINE):
        with text.row(place):
            for word, statistic in zip(found.groups()[1:], STATISTICS, strict=True):
                yield make("osu.init", "init", "time", word, "ms", statistic, {"ranks": int(found[1])})


READERS = {
    read_tables: ("# OSU ", "OSU MPI"),
    read_startup: ("# OSU MPI Init",),
}
