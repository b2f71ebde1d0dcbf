"""What a program's output says: its figures, its phases, and whether its result is right. Patterns, and nothing else."""

import contextlib
import math
import re
import signal
import threading
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from steelyard.applications.foreign.description import Check, Description, Timed
from steelyard.applications.foreign.measures import si
from steelyard.signals import handled

LONGEST = 10.0  # seconds for all patterns of an output
TAIL = 15  # lines of an output that are repeated where a pattern is not found in it


@dataclass(frozen=True, slots=True)
class Said:
    """Of one run, in SI: its own time (None: it states none), figures and phases by name, and what was wrong ("": nothing)."""

    time: float | None
    figures: Mapping[str, float]
    phases: Mapping[str, float]
    wrong: str
    checked: str


class Unmatched(Exception):
    """A pattern matched nothing, or no number; the text is a sentence."""


def read(described: Description, text: str, spoiled: bool = False) -> Said:
    """What the output says. `spoiled` makes the first checked value wrong, and its check must find that.

    Unmatched, also where the patterns take too long.
    """
    with _limited():
        return _read(described, text, spoiled)


@contextlib.contextmanager
def _limited() -> Iterator[None]:
    """Ends a pattern that would be tried for ever. Signals reach the main thread alone, in which programs are measured."""

    def end(*_: object) -> None:
        raise Unmatched(
            f"The patterns did not come to an end within {LONGEST:.0f} s. Write them without repetitions within repetitions, "
            "as (a+)+."
        )

    if threading.current_thread() is not threading.main_thread():
        yield
        return
    with handled((signal.SIGALRM,), end):
        signal.setitimer(signal.ITIMER_REAL, LONGEST)
        try:
            yield
        finally:
            signal.setitimer(signal.ITIMER_REAL, 0)


def _read(described: Description, text: str, spoiled: bool) -> Said:
    time = described.time
    found = Said(
        _timed("time", time, text) if time else None,
        {f.name: _number(f"figures '{f.name}'", f.pattern, f.unit, text) for f in described.figures if f.pattern},
        {name: _timed(f"phases '{name}'", phase, text) for name, phase in described.phases.items()},
        "",
        "",
    )
    outcomes = [_check(check, text, spoiled and i == 0) for i, check in enumerate(described.checks)]
    wrong = "; ".join(words for right, words in outcomes if not right)
    right = "; ".join(words for right, words in outcomes if right)
    return Said(found.time, found.figures, found.phases, wrong, right)


def tail(text: str) -> str:
    """The last lines of an output."""
    return "\n".join(text.rstrip().splitlines()[-TAIL:]) or "(nothing)"


def _timed(what: str, timed: Timed, text: str) -> float:
    seconds = _number(what, timed.pattern, timed.unit, text)
    if seconds <= 0:
        raise Unmatched(f"The pattern of {what}, '{timed.pattern}', found {seconds:g} s, which is no time.")
    return seconds


def _number(what: str, pattern: str, unit: str, text: str) -> float:
    known = si(unit)
    assert known
    return known[1] * _value(what, pattern, text)


def _value(what: str, pattern: str, text: str) -> float:
    """The number of the last match: what a program prints again and again is final at its end."""
    matches = list(re.finditer(pattern, text, re.MULTILINE))
    if not matches:
        raise Unmatched(f"The pattern of {what}, '{pattern}', matches nothing in the output.")
    words = next((group for group in matches[-1].groups() if group is not None), "")
    try:
        value = float(words.replace("D", "E").replace("d", "e"))  # Fortran's exponents
    except ValueError:
        value = math.nan
    if not math.isfinite(value):
        raise Unmatched(f"The pattern of {what}, '{pattern}', found '{words}', which is no finite number.")
    return value


def _check(check: Check, text: str, spoiled: bool) -> tuple[bool, str]:
    """Whether it holds, and the sentence."""
    if check.reference is None and check.most is None and check.least is None:
        found = bool(re.search(check.pattern, text, re.MULTILINE)) != spoiled
        return found != check.absent, f"{check.title}: '{check.pattern}' was {'' if found else 'not '}found"
    value = _value(f"checks '{check.title}'", check.pattern, text)
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
