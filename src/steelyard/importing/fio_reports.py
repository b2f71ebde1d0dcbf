"""Reports of fio on its jobs, as text and as JSON. With --status-interval it prints several on each, of which the last counts."""

import math
import re
from collections.abc import Iterable, Iterator
from datetime import datetime
from typing import Any, TypeVar

from steelyard.importing.dates import read_date
from steelyard.importing.patterns import Match
from steelyard.importing.text import Text
from steelyard.importing.values import read_word, size

JOB = (
    r"(?P<job>[^\s:][^:]*): \(groupid=(?P<group>\d+), jobs=(?P<jobs>\d+)\): err=\s*(?P<error>\d+)"
    r"(?:.*?: pid=(?P<pid>\d+)(?:: (?P<date>.*))?)?"
)
_RUNTIME = r"/(\d+)msec\)|runt= *(\d+)msec"
OPTIONS = {
    "rw": "pattern", "bs": "block", "iodepth": "depth", "numjobs": "jobs", "ioengine": "engine", "direct": "direct",
    "rwmixread": "read_percent", "fsync": "fsync",
}  # fmt: skip
SAME_START = 2  # seconds: dates have whole seconds
Report = TypeVar("Report")
Setup = dict[str, str | int | None]
Setups = dict[tuple[str, str], list[tuple[int, Setup]]]
_SETUP = (
    r"(?:<\S+> )?(?P<job>[^\s:][^:]*): \(g=(?P<group>\d+)\): rw=(?P<pattern>\w+)"
    r"(?:, bs=(?P<block>.*?)(?:, ioengine=(?P<engine>\w+))?(?:, iodepth=(?P<depth>\d+))?)?\s*$"
)
_UNITS = {"": "B", "K": "KiB", "M": "MiB", "G": "GiB"}
_BLOCK = re.compile(r"(?P<number>\d+)(?:\.0+)?(?P<prefix>[kKmMgG]?)i?B?")


def read_reports(text: Text) -> list[tuple[Match, Text]]:
    """Returns the heading and the lines of each report."""

    def begun() -> Iterator[tuple[object, float, tuple[Match, Text]]]:
        for head, part in text.parts(rf"{JOB}|Run status"):
            ended, milliseconds = read_date(head["date"] or ""), part.integer(_RUNTIME)
            known = "T" in ended and milliseconds is not None
            start = datetime.fromisoformat(ended).timestamp() - (milliseconds or 0) / 1000 if known else math.nan
            if head["job"]:
                yield (head["job"], head["pid"]), start, (head, part)

    return drop_interim(begun())


def read_json_reports(text: Text) -> list[tuple[dict[str, Any], dict[str, Any]]]:
    """Returns the whole object and the job of each report, also of each client. What the file has as text, too, is left out."""

    as_text = find_text_jobs(text)

    def begun() -> Iterator[tuple[object, float, tuple[dict[str, Any], dict[str, Any]]]]:
        for content in text.objects(strict=True):
            ended = content.get("timestamp_ms", 1000 * content.get("timestamp", math.nan))
            for place, job in enumerate(content.get("jobs") or content.get("client_stats") or []):
                runtimes = [(job.get(way) or {}).get("runtime", 0) for way in ("read", "write", "trim", "mixed")]
                if job["jobname"] not in as_text:
                    yield (place, job["jobname"], job.get("hostname")), (ended - max(runtimes)) / 1000, (content, job)

    return drop_interim(begun())


def find_setups(text: Text) -> Setups:
    """Returns the lines that set up each job and group, with the pattern, such as "randread", block, engine and depth."""
    setups: Setups = {}
    for line, at in text.match(_SETUP):
        block, depth = line["block"] and _block(line["block"]), line["depth"] and int(line["depth"])
        setup = {"pattern": line["pattern"], "block": block, "depth": depth, "engine": line["engine"]}
        setups.setdefault((line["job"], line["group"]), []).append((at, setup))
    return setups


def last_setup(setups: Setups, head: Match, line: int) -> Setup:
    """Returns the setup of the job that the report in this line is about: the last one before the report."""
    return next((setup for at, setup in reversed(setups.get((head["job"], head["group"]), [])) if at < line), {})


def _block(printed: str) -> str | int:
    """Returns the bytes of a block, for which a K has 1024; as printed if fio chooses among several sizes."""
    sizes = re.split(r"[-/,]\s*", re.sub(r"\([RWT]\) ", "", printed.strip()))
    amounts = {
        match and size(f"{match['number']} {_UNITS[match['prefix'].upper()]}") for match in map(_BLOCK.fullmatch, sizes)
    }
    amount = amounts.pop()
    return printed.strip() if amounts or amount is None else amount


def find_text_jobs(text: Text) -> set[str]:
    """Returns the names of the jobs whose reports the file has as text."""
    return {head["job"] for head, _ in text.match(JOB)}


def find_options(content: dict[str, Any], job: dict[str, Any]) -> dict[str, str | int]:
    """Returns the name of a job and its options, with those of all jobs."""
    options = {**content.get("global options", {}), **job.get("job options", {})}
    words = {ours: options[theirs] for theirs, ours in OPTIONS.items() if theirs in options}
    about = {name: read_word(word) for name, word in words.items()}
    if "bs" in options and "kb_base" not in options:
        about["block"] = _block(options["bs"])
    return {"job": job["jobname"], **about}


def drop_interim(reports: Iterable[tuple[object, float, Report]]) -> list[Report]:
    """Returns the reports without those that a later one of the same job with the same start (in seconds) replaces."""
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
