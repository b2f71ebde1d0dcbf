"""fio 2 and 3 with --minimal or --output-format=terse, versions 3 to 5: one line for each job, with ";" between its fields.

https://fio.readthedocs.io
"""

import re
from collections.abc import Iterator, Sequence
from math import isclose

from steelyard.importing.fio_reports import find_text_jobs
from steelyard.importing.text import Text
from steelyard.importing.values import Given, make, number, percentile
from steelyard.model.foreign import ForeignValue

TOOL = "fio"
MARKS = ("3;fio-", "4;fio-", "5;fio-")
JOB = r"(?:.*?\s)?[345];fio-[\w.-]+;(?P<job>[^;]*);\d+;(?P<error>\d+);(?P<rest>.*)"
WAY = r"((?:[\d.]+;){12}(?:[\d.]+%=\d+;){20}(?:[\d.]+;){6}[\d.]+%(?:;[\d.]+){2,8})"  # the fields of a direction
WAYS = re.compile(rf"{WAY};{WAY};(?:{WAY};)?[\d.]+%;.*")  # of reading, of writing and, from version 4 on, of trimming
LATENCIES = {4: "submission_latency", 8: "completion_latency", 32: "latency"}  # by the field of their least


def read(text: Text) -> Iterator[ForeignValue]:
    """Yields bandwidth, operations per second and latencies of each job in each direction. A job with an error has none.

    A job that the file has as text, too, is read there.
    """
    as_text = find_text_jobs(text)
    for line, at in (found for found in text.ended(strict=True).match(JOB) if found[0]["job"] not in as_text):
        with text.row(at):
            if line["error"] != "0":
                raise ValueError(f"the job '{line['job']}' ended with error {line['error']}")
            if not (ways := WAYS.fullmatch(line["rest"])):
                raise ValueError("its fields do not have the form of the terse lines of fio")
            for way, fields in zip(("read", "write", "trim"), ways.groups(""), strict=True):
                if number(fields.partition(";")[0] or "0"):  # else nothing was moved
                    yield from _values(way, fields.split(";"), {"job": line["job"]})


def _values(way: str, fields: Sequence[str], about: Given) -> Iterator[ForeignValue]:
    """Yields the values of one direction: KiB and KiB/s, operations per second, ms of the run, and latencies in us."""
    moved, rate, operations, milliseconds = map(number, fields[:4])
    if milliseconds and not isclose(moved * 1000 / milliseconds, rate, rel_tol=0.02, abs_tol=2):
        raise ValueError(f"{fields[0]} KiB in {fields[3]} ms are not {fields[1]} KiB/s")
    yield make("fio.job", way, "bandwidth", rate, "KiB/s", "mean", about)
    yield make("fio.job", way, "rate", operations, "/s", "mean", about)
    for begin, metric in LATENCIES.items():
        least, greatest, mean = map(number, fields[begin : begin + 3])
        if not least <= mean * 1.01 <= (greatest + 1) * 1.02:  # the ends are cut to whole us
            raise ValueError(f"the mean {metric} {mean} is not between {least} and {greatest}")
        for value, end in ((least, "least"), (greatest, "greatest"), (mean, "mean")):
            if value and mean:  # a latency of 0 was not measured, or is below 1 us
                yield make("fio.job", way, metric, value, "us", end, about)
    for share, _, word in (field.partition("%=") for field in fields[12:32]):
        if number(share) and number(word):
            yield make("fio.job", way, "completion_latency", word, "us", percentile(share), about)
