"""IOR 2.10 to 4: the table of the repetitions, the summary, and the greatest bandwidths. From 3.3 on also
summaryFormat=CSV with a row for each repetition, and summaryFormat=JSON, in which IOR writes some keys twice.

https://ior.readthedocs.io
"""

import re
from collections.abc import Iterator, Mapping
from typing import Any

from steelyard.importing.grids import read_separated
from steelyard.importing.patterns import Match, match
from steelyard.importing.text import Text
from steelyard.importing.values import Column, Given, Values, best_of, make, make_row, make_spread, read_word, size

TOOL = "IOR"
HOST = r'^Machine\s*: \S+ (\S+)|"Machine"\s*:\s*"\S+ ([^\s"]+)'
STARTED = r'^(?:Began|Run began|StartTime)\s*: (.+)|"(?:Began|StartTime)"\s*:\s*"([^"]+)"'
# Details of a warning, and what concerns no value, are left out.
DOUBTS = (
    r"^[ \t]*+(?:ior )?WARNING: "
    r"(?!Expected|Stat\(\)|Using|[Mm]aybe caused by deadlineForStonewalling|unable to use realpath)(.+)"
)
OUTPUT = r".*MPI Coordinated Test"
COMMAND = r"[$#>+].*?\b(?:ior|IOR)\S*( +-)"  # at a prompt, or printed by a shell
LISTED = r"^\s*Command line(?: used)?\s*: *\S*\b(?:ior|IOR)\S*(.*)"
SAME = ("api", "access", "type", "segments", "nodes")
NAMES = {**dict(zip(SAME, SAME, strict=True)), "ordering in a file": "order", "tasks": "ranks", "clients": "ranks"}
SIZES = {"transfer_bytes": "xfersize", "block_bytes": "blocksize"}
PARAMETER_COLUMNS = {"#Tasks": "ranks", "xsize": "transfer_bytes", "blksiz": "block_bytes", "segcnt": "segments"}
# Options that change what is measured, but are in no list: fsync, direct I/O, fsync after each write, a limit of the time.
FLAGS, LONG_FLAGS = "eBY", ("--posix.odirect",)
WITH_VALUES = "abdfijlostADGJMNOPQSTUX"  # a word that begins with one of these options has a value behind it
UNIMPORTANT = "doif"  # options with names of files, and the number of repetitions


def _find_command(begin: Match | None, part: Text, before: str) -> str:
    """Returns the options of the command of a part of a text: that of the part, else the one `before` it."""
    typed = match(COMMAND, begin.string) if begin else None
    if begin and typed:
        return begin.string[typed.start(1) :]
    return part.find(LISTED, default="" if begin and "Coordinated" in begin[0] else before)


def _find_parameters(part: Text, command: str) -> Given:
    """Returns the parameters of a test. Without a list of options, those of the command are one parameter."""
    pairs = part.pairs(r"\s*[:=]\s+")
    words = {ours: pairs[theirs].split()[0].rstrip(",") for theirs, ours in NAMES.items() if theirs in pairs}
    sizes = {ours: size(pairs.get(theirs, "")) for ours, theirs in SIZES.items()}
    order = _find_order(pairs.get("ordering inter file", ""))
    options = _find_flags(command) if words else _join_options(command.split())
    listed = {name: read_word(word) for name, word in words.items()}
    given: Given = {**listed, **sizes, "order_of_ranks": order, "options": options}
    return {name: word for name, word in given.items() if word is not None}


def _find_row_parameters(row: Mapping[str, str]) -> Given:
    """Returns the parameters that the columns of a summary say."""
    counts = {ours: row.get(theirs, "") for theirs, ours in PARAMETER_COLUMNS.items()}
    return {"api": row.get("API"), **{name: int(word) for name, word in counts.items() if word.isdecimal()}}


def _find_order(printed: str) -> str | None:
    """Returns how ranks read what others wrote; None if each reads what it wrote, perhaps from its cache."""
    words = printed.strip("= ")
    return None if words in ("", "no tasks offsets") else words


def _find_flags(command: str) -> str | None:
    """Returns the options of a command that no list of IOR shows, in the order of the alphabet."""
    words = command.replace("'", "").replace('"', "").split()
    groups = [word[1:] for word in words if re.fullmatch(rf"-(?![{WITH_VALUES}])[A-Za-z]+", word)]
    flags = {f"-{flag}" for group in groups for flag in group if flag in FLAGS}
    return " ".join(sorted(flags | {word for word in words if word in LONG_FLAGS})) or None


def _join_options(words: list[str]) -> str | None:
    kept = []
    for at, word in enumerate(words):
        before = words[at - 1] if at else ""
        if not re.match(rf"-[{UNIMPORTANT}]", word) and not re.fullmatch(rf"-[{UNIMPORTANT}]", before):
            kept.append(word)
    return " ".join(kept)[:1000] or None


STEPS = {"open": "open_time", "wr/rd": "transfer_time", "close": "close_time", "total": "time"}
COLUMNS: dict[str, Column] = {rf"{theirs}\(s\)": (ours, "s", "one run") for theirs, ours in STEPS.items()}
COLUMNS |= {r"bw\(MiB/s\)": ("bandwidth", "MiB/s", "one run"), "IOPS": ("rate", "/s", "one run")}
COLUMNS |= {r"Latency\(s\)": ("latency", "s", "as printed")}  # some versions forget the segments


