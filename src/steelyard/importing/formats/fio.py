"""fio 2 and 3: text, in which a "KB" of fio 2 has 1024 bytes, JSON from 2.1 on, and terse lines (--minimal) of versions 3 to 5.

https://fio.readthedocs.io
"""

import math
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from datetime import datetime
from math import isclose
from typing import Any, TypeVar

from steelyard.importing.dates import read_date
from steelyard.importing.patterns import Match, find_all
from steelyard.importing.text import Text, find_last_before
from steelyard.importing.values import (
    UNITS,
    Given,
    Values,
    count,
    expect_near,
    make,
    number,
    percentile,
    read_word,
    size,
)

TOOL = "fio"
DOUBTS = r"^fio: pid=\d+, (err=.+)|^(verify: .+)|^fio: (looks like .+|first direct IO errored.*)"
STARTED = r'\(groupid=.*pid=\d+: (\w{3} \w{3} .*)|"time"\s*:\s*"([^"]+)"'
JOB = (
    r"(?P<job>[^\s:][^:]*): \(groupid=(?P<group>\d+), jobs=(?P<jobs>\d+)\): err=\s*(?P<error>\d+)"
    r"(?:.*?: pid=(?P<pid>\d+)(?:: (?P<date>.*))?)?"
)
RUNTIME = r"/(\d+)msec\)|runt= *(\d+)msec"
OPTIONS = {
    "rw": "pattern", "bs": "block", "iodepth": "depth", "numjobs": "jobs", "ioengine": "engine", "direct": "direct",
    "rwmixread": "read_percent", "fsync": "fsync",
}  # fmt: skip
SAME_START = 2  # seconds: dates have whole seconds
Report = TypeVar("Report")
Setup = dict[str, str | int | None]
Setups = dict[tuple[str, str], list[tuple[int, Setup]]]
SETUP = (
    r"(?:<\S+> )?(?P<job>[^\s:][^:]*): \(g=(?P<group>\d+)\): rw=(?P<pattern>\w+)"
    r"(?:, bs=(?P<block>.*?)(?:, ioengine=(?P<engine>\w+))?(?:, iodepth=(?P<depth>\d+))?)?\s*$"
)
BLOCK_UNITS = {"": "B", "K": "KiB", "M": "MiB", "G": "GiB"}
BLOCK = re.compile(r"(?P<number>\d+)(?:\.0+)?(?P<prefix>[kKmMgG]?)i?B?")


def _find_reports(text: Text) -> list[tuple[Match, Text]]:
    """Returns the heading and the lines of each report."""

    def begun() -> Iterator[tuple[object, float, tuple[Match, Text]]]:
        for head, part in text.parts(rf"{JOB}|Run status"):
            ended, milliseconds = read_date(head["date"] or ""), part.integer(RUNTIME)
            known = "T" in ended and milliseconds is not None
            start = datetime.fromisoformat(ended).timestamp() - (milliseconds or 0) / 1000 if known else math.nan
            if head["job"]:
                yield (head["job"], head["pid"]), start, (head, part)

    return _drop_interim(begun())


def _find_json_reports(text: Text) -> list[tuple[dict[str, Any], dict[str, Any]]]:
    """Returns the whole object and the job of each report, also of each client. What the file has as text, too, is left out."""

    as_text = _find_text_jobs(text)

    def begun() -> Iterator[tuple[object, float, tuple[dict[str, Any], dict[str, Any]]]]:
        for content in text.objects(strict=True):
            ended = content.get("timestamp_ms", 1000 * content.get("timestamp", math.nan))
            for place, job in enumerate(content.get("jobs") or content.get("client_stats") or []):
                runtimes = [(job.get(way) or {}).get("runtime", 0) for way in ("read", "write", "trim", "mixed")]
                if job["jobname"] not in as_text:
                    yield (place, job["jobname"], job.get("hostname")), (ended - max(runtimes)) / 1000, (content, job)

    return _drop_interim(begun())


def _find_setups(text: Text) -> Setups:
    """Returns the lines that set up each job and group, with the pattern, such as "randread", block, engine and depth."""
    setups: Setups = {}
    for line, at in text.match(SETUP):
        block, depth = line["block"] and _read_block(line["block"]), line["depth"] and int(line["depth"])
        setup = {"pattern": line["pattern"], "block": block, "depth": depth, "engine": line["engine"]}
        setups.setdefault((line["job"], line["group"]), []).append((at, setup))
    return setups


def _read_block(printed: str) -> str | int:
    """Returns the bytes of a block, for which a K has 1024; as printed if fio chooses among several sizes."""
    sizes = re.split(r"[-/,]\s*", re.sub(r"\([RWT]\) ", "", printed.strip()))
    amounts = {
        match and size(f"{match['number']} {BLOCK_UNITS[match['prefix'].upper()]}")
        for match in map(BLOCK.fullmatch, sizes)
    }
    amount = amounts.pop()
    return printed.strip() if amounts or amount is None else amount


