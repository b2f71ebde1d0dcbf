"""elbencho 1.8 to 3.1: the screen or the file of results (--resfile), and CSV (--csvfile): bandwidths, rates and latencies.

https://github.com/breuner/elbencho
"""

from dataclasses import replace

from steelyard.importing.grids import read_separated
from steelyard.importing.patterns import find_all, search
from steelyard.importing.text import Text
from steelyard.importing.values import Given, Values, make, number, read_word, seconds, size
from steelyard.model import Scalar

TOOL = "elbencho"
STARTED = r"^ISO DATE(?: start)?: (\S+)"
HEADING = r"\s*OPERATION +RESULT TYPE +FIRST DONE +LAST DONE"
ROW = r"(?P<operation>\w*)\s+(?P<type>\w[^:]*?) *: +(?P<words>\S.*?)\s*$"
LINE = r"^(?:\s*=|\s*---|[A-Z][A-Z0-9]+ +[A-Z]|\s+[A-Z])"  # of a table
LATENCY = r"^(Ent(?:ry|ries)?|IO|Files?|Dirs?|Objects?) lat(?:ency)?(?: us)?$"
LEFT_OUT = r"^(?:Total |CPU |Time ms each|Svc |.* total$|.*hist|.*%)"  # amounts, shares, and times of single threads
STATISTICS = {"min": "least", "avg": "mean", "max": "greatest", "first": "first done", "last": "last done"}
METRICS = {
    "entries/s": ("entry_rate", "/s"), "IOPS": ("io_rate", "IOPS"), "MiB/s": ("bandwidth", "MiB/s"),
    "MB/s": ("bandwidth", "MB/s"),  # with --base10
    "Ent lat": ("entry_latency", "us"), "IO lat": ("io_latency", "us"),
}  # fmt: skip
COLUMN = r"^(?:rwmix (read) )?(time|entries/s|IOPS|MiB/s|Ent lat|IO lat)(?: ms| us)? \[(first|last|min|avg|max)\]$"
OPTIONS = {
    "threads": "-t|--threads", "dirs": "-n|--dirs", "files": "-N|--files", "io_depth": "--iodepth",
    "block_bytes": "-b|--block", "file_bytes": "-s|--size",
}  # fmt: skip
PARAMETERS = {
    "label": "label", "hosts": "nodes", "threads": "threads", "dirs": "dirs", "files": "files", "IO depth": "io_depth",
    "block size": "block_bytes", "file size": "file_bytes", "direct IO": "direct", "random": "random",
}  # fmt: skip


def read_screen(text: Text) -> Values:
    """Yields for each operation what was reached until the first and until the last thread was done."""
    tables = [_cut(part) for _, part in text.parts(HEADING)]
    for place, part in enumerate(tables):
        operation, about = "", _read_command(text.before(part, "---", 4))
        if not about and len(tables) > 1:
            about = {"table": place}  # no command says that they are repetitions
        for row, at in part.match(ROW):
            operation = row["operation"] or operation
            with part.row(at):
                if search(LEFT_OUT, row["type"]) is None and operation != "DROPCACHE":
                    yield from _read_row(operation, row["type"], row["words"], about)


def _cut(part: Text) -> Text:
    """Returns a table without the lines of other programs below it."""
    end = next((at for at, line in enumerate(part.lines) if not search(LINE, line)), None)
    return next(part.split_at([end]))[1] if end else part


def _read_row(operation: str, kind: str, printed: str, about: Given) -> Values:
    """Yields the values of a row. ValueError if its meaning is unknown, as that of mixed reads and writes."""
    if search(LATENCY, kind):
        words = {found[1]: found[2] for found in find_all(r"(min|avg|max)=(\S+)", printed)}
        name = "IO lat" if kind.startswith("IO") else "Ent lat"
    else:
        words = dict(zip(("first", "last"), printed.split(), strict=True))
        unit = kind.removeprefix("Throughput ")
        name = "time" if kind in ("Elapsed ms", "Elapsed time") else unit if unit in METRICS else "entries/s"
    if operation.startswith("RWMIX") or (name == "entries/s" and not search(r"^[A-Z][a-z]+/s$", kind)):
        raise ValueError(f"the result '{kind}' of {operation} is unknown")
    for end, word in words.items():
        yield from _make_value(operation.lower(), name, word, end, about)


def _make_value(kernel: str, name: str, word: str, end: str, about: Given) -> Values:
    """Yields the value of a word if it is more than zero. A time is "82" or "82ms" in milliseconds, "14us", or "2m3.241s".

    A latency is one of these, too, or in microseconds.
    """
    metric, unit = METRICS.get(name, ("time", "ms"))
    timed = search(r"^([\d.]+)(us|ms)$", word) if unit in ("us", "ms") else None
    if timed:
        value, unit = number(timed[1]), timed[2]
    elif unit in ("us", "ms") and not search(r"^[\d.]+$", word):
        value, unit = seconds(word), "s"
    else:
        value = number(word)
    if value > 0:
        yield make("elbencho.storage", kernel, metric, value, unit, STATISTICS[end], about)


def _read_command(before: str) -> Given:
    """Returns the options in the command above a table. Others, such as keys, are not kept."""
    command = search(r"(?:COMMAND LINE:|[$#>]) .*?elbencho(.*)$", before)
    words = " ".join(command[1].replace('"', " ").split()) if command else ""
    found = {name: search(rf"(?:^| )(?:{option})[ =]*(\w+)(?: |$)", words) for name, option in OPTIONS.items()}
    given: dict[str, Scalar | None] = {
        name: read_word(o[1]) if o[1].isdecimal() else size(f"{o[1][:-1]} {o[1][-1].upper()}iB")  # "4k" is 4096
        for name, o in found.items() if o
    }  # fmt: skip
    hosts = search(r"--hosts[ =]([\w.,:-]+)(?: |$)", words)
    switches = {n: 1 for n, s in (("direct", "direct"), ("random", "rand")) if search(rf"(?:^| )--{s}(?: |$)", words)}
    if hosts:
        given["nodes"] = len(hosts[1].split(","))
    if sweep := search(r"^Working on \S*/(\S+) with (\d+) threads", before):  # of the scripts for sweeps
        given |= {"threads": int(sweep[2]), "data": sweep[1]}
    return {**given, **switches}


def read_csv(text: Text) -> Values:
    """Yields the results in each row. In one of mixed reads and writes, those of the reads have columns of their own."""
    for row in read_separated(text, r"ISO date,.*\boperation,"):
        with text.row(row.line):
            about = {name: read_word(row[column]) for column, name in PARAMETERS.items() if row.get(column)}
            for column, word in row.items():
                if word and (found := search(COLUMN, column)):
                    kernel = " ".join(filter(None, (row["operation"].lower(), found[1])))
                    for value in _make_value(kernel, found[2], word, found[3], about):
                        yield replace(value, started=row["ISO date"])


READERS = {read_screen: ("FIRST DONE  LAST DONE", "FIRST DONE   LAST DONE"), read_csv: ("ISO date,label,",)}
