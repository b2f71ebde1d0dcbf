"""Lines in the form of ReFrame's performance log, one for each metric of each result.

https://reframe-hpc.readthedocs.io/en/stable/config_reference.html#the-filelog-log-handler

The form is the one that ReFrame 3 writes, and ReFrame 4 with `perflog_compat`. Values are in SI units. A run has no reference
value, so it is 0 without thresholds. The verdict, the 95 % interval, the statistic of another tool and the scope of an energy
follow as further fields.
"""

from collections.abc import Iterator

from steelyard.model import Evaluation, Result, Value
from steelyard.model.scope import words
from steelyard.show.report import values
from steelyard.show.report.exports._exported import (
    find_end,
    list_measured,
    make_word,
    name_case,
    name_writer,
    scale_percent,
)

VERSION = "4.8.0"  # of ReFrame, whose form this is


def parts(evaluation: Evaluation) -> Iterator[str]:
    """Yields the lines in the order of the results."""
    for result in list_measured(evaluation):
        before, after = _write_head(evaluation, result), f"verdict={values.level(result)}"
        for name, value in result.metrics.items():
            reference = f"ref=0 (l=None, u=None)|{value.unit}"
            statistic = f"|statistic={value.statistic.replace('|', ' ')}" if value.statistic else ""
            printed = f"{name}={scale_percent(value.value, value.unit)!r}"
            scope = f"|scope={words(value.scope)}" if value.scope else ""
            yield f"{before}|{printed}|{reference}|{after}{_write_interval(value)}{statistic}{scope}\n"


def name_test(result: Result) -> str:
    """Returns the name of the test, with its parameters as ReFrame 4 spells them: 'memory.stream.triad %threads=2'."""
    given = (f"%{name}={make_word(value)}" for name, value in result.parameters.items())
    return " ".join([name_case(result), *given])


def name_environment(result: Result) -> str:
    """Returns the name of the environment: the compiler of the result."""
    return make_word(result.parameters.get("toolchain", "default"))


def _write_head(evaluation: Evaluation, result: Result) -> str:
    run, moment = evaluation.run, find_end(evaluation, result)
    where = f"{make_word(run.machine.host)}:default using {name_environment(result)}"
    return "|".join(
        [
            moment.isoformat(timespec="seconds") if moment else "None",
            f"reframe {VERSION} (written by {name_writer(evaluation)})",
            f"{name_test(result)} on {where}",
            f"jobid={make_word(run.job or run.id)}",
        ]
    )


def _write_interval(value: Value) -> str:
    low, high = scale_percent(value.low, value.unit), scale_percent(value.high, value.unit)
    return "" if low is None or high is None else f"|low={low!r}|high={high!r}"
