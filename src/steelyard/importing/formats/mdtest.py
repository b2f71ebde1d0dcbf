"""mdtest 1 to 4, alone and in IO500.

https://github.com/hpc/ior
"""

import re

from steelyard.importing.text import Match, Text
from steelyard.importing.values import Given, Values, make, make_spread

TOOL = "mdtest"
MARKS = ("total task(s)", "SUMMARY rate", "SUMMARY: (of ")
STARTED = r"-- started at (?P<month>\d\d)/(?P<day>\d\d)/(?P<year>\d{4}) (?P<time>[\d:]+)"
DOUBTS = r"^.*WARNING: (?!unable to use realpath)(.+)"
HEAD = r".*\bmdtest[-_]v?(\d+)\S* was launched with (?P<ranks>\d+) total task\(s\) on (?P<nodes>\d+) node"
SUMMARY = r"\s*SUMMARY(?: (?P<kind>rate|time))?\b(?P<label>[^:]*): \(of (?P<times>\d+) iterations?\)"
ROW = r"\s*(File|Directory|Tree) (\w+)\s*:?\s+([-\d].*)$"
NUMBER = re.compile(r"-?(\d+\.\d{3}|nan|inf)")
OLD = "Before version 4, mdtest computes a rate for each rank. The greatest and the least are those of single ranks."
ONE = "The rate is computed from the time of rank 0."


def read(text: Text) -> Values:
    """Yields the rates and times of each operation that ran: greatest, least and mean, and those of each iteration."""
    for head, part in text.parts_or_whole(HEAD):
        given = {"ranks": int(head["ranks"]), "nodes": int(head["nodes"])} if head else {}
        about = {**given, "options": _options(part.find(r"Command line used: *\S+ (.*)")) or None}
        once = any(table["times"] == "1" for table, _ in part.match(SUMMARY))  # the summary has the same rates
        for row, _ in (
            () if once else part.match(r"V-1: .*?(File|Directory|Tree) (\w+) *: +[\d.]+ sec, +(\d+\.\d{3}) ops/sec\s*$")
        ):
            kernel = f"{row[1]}_{row[2]}".lower()
            yield make("mdtest.metadata", kernel, "rate", row[3], "/s", "one run", about, note=ONE)
        for table, rows in part.parts(SUMMARY):
            names = re.findall(r"Max|Min|Mean|Std", rows.find(r"^ *Operation\b(.*)"))
            before_4 = int(head[1]) < 4 if head else rows.find(r"^\s*(?:File|Tree) \w+ +: ")  # which writes colons
            old = before_4 and "Max" not in names[3:]
            for row, at in rows.match(ROW):
                with text.row(at):
                    yield from _row(row, table, names, about, OLD if old and row[1] != "Tree" else "")


def _row(row: Match, head: Match, names: list[str], about: Given, note: str) -> Values:
    kernel, words, times = f"{row[1]}_{row[2]}".lower(), row[3].split(), int(head["times"])
    metric, unit = ("phase_time", "s") if head["kind"] == "time" else ("rate", "/s")
    if len(words) != len(names) or not all(map(NUMBER.fullmatch, words)):
        raise ValueError(f"'{row[0].strip()}' does not fit the heading of its table")
    for name, begin in ((f"{metric}_per_rank", 0), (metric, 3)) if "Max" in names[3:] else ((metric, 0),):
        columns = [words[begin + names[begin:].index(column)] for column in ("Max", "Min", "Mean")]
        if float(columns[0]) > 0 and "ms/op" not in head["label"]:  # a rate of 0: it did not run
            yield from make_spread("mdtest.metadata", kernel, name, columns, unit, about, times=times, note=note)


def _options(line: str) -> str:
    """Returns the options of a command line that change what is measured: those without paths and seeds."""
    words = re.sub(r"(?<!\S)-[dxGi][ =]?\S+(?: (?=[^-]))?", "", line.replace("'", "")).split()
    return " ".join(word for word in words if "/" not in word)
