"""ReFrame 3.1 to 4.8: the report of a session (run-report.json), with `perfvars` up to 4.6 and `perfvalues` from 4.7 on.

https://reframe-hpc.readthedocs.io
"""

from collections.abc import Iterator
from typing import Any

from steelyard.importing.reframe_cases import make_case
from steelyard.importing.text import Text
from steelyard.model.foreign import ForeignValue

TOOL = "ReFrame"
MARKS = ('"session_info"',)
STARTED = r'"time_start"\s*:\s*"([^"]+)"'


def read(text: Text) -> Iterator[ForeignValue]:
    """Yields each variable of each test. Each value has the system with the partition, and the date, of its own."""
    for content in text.objects():
        for run in content.get("runs", []):
            for test in run["testcases"]:
                started = str(test.get("job_completion_time") or content["session_info"].get("time_start") or "")
                system, environment = test["system"], test.get("environment") or test.get("environ") or ""
                place = system if ":" in system else f"{system}:{test['partition']}"
                info = f"{test.get('display_name') or test.get('unique_name') or test['name']} @{place}+{environment}"
                for name, value, unit, bounds in _variables(test):
                    yield make_case(info, name, value, unit or "", bounds, started, test)


def _variables(test: dict[str, Any]) -> Iterator[tuple[str, float, str, tuple[Any, Any]]]:
    for variable in test.get("perfvars") or []:
        bounds = (variable.get("thres_lower"), variable.get("thres_upper"))
        yield variable["name"], variable["value"], variable.get("unit"), bounds
    for name, (value, _, lower, upper, unit, *_) in (test.get("perfvalues") or {}).items():
        yield name.rpartition(":")[2], value, unit, (lower, upper)