def read_text(text: Text) -> Values:
    """Yields the results of each repetition of writing and reading, of several repetitions, and the greatest bandwidth."""
    tests, command = list[Given](), ""
    for begin, part in text.parts_or_whole(rf".*MPI Coordinated Test|TestID\s*:|Test \d+ started|{COMMAND}"):
        tests = tests if begin and begin[0].startswith("Test") else []
        command = _find_command(begin, part, command)
        about, times = _find_parameters(part, command), part.integer(r"^\s*repetitions\s*[:=] (\d+)")
        for head, table in part.parts(r"access\s+bw\(MiB/s\)|Operation\s+Max ?\(MiB\)"):
            names = head.string.replace(" (", "(").replace("Std Dev", "StdDev").split()
            tests += [about] if names[0] == "access" else []
            for row in table.fit(names, r"(write|read)\s+[-\d]", ending="XCEL"):
                if names[0] == "access":
                    cells = {name: word for name, word in row.items() if word != "-"}
                    yield from make_row("ior.file", row["access"], cells, COLUMNS, tests[-1])
                elif not tests or times != 1:  # else it repeats the only row
                    given = tests[int(row.get("Test#", -1))] if tests else {**_find_row_parameters(row), **about}
                    columns = [row[f"{name}(MiB)"] for name in ("Max", "Min", "Mean")]
                    yield from make_spread("ior.file", row["Operation"], "bandwidth", columns, "MiB/s", given)
        for best, at in part.match(r"Max (Write|Read): +([\d.]+) MiB/sec \(([\d.]+) MB/sec\)"):
            if abs(float(best[2]) * 1.048576 - float(best[3])) > 0.02:
                raise ValueError(f"line {at}: {best[2]} MiB/s are not {best[3]} MB/s")
            yield make("ior.file", best[1].lower(), "bandwidth", best[2], "MiB/s", best_of(times), about)


CSV_COLUMNS = {**COLUMNS, "Latency": ("latency", "s", "as printed")}
CSV_SIZES = {"transfer_bytes": "xfer(KiB)", "block_bytes": "block(KiB)"}


def read_csv(text: Text) -> Values:
    """Yields the results of each repetition of writing and reading. A heading with columns of a script before it is refused."""
    for row in read_separated(text, r"\s*access,bw\(MiB/s\),"):
        if row["access"] in {"write", "read"}:
            with text.row(row.line):
                sizes = {ours: size(f"{row[theirs]} KiB") for ours, theirs in CSV_SIZES.items()}
                about = {"ranks": int(row["numTasks"]), **sizes}
                yield from make_row("ior.file", row["access"], row, CSV_COLUMNS, about)


JSON_COLUMNS = {
    "bwMiB": ("bandwidth", "MiB/s"), "iops": ("rate", "/s"), "latency": ("latency", "s"), "openTime": ("open_time", "s"),
    "wrRdTime": ("transfer_time", "s"), "closeTime": ("close_time", "s"), "totalTime": ("time", "s"),
}  # fmt: skip
JSON_NAMES = {
    "api": "api", "API": "api", "access": "access", "type": "type", "ordering in a file": "order", "numTasks": "ranks",
    "tasks": "ranks", "nodes": "nodes", "segmentCount": "segments", "transferSize": "transfer_bytes", "blockSize": "block_bytes",
}  # fmt: skip


def read_json(text: Text) -> Values:
    """Yields the results of each repetition of writing and reading, and the summaries of several repetitions."""
    for content in text.objects():
        tests = {test.get("TestID", place): test for place, test in enumerate(content.get("tests", []))}
        for test in tests.values():
            about = _find_json_parameters(test)
            for row in _find_rows(test.get("Results") or test.get("Options", {}).get("Results", [])):
                for key, (metric, unit) in JSON_COLUMNS.items():
                    if row["access"] != "remove" and row.get(key, -1) >= 0:
                        statistic = "as printed" if key == "latency" else "one run"  # some versions forget the segments
                        yield make("ior.file", row["access"], metric, row[key], unit, statistic, about)
        for row in content.get("summary", []):
            if row.get("repetitions", 0) != 1 or not tests:
                words = [str(row[key]) for key in ("bwMaxMIB", "bwMinMIB", "bwMeanMIB")]
                about = _find_json_parameters(tests.get(row.get("TestID"), {"Parameters": row}))
                yield from make_spread("ior.file", row["operation"], "bandwidth", words, "MiB/s", about)


def _find_rows(results: list[Any]) -> Iterator[dict[str, Any]]:
    for entry in results:  # a list of rows, or a list for each repetition
        yield from entry if isinstance(entry, list) else [entry]


def _find_json_parameters(test: dict[str, Any]) -> Given:
    given = {**test.get("Parameters", {}), **test.get("Options", {})}
    order = _find_order(str(given.get("ordering inter file", "")))
    about = {ours: given[theirs] for theirs, ours in JSON_NAMES.items() if given.get(theirs) not in {None, ""}}
    return {**about, "order_of_ranks": order}


READERS = {
    read_text: ("MPI Coordinated Test of Parallel I/O", "bw(MiB/s)", "Max(MiB)", "Max (MiB)", "MiB/sec ("),
    read_csv: ("access,bw(MiB/s),",),
    read_json: ('"bwMiB"', '"bwMaxMIB"'),
}