def _find_text_jobs(text: Text) -> set[str]:
    """Returns the names of the jobs whose reports the file has as text."""
    return {head["job"] for head, _ in text.match(JOB)}


def _find_options(content: dict[str, Any], job: dict[str, Any]) -> dict[str, str | int]:
    """Returns the name of a job and its options, with those of all jobs."""
    options = {**content.get("global options", {}), **job.get("job options", {})}
    words = {ours: options[theirs] for theirs, ours in OPTIONS.items() if theirs in options}
    about = {name: read_word(word) for name, word in words.items()}
    if "bs" in options and "kb_base" not in options:
        about["block"] = _read_block(options["bs"])
    return {"job": job["jobname"], **about}


def _drop_interim(reports: Iterable[tuple[object, float, Report]]) -> list[Report]:
    """Returns the last report on each run of a job: those of one run, with --status-interval, have the same start in seconds."""
    kept: list[Report] = []
    last: dict[object, tuple[float, int]] = {}
    for job, start, report in reports:
        before, at = last.get(job, (math.nan, 0))
        if abs(before - start) <= SAME_START:
            kept[at] = report
        else:
            at = len(kept)
            kept.append(report)
        last[job] = start, at
    return kept


WAY = r"\s*(?P<way>read|write|trim|mixed)\s*: "
SAME = r"\((?P<same>[\d.]+)(?P<other>\w*?)(?:B|bit)?(?:/s)?\)"
NEW = rf"{WAY}IOPS=(?P<iops>[^\s,]+), BW=(?P<rate>[\d.]+)(?P<unit>\w*?)(?P<kind>B|bit)?(?:/s)? {SAME}"
OLD = rf"{WAY}io=.*, bw=(?P<rate>[\d.]+)(?P<unit>[KMGT]?)i?B/s, iops=(?P<iops>\d+)"
NAME = r"\s*(?P<name>[sc]?lat|(?P<sync>sync))"
TIMES = rf"{NAME} \((?P<unit>[num]?s)ec\): min= *(?P<least>\S+), max= *(?P<greatest>\S+), avg= *(?P<mean>[^\s,]+),"
SHARES = rf"{NAME} percentiles \((?P<unit>[num]?s)ec\):"
LATENCIES = {"slat": "submission_latency", "clat": "completion_latency", "lat": "latency", "sync": "latency"}


def read_text(text: Text) -> Values:
    """Yields bandwidth, operations per second and latencies of each job in each direction, and latencies of fsync.

    A job with an error has none.
    """
    setups = _find_setups(text)
    for head, job in _find_reports(text):
        if head["error"] != "0":
            text.problems.append(f"the job '{head['job']}' ended with error {head['error']}")
        else:
            # The last setup of the job above its report.
            setup = find_last_before(setups.get((head["job"], head["group"]), []), job.first) or {}
            about = {"job": head["job"], "jobs": int(head["jobs"]), **setup}
            for row, part in (pair for pattern in (NEW, OLD) for pair in job.parts(pattern)):
                with text.row(part.first):
                    yield from _read_way(row.groupdict(), part, about)


def _read_way(row: dict[str, str], part: Text, about: Given) -> Values:
    kind, rate = f"{row.get('kind') or 'B'}/s", number(row["rate"])
    way, unit = row["way"], f"{row['unit']}{'i' if row['unit'] and 'same' not in row else ''}{kind}"
    same = UNITS[f"{row['other']}{kind}"][0] / UNITS[unit][0] * number(row["same"]) if "same" in row else rate
    expect_near(same, rate, 0.02 * rate + 1000 / UNITS[unit][0], f"{rate:g} {unit} are not {same:g} {unit}")
    yield make("fio.job", way, "bandwidth", row["rate"], unit, "mean", about)
    yield make("fio.job", way, "rate", count(row["iops"]), "/s", "mean", about)
    for m, _ in part.match(TIMES):
        for end in ("least", "greatest", "mean"):
            yield make("fio.job", m["sync"] or way, LATENCIES[m["name"]], count(m[end]), m["unit"], end, about)
    for m, rows in part.parts(SHARES):
        lines = map(rows.read_line, range(1, min(12, len(rows.lines))))
        for share, word in (f.groups() for line in lines for f in find_all(r"([\d.]+)th=\[ *(\d+)\]", line)):
            yield make("fio.job", m["sync"] or way, LATENCIES[m["name"]], word, m["unit"], percentile(share), about)


ENDS = {"mean": "mean", "min": "least", "max": "greatest"}


def read_json(text: Text) -> Values:
    """Yields bandwidth, operations per second and latencies of each job in each direction, and latencies of fsync.

    A job with an error has none.
    """
    for content, job in _find_json_reports(text):
        if job.get("error"):
            text.problems.append(f"the job '{job['jobname']}' ended with error {job['error']}")
            continue
        about = _find_options(content, job)
        host = job.get("hostname", "") if job["jobname"] != "All clients" else ""
        for direction in ("read", "write", "trim", "mixed", "sync"):
            yield from (replace(v, host=host) for v in _read_direction(job.get(direction) or {}, direction, about))


