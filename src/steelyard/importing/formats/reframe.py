"""ReFrame 2.10 to 4.8: logs of performance (perflogs) with a line for each variable, and as tables, with any separator.

https://reframe-hpc.readthedocs.io
"""

from collections.abc import Iterator, Mapping

from steelyard.importing.grids import read_separated
from steelyard.importing.patterns import replace, search
from steelyard.importing.reframe_cases import KNOWN, make_case
from steelyard.importing.text import Text
from steelyard.model.foreign import ForeignValue

TOOL = "ReFrame"
MARKS = ("reframe 2", "reframe 3", "reframe 4", "_unit|", "_unit,", "_unit;", "_unit\t")
LINE = r"\s*(?:(?P<time>\d{4}-\d\d-\d\dT[^\s|,;]+)|None)\s*(?P<separator>[|,;\t])\s*reframe [\d.]+"
TABLE = r"(?=.*_value\b)(?=.*(?:version|info|system|partition|jobid))(?:\| *)?\w+ *(?P<separator>[|,;\t])"
EMPTY = ("", "null", "None")


def read(text: Text) -> Iterator[ForeignValue]:
    """Yields each variable of each run of a test. Each value has the system with the partition, and the date, of its own."""
    separators = sorted({match["separator"] for match, _ in text.match(TABLE)})
    for line, at in text.ended(strict=True).match(LINE) if not separators else ():
        with text.row(at):
            yield _read_line(line["time"] or "", line.string[line.end() :], line["separator"])
    for separator in separators:
        for row in read_separated(text, rf"{TABLE}(?<=\{separator})", separator):
            for name, word in row.items():
                if name.endswith("_value") and word.strip("-:") not in EMPTY:
                    with text.row(row.line):
                        yield _read_cell(row, name.removesuffix("_value"), word)


def _read_line(time: str, rest: str, separator: str) -> ForeignValue:
    """Reads "test on system:partition using environment|jobid=1|variable=2.5|ref=0 (l=None, u=None)|MB/s" and its relatives."""
    bounds = search(r"\(l=([^,)]*), *u=([^)]*)\)", rest)
    fields = [field.strip() for field in replace(r"\([^()]*\)", "", rest).split(separator)]
    place = next((i for i, field in enumerate(fields) if search(r"\S(?: on | ?@)\S+:", field)), -1)
    others = fields[place + 1 :]
    pairs = {field.partition("=")[0]: field.partition("=")[2] for field in others}
    variable = next((name for name, word in pairs.items() if word and name not in KNOWN), "")
    beside = [others[i + 1] for i, field in enumerate(others[:-1]) if field.startswith((f"{variable}=", "ref="))]
    unit = pairs.get("units") or next((field for field in beside if "=" not in field), "")
    lower, upper = bounds.groups() if bounds else (pairs.get("lower", ""), pairs.get("upper", ""))
    return make_case(fields[place], variable, pairs.get(variable, ""), unit, (lower, upper), time, pairs)


def _read_cell(row: Mapping[str, str], variable: str, word: str) -> ForeignValue:
    name = row.get("display_name") or row.get("unique_name") or row.get("name") or row.get("info", "").partition("@")[0]
    system = row.get("system:partition") or (f"{row['system']}:{row['partition']}" if "system" in row else "")
    place = f"{system}+{row.get('environ', '')}" if system else row.get("info", "").partition("@")[2]
    bounds = [row.get(f"{variable}_{end}") or row.get(f"{variable}_{end}_thres", "") for end in ("lower", "upper")]
    title, unit = row.get("perf_var", variable) if variable == "perf" else variable, row.get(f"{variable}_unit", "")
    return make_case(f"{name} @{place}", title, word, unit, bounds, row.get("job_completion_time", ""), row)
