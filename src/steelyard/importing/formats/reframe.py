"""ReFrame 2.10 to 4.8: logs of performance (perflogs) with a line for each variable or as tables, with any separator. Also
the report of a session (run-report.json) from 3.1 on, and the screen of a session from 2.18 on.

https://reframe-hpc.readthedocs.io
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from steelyard.importing import patterns
from steelyard.importing.grids import read_separated
from steelyard.importing.patterns import match, search
from steelyard.importing.text import Text
from steelyard.importing.values import Values, has_direction, make_printed, read_word, spell
from steelyard.model import Better
from steelyard.model.foreign import ForeignValue

TOOL = "ReFrame"
STARTED = r'"time_start"\s*:\s*"([^"]+)"'
COUNTS = {"num_tasks": "ranks", "num_tasks_per_node": "ranks_per_node", "num_cpus_per_task": "threads"}
KNOWN = {"jobid", "ref", "lower", "upper", "unit", "units", "tags", *COUNTS}  # what is no variable in a line of a log
INFO = (
    r"(?P<test>\S+)(?P<parameters>[^@]*?)(?: /\w+)?\s*(?: on | ?@)(?P<system>[^\s:]+):(?P<partition>[^\s+]+)"
    r"(?:(?: using |\+)(?P<environment>.*))?$"
)
TAGS = {"num_procs": "ranks", "num_tasks": "ranks", "num_nodes": "nodes"}  # names that sites give to what they state
TAG = r"([\w.-]+)=([^,\s'\"]+)"
LONGEST = 500  # letters of the name of a test with its parameters
NO_BOUND = {"", "None", "null", "none"}


def _make_case(
    info: str, variable: str, value: str | float, unit: str, bounds: Sequence[str], started: str, counts: Mapping[str, str]
) -> ForeignValue:  # fmt: skip
    """Returns the value of a variable of a test. The host is the system with the partition.

    `info` is "test %parameter=4 /hash @system:partition+environment" or "test on system:partition using environment". The
    reference has a lower and an upper bound. If the unit has no direction, these bounds say which direction is better.
    """
    case = match(INFO, info.strip()[:LONGEST])
    if not case:
        raise ValueError(f"'{info}' names no test, system and partition")
    if re.fullmatch(r"[-+\d.e]+|true|false", unit.strip()):  # a name of a node divided the row at a wrong place
        raise ValueError(f"'{unit}' is no unit")
    below, above = (str(bound) not in NO_BOUND for bound in bounds)
    better: Better | None = None if below == above or has_direction(spell(unit)) else "higher" if below else "lower"
    given = re.findall(r"%([\w.]+)=(\S+)", case["parameters"])
    parameters = {
        "environment": case["environment"], **{name: read_word(word) for name, word in given},
        **{TAGS.get(tag[1], tag[1]): read_word(tag[2]) for tag in patterns.find_all(TAG, str(counts.get("tags")))},
        **{ours: int(counts[theirs]) for theirs, ours in COUNTS.items() if str(counts.get(theirs, "")).isdecimal()},
    }  # fmt: skip
    # Tests that take the partition as a parameter have it in their name, so the same test of two partitions had two names.
    own = re.sub(r"\W", "_", f"_{case['system']}_{case['partition']}")
    test = case["test"].replace(own, "") or case["test"]
    made = make_printed(f"reframe.{test}", test, variable, value, unit, "one run", parameters, better=better)
    return replace(made, host=f"{case['system']}:{case['partition']}", started=started)


LINE = r"\s*(?:(?P<time>\d{4}-\d\d-\d\dT[^\s|,;]+)|None)\s*(?P<separator>[|,;\t])\s*reframe [\d.]+"
TABLE = r"(?=.*_value\b)(?=.*(?:version|info|system|partition|jobid))(?:\| *)?\w+ *(?P<separator>[|,;\t])"
EMPTY = ("", "null", "None")


def read_log(text: Text) -> Values:
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
    fields = [field.strip() for field in patterns.replace(r"\([^()]*\)", "", rest).split(separator)]
    place = next((i for i, field in enumerate(fields) if search(r"\S(?: on | ?@)\S+:", field)), -1)
    tags = next((field for field in fields[place + 1 :] if search(r",[^,\s]*=|=[^,\s]*,[^,\s]*[A-Za-z_]", field)), "")
    others = [field for field in fields[place + 1 :] if field != tags]
    pairs = {"tags": tags} | {field.partition("=")[0]: field.partition("=")[2] for field in others if "=" in field}
    variable = next((name for name, word in pairs.items() if word and name not in KNOWN), "")
    beside = [others[i + 1] for i, field in enumerate(others[:-1]) if field.startswith((f"{variable}=", "ref="))]
    unit = pairs.get("units") or next((field for field in beside if "=" not in field), "")
    lower, upper = bounds.groups() if bounds else (pairs.get("lower", ""), pairs.get("upper", ""))
    return _make_case(fields[place], variable, pairs.get(variable, ""), unit, (lower, upper), time, pairs)


def _read_cell(row: Mapping[str, str], variable: str, word: str) -> ForeignValue:
    name = row.get("display_name") or row.get("unique_name") or row.get("name") or row.get("info", "").partition("@")[0]
    system = row.get("system:partition") or (f"{row['system']}:{row['partition']}" if "system" in row else "")
    place = f"{system}+{row.get('environ', '')}" if system else row.get("info", "").partition("@")[2]
    bounds = [row.get(f"{variable}_{end}") or row.get(f"{variable}_{end}_thres", "") for end in ("lower", "upper")]
    title, unit = row.get("perf_var", variable) if variable == "perf" else variable, row.get(f"{variable}_unit", "")
    return _make_case(f"{name} @{place}", title, word, unit, bounds, row.get("job_completion_time", ""), row)


def read_report(text: Text) -> Values:
    """Yields each variable of each test. Each value has the system with the partition, and the date, of its own."""
    for content in text.objects():
        for run in content.get("runs", []):
            for test in run["testcases"]:
                started = str(test.get("job_completion_time") or content["session_info"].get("time_start") or "")
                system, environment = test["system"], test.get("environment") or test.get("environ") or ""
                place = system if ":" in system else f"{system}:{test['partition']}"
                info = f"{test.get('display_name') or test.get('unique_name') or test['name']} @{place}+{environment}"
                for name, value, unit, bounds in _find_variables(test):
                    yield _make_case(info, name, value, unit or "", bounds, started, test)


def _find_variables(test: dict[str, Any]) -> Iterator[tuple[str, float, str, tuple[Any, Any]]]:
    for variable in test.get("perfvars") or []:
        bounds = (variable.get("thres_lower"), variable.get("thres_upper"))
        yield variable["name"], variable["value"], variable.get("unit"), bounds
    for name, (value, _, lower, upper, unit, *_) in (test.get("perfvalues") or {}).items():
        yield name.rpartition(":")[2], value, unit, (lower, upper)


TEST = r".*?\[ +(?:OK|FAIL) \] \( *\d+/\d+\) (?P<info>[^\[]*?) *(?:\[.*)?$"
VARIABLE = r".*?\bP: (?P<name>[^:]+): (?P<value>\S+) ?(?P<unit>[^(]*?) ?\(r: ?[^,]*, l: ?(?P<lower>[^,]*), u: ?(?P<upper>[^)]*)\)"
# The report of ReFrame 2 and 3: tests, below them systems, environments and variables. A remark in brackets may follow.
REPORT = r" *(?P<test>[\w%.=+-]*\w)\s*$| *- (?P<place>\S+:\S+)\s*$| *- (?P<environment>\S+)\s*$"
REPORT += r"| *\* (?P<name>[^:]+): (?P<value>\S+) ?(?P<unit>[^(]*)"


def read_screen(text: Text) -> Values:
    """Yields each variable of each test. Each value has the system with the partition."""
    lines = False
    for test, part in text.parts(TEST):
        for found, at in part.match(VARIABLE):
            lines = True
            with text.row(at):
                bounds = (found["lower"], found["upper"])
                yield _make_case(test["info"], found["name"], found["value"], found["unit"], bounds, "", {})
    for _, report in text.parts(r"\s*PERFORMANCE REPORT\s*$") if not lines else ():
        given: dict[str, str] = {}
        for found, at in report.match(REPORT):
            given = {} if found["test"] else given
            given |= {name: word for name, word in found.groupdict().items() if word}
            if found["name"] == "num_tasks":
                given["num_tasks"] = found["value"]
            elif found["name"]:
                with text.row(at):
                    info = f"{given['test']} on {given['place']} using {given['environment']}"
                    yield _make_case(info, found["name"], found["value"], found["unit"].strip(), ("", ""), "", given)


READERS = {
    read_log: ("reframe 2", "reframe 3", "reframe 4", "_unit|", "_unit,", "_unit;", "_unit\t"),
    read_report: ('"session_info"',),
    read_screen: ("[       OK ] (", "[     FAIL ] (", "\nPERFORMANCE REPORT\n---", "* num_tasks: "),
}