def _read_direction(part: dict[str, Any], direction: str, about: Given) -> Values:
    """Yields the values of one direction: "bw" is in KiB/s, times are in ns or, up to fio 2, in us."""
    if part.get("io_bytes"):
        rate = part.get("bw_bytes", 1024 * part["bw"])
        if not isclose(rate, 1024 * part["bw"], rel_tol=0.01, abs_tol=1024):
            raise ValueError(f"{part['bw']} KiB/s are not {rate} B/s")
        yield make("fio.job", direction, "bandwidth", rate, "B/s", "mean", about)
        yield make("fio.job", direction, "rate", part["iops"], "/s", "mean", about)
    for name, metric in LATENCIES.items() if part.get("io_bytes") or direction == "sync" else ():
        time = "ns" if f"{name}_ns" in part else "us"
        given = part.get(f"{name}_ns") or part.get(name) or {}
        if not given.get("max"):
            continue
        ends = {statistic: given[end] for end, statistic in ENDS.items()}
        shares = {percentile(share): value for share, value in (given.get("percentile") or {}).items() if float(share)}
        if max((ends | shares).values()) > 1.1 * given["max"] + 1:  # percentiles are rounded up to steps
            raise ValueError(f"the maximum of '{name}', {given['max']} {time}, is below its mean or a percentile")
        for statistic, value in (ends | shares).items():
            yield make("fio.job", direction, metric, value, time, statistic, about)


TERSE_JOB = r"(?:.*?\s)?[345];fio-[\w.-]+;(?P<job>[^;]*);\d+;(?P<error>\d+);(?P<rest>.*)"
TERSE_WAY = r"((?:[\d.]+;){12}(?:[\d.]+%=\d+;){20}(?:[\d.]+;){6}[\d.]+%(?:;[\d.]+){2,8})"  # the fields of a direction
# A line has these for reading and for writing. From version 4 on, it also has them for trimming.
TERSE_WAYS = re.compile(rf"{TERSE_WAY};{TERSE_WAY};(?:{TERSE_WAY};)?[\d.]+%;.*")
TERSE_LATENCIES = {4: "submission_latency", 8: "completion_latency", 32: "latency"}  # by the field of their least


def read_terse(text: Text) -> Values:
    """Yields bandwidth, operations per second and latencies of each job in each direction. A job with an error has none.

    A job that the file has as text, too, is read there.
    """
    as_text = _find_text_jobs(text)
    for line, at in (found for found in text.ended(strict=True).match(TERSE_JOB) if found[0]["job"] not in as_text):
        with text.row(at):
            if line["error"] != "0":
                raise ValueError(f"the job '{line['job']}' ended with error {line['error']}")
            if not (ways := TERSE_WAYS.fullmatch(line["rest"])):
                raise ValueError("its fields do not have the form of the terse lines of fio")
            for way, fields in zip(("read", "write", "trim"), ways.groups(""), strict=True):
                if number(fields.partition(";")[0] or "0"):  # else nothing was moved
                    yield from _read_fields(way, fields.split(";"), {"job": line["job"]})


def _read_fields(way: str, fields: Sequence[str], about: Given) -> Values:
    """Yields the values of one direction: KiB and KiB/s, operations per second, ms of the run, and latencies in us."""
    moved, rate, operations, milliseconds = map(number, fields[:4])
    if milliseconds and not isclose(moved * 1000 / milliseconds, rate, rel_tol=0.02, abs_tol=2):
        raise ValueError(f"{fields[0]} KiB in {fields[3]} ms are not {fields[1]} KiB/s")
    yield make("fio.job", way, "bandwidth", rate, "KiB/s", "mean", about)
    yield make("fio.job", way, "rate", operations, "/s", "mean", about)
    for begin, metric in TERSE_LATENCIES.items():
        least, greatest, mean = map(number, fields[begin : begin + 3])
        if not least <= mean * 1.01 <= (greatest + 1) * 1.02:  # the ends are cut to whole us
            raise ValueError(f"the mean {metric} {mean} is not between {least} and {greatest}")
        for value, end in ((least, "least"), (greatest, "greatest"), (mean, "mean")):
            if value and mean:  # a latency of 0 was not measured, or is below 1 us
                yield make("fio.job", way, metric, value, "us", end, about)
    for share, _, word in (field.partition("%=") for field in fields[12:32]):
        if number(share) and number(word):
            yield make("fio.job", way, "completion_latency", word, "us", percentile(share), about)


READERS = {
    read_text: ("(groupid=",),
    read_json: ('"fio version"',),
    read_terse: ("3;fio-", "4;fio-", "5;fio-"),
}
