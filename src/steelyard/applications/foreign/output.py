"""Reads figures of merit, phases and checks from a program's output by regular expressions."""

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass

from steelyard.applications.foreign.description import Check, Description, Timed
from steelyard.applications.foreign.measures import convert_to_si
from steelyard.system.signals import TimeOver, time_limit

LONGEST = 10.0  # seconds of processor time for all patterns on one output
TAIL = 15  # last lines of the output that an error message repeats


@dataclass(frozen=True, slots=True)
class Said:
    """Values in the output of one run, in SI units: time (None: not printed), figures, phases, failed and passed checks."""

    time: float | None
    figures: Mapping[str, float]
    phases: Mapping[str, float]
    wrong: str
    checked: str


class Unmatched(Exception):
    """A pattern matched nothing, or no number."""


def read(described: Description, text: str, spoiled: bool = False) -> Said:
    """Reads the output. `spoiled` changes the first checked value, so that its check must fail.

    Unmatched if a pattern has no match, or if the patterns take too long.
    """
    try:
        with time_limit(LONGEST):
            return _read(described, text, spoiled)
    except TimeOver:
        sentence = (
            f"The patterns took longer than {LONGEST:.0f} s. Write them without nested repetitions such as (a+)+."
        )
        raise Unmatched(sentence) from None


def _read(described: Description, text: str, spoiled: bool) -> Said:
    time = described.time
    values = Said(
        _read_seconds("time", time, text) if time else None,
        {f.name: _read_number(f"figures '{f.name}'", f.pattern, f.unit, text) for f in described.figures if f.pattern},
        {name: _read_seconds(f"phases '{name}'", phase, text) for name, phase in described.phases.items()},
        "",
        "",
    )
    outcomes = [_check(check, text, spoiled and i == 0) for i, check in enumerate(described.checks)]
    wrong = "; ".join(words for right, words in outcomes if not right)
    right = "; ".join(words for right, words in outcomes if right)
    return Said(values.time, values.figures, values.phases, wrong, right)


def tail(text: str) -> str:
    """Returns the last lines of an output."""
    return "\n".join(text.rstrip().splitlines()[-TAIL:]) or "(nothing)"


def _read_seconds(what: str, timed: Timed, text: str) -> float:
    seconds = _read_number(what, timed.pattern, timed.unit, text)
    if seconds <= 0:
        raise Unmatched(
            f"The pattern of {what}, '{timed.pattern}', found the time {seconds:g} s in the output, but a time must be above 0."
        )
    return seconds


def _read_number(what: str, pattern: str, unit: str, text: str) -> float:
    measure = convert_to_si(unit)
    assert measure
    return measure[1] * _read_value(what, pattern, text)


def _read_value(what: str, pattern: str, text: str) -> float:
    """Returns the number of the last match: when a program prints a value repeatedly, the last one is final."""
    matches = list(re.finditer(pattern, text, re.MULTILINE))
    if not matches:
        raise Unmatched(f"The pattern of {what}, '{pattern}', matches nothing in the output.")
    words = next((group for group in matches[-1].groups() if group is not None), "")
    try:
        value = float(words.replace("D", "E").replace("d", "e"))  # Fortran writes exponents with D
    except ValueError:
        value = math.nan
    if not math.isfinite(value):
        raise Unmatched(f"The pattern of {what}, '{pattern}', matched '{words}', which is not a finite number.")
    return value


def _check(check: Check, text: str, spoiled: bool) -> tuple[bool, str]:
    """Returns whether the check holds, and a sentence about it."""
    if check.reference is None and check.most is None and check.least is None:
        is_present = bool(re.search(check.pattern, text, re.MULTILINE)) != spoiled
        return is_present != check.absent, f"{check.title}: '{check.pattern}' was {'' if is_present else 'not '}found"
    value = _read_value(f"checks '{check.title}'", check.pattern, text)
    value = 2 * abs(value) + 1e3 * (1 + abs(check.most or check.reference or 0)) if spoiled else value
    value = -value if spoiled and check.least is not None else value
    shown = f"{check.title}: {value:.8g}"
    if check.reference is not None:
        tolerance = check.tolerance or 0.0
        near = abs(value - check.reference) <= tolerance
        return near, f"{shown}, expected {check.reference:g} ± {tolerance:g}"
    right = (check.most is None or value <= check.most) and (check.least is None or value >= check.least)
    words = [f"at most {check.most:g}"] if check.most is not None else []
    words += [f"at least {check.least:g}"] if check.least is not None else []
    return right, f"{shown}, expected {' and '.join(words)}"
