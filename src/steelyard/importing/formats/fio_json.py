"""fio 2.1 to 3.37 with --output-format=json.

https://fio.readthedocs.io
"""

from collections.abc import Iterator
from dataclasses import replace
from math import isclose
from typing import Any

from steelyard.importing.fio_reports import find_options, read_json_reports
from steelyard.importing.text import Text
from steelyard.importing.values import Given, make, percentile
from steelyard.model.foreign import ForeignValue

TOOL = "fio"
MARKS = ('"fio version"',)
STARTED = r'"time"\s*:\s*"([^"]+)"'
LATENCIES = {"slat": "submission_latency", "clat": "completion_latency", "lat": "latency"}
ENDS = {"mean": "mean", "min": "least", "max": "greatest"}


def read(text: Text) -> Iterator[ForeignValue]:
    """Yields bandwidth, operations per second and latencies of each job in each direction, and latencies of fsync.

    A job with an error has none.
    """
    for content, job in read_json_reports(text):
        if job.get("error"):
            text.problems.append(f"the job '{job['jobname']}' ended with error {job['error']}")
            continue
        about = find_options(content, job)
        host = job.get("hostname", "") if job["jobname"] != "All clients" else ""
        for direction in ("read", "write", "trim", "mixed", "sync"):
            yield from (replace(v, host=host) for v in _values(job.get(direction) or {}, direction, about))


def _values(part: dict[str, Any], direction: str, about: Given) -> Iterator[ForeignValue]:
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
