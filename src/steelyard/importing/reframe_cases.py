"""Values of ReFrame's tests, as its logs and its reports have them."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace

from steelyard.importing.patterns import match
from steelyard.importing.values import has_direction, make_printed, read_word, spell
from steelyard.model import Better
from steelyard.model.foreign import ForeignValue

COUNTS = {"num_tasks": "ranks", "num_tasks_per_node": "ranks_per_node", "num_cpus_per_task": "threads"}
KNOWN = {"jobid", "ref", "lower", "upper", "unit", "units", *COUNTS}  # what is no variable in a line of a log
_INFO = (
    r"(?P<test>\S+)(?P<parameters>[^@]*?)(?: /\w+)?\s*(?: on | ?@)(?P<system>[^\s:]+):(?P<partition>[^\s+]+)"
    r"(?:(?: using |\+)(?P<environment>.*))?$"
)
LONGEST = 500  # letters of the name of a test with its parameters
_NO_BOUND = {"", "None", "null", "none"}


def make_case(
    info: str, variable: str, value: str | float, unit: str, bounds: Sequence[str], started: str, counts: Mapping[str, str]
) -> ForeignValue:  # fmt: skip
    """Returns the value of a variable of a test. The host is the system with the partition.

    `info` is "test %parameter=4 /hash @system:partition+environment" or "test on system:partition using environment". The
    reference has a lower and an upper bound. If the unit has no direction, these bounds say which direction is better.
    """
    case = match(_INFO, info.strip()[:LONGEST])
    if not case:
        raise ValueError(f"'{info}' names no test, system and partition")
    if re.fullmatch(r"[-+\d.e]+|true|false", unit.strip()):  # a name of a node divided the row at a wrong place
        raise ValueError(f"'{unit}' is no unit")
    below, above = (str(bound) not in _NO_BOUND for bound in bounds)
    better: Better | None = None if below == above or has_direction(spell(unit)) else "higher" if below else "lower"
    given = re.findall(r"%([\w.]+)=(\S+)", case["parameters"])
    parameters = {
        "environment": case["environment"], **{name: read_word(word) for name, word in given},
        **{ours: int(counts[theirs]) for theirs, ours in COUNTS.items() if str(counts.get(theirs, "")).isdecimal()},
    }  # fmt: skip
    test = case["test"]
    made = make_printed(f"reframe.{test}", test, variable, value, unit, "one run", parameters, better=better)
    return replace(made, host=f"{case['system']}:{case['partition']}", started=started)
