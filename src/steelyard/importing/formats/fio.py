"""fio 2 and 3, as text. In fio 2 a "KB" has 1024 bytes.

https://fio.readthedocs.io
"""

from collections.abc import Iterator

from steelyard.importing.fio_reports import find_setups, last_setup, read_reports
from steelyard.importing.patterns import find_all
from steelyard.importing.text import Text
from steelyard.importing.values import UNITS, Given, count, expect_near, make, number, percentile
from steelyard.model.foreign import ForeignValue

TOOL = "fio"
MARKS = ("(groupid=",)
STARTED = r"\(groupid=.*pid=\d+: (\w{3} \w{3} .*)"
WAY = r"\s*(?P<way>read|write|trim|mixed)\s*: "
SAME = r"\((?P<same>[\d.]+)(?P<other>\w*?)(?:B|bit)?(?:/s)?\)"
NEW = rf"{WAY}IOPS=(?P<iops>[^\s,]+), BW=(?P<rate>[\d.]+)(?P<unit>\w*?)(?P<kind>B|bit)?(?:/s)? {SAME}"
OLD = rf"{WAY}io=.*, bw=(?P<rate>[\d.]+)(?P<unit>[KMGT]?)i?B/s, iops=(?P<iops>\d+)"
NAME = r"\s*(?P<name>[sc]?lat|(?P<sync>sync))"
TIMES = rf"{NAME} \((?P<unit>[num]?s)ec\): min= *(?P<least>\S+), max= *(?P<greatest>\S+), avg= *(?P<mean>[^\s,]+),"
SHARES = rf"{NAME} percentiles \((?P<unit>[num]?s)ec\):"
LATENCIES = {"slat": "submission_latency", "clat": "completion_latency", "lat": "latency", "sync": "latency"}


def read(text: Text) -> Iterator[ForeignValue]:
    """Yields bandwidth, operations per second and latencies of each job in each direction, and latencies of fsync.

    A job with an error has none.
    """
    setups = find_setups(text)
    for head, job in read_reports(text):
        if head["error"] != "0":
            text.problems.append(f"the job '{head['job']}' ended with error {head['error']}")
        else:
            about = {"job": head["job"], "jobs": int(head["jobs"]), **last_setup(setups, head, job.first)}
            for row, part in (pair for pattern in (NEW, OLD) for pair in job.parts(pattern)):
                with text.row(part.first):
                    yield from _values(row.groupdict(), part, about)


def _values(row: dict[str, str], part: Text, about: Given) -> Iterator[ForeignValue]:
    kind, rate = f"{row.get('kind') or 'B'}/s", number(row["rate"])
    way, unit = row["way"], f"{row['unit']}{'i' if row['unit'] and 'same' not in row else ''}{kind}"
    same = UNITS[f"{row['other']}{kind}"][0] / UNITS[unit][0] * number(row["same"]) if "same" in row else rate
    expect_near(same, rate, 0.02 * rate + 1000 / UNITS[unit][0], f"{rate:g} {unit} are not {same:g} {unit}")
    yield make("fio.job", way, "bandwidth", row["rate"], unit, "mean", about)
    yield make("fio.job", way, "rate", count(row["iops"]), "/s", "mean", about)
    for m, _ in part.match(TIMES):
        for end, word in (("least", m["least"]), ("greatest", m["greatest"]), ("mean", m["mean"])):
            yield make("fio.job", m["sync"] or way, LATENCIES[m["name"]], count(word), m["unit"], end, about)
    for m, rows in part.parts(SHARES):
        for share, word in (found.groups() for found in find_all(r"([\d.]+)th=\[ *(\d+)\]", "".join(rows.lines[1:12]))):
            yield make("fio.job", m["sync"] or way, LATENCIES[m["name"]], word, m["unit"], percentile(share), about)
