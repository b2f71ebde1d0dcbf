"""Rule: checks whether the true core clock stays the same during the run."""

import math
from collections.abc import Sequence
from statistics import median

from steelyard.judge.findings import disturbances, settings
from steelyard.judge.findings.remedies import advise
from steelyard.model import Evaluation, Finding, Machine, Record
from steelyard.model.units import quantity

UNSTEADY = 0.03  # highest minus lowest reading, over the median: three times the scatter of a reading
FEWEST = 4  # readings that are needed to judge the clock
# An interrupt during a reading makes it too low. If there are many readings, the lowest and the highest hundredth
# are left out, and the finding says so.
TRIMMED = 0.01


def find(evaluation: Evaluation) -> list[Finding]:
    """Returns one finding on the lowest and highest clock before and after the samples of all records."""
    read = [(record, clock) for record in evaluation.run.records if (clock := _read_clock(record)) is not None]
    readings = [clock for _, clock in read]
    if len(readings) < FEWEST:
        return []
    cut, (lowest, highest) = int(len(readings) * TRIMMED), _find_inner_range(readings)
    middle = median(readings)
    spread = (highest - lowest) / middle
    quarter = max(1, len(readings) // 4)
    begin, end = median(readings[:quarter]), median(readings[-quarter:])
    evidence = (
        f"The median of {len(readings)} records is {quantity(middle, 'Hz', 4)}."
        + (f" The {cut} lowest and the {cut} highest readings were left out." if cut else ""),
        f"The median was {quantity(begin, 'Hz', 4)} in the first quarter of the run and {quantity(end, 'Hz', 4)} in the last.",
        _describe_policy(evaluation.run.machine),
    )
    ends = f"from {quantity(lowest, 'Hz')} to {quantity(highest, 'Hz')}"
    values = f"{ends}, a range of {quantity(spread, '%', 2)} of the median"
    if spread <= UNSTEADY:
        if any(disturbances.name(result) == "core clock" for result in evaluation.results):
            return []  # the clock changed during some cases, although not between them
        claim = f"The true core clock was the same before and after all cases: {values}."
        cause = "The clock is fixed, or the load did not change it."
        return [Finding("clock", "good", claim, evidence, cause, "", reach="figures")]
    machine = evaluation.run.machine
    claim = f"The true core clock changed during the run: {values}."
    remedy = advise(f"{settings.suggest_fixed_clock(machine)} Then measure again: ", "run")
    return [
        Finding(
            "clock",
            "notice",
            claim,
            evidence,
            _explain_cause(_compare_equal_cases(read), machine),
            remedy,
            effect=highest / lowest,
            reach="figures",
            about="measurement",
            brief=f"The clock of the cores changed {ends}.",
        )
    ]


def _find_inner_range(readings: Sequence[float]) -> tuple[float, float]:
    """Returns the lowest and the highest reading without the outermost hundredths."""
    cut, ordered = int(len(readings) * TRIMMED), sorted(readings)
    return ordered[cut], ordered[len(ordered) - 1 - cut]


def _compare_equal_cases(read: Sequence[tuple[Record, float]]) -> list[float]:
    """Returns the clocks over the median of equal cases, in the order of the run; without cases that ran only once."""
    of_case: dict[tuple[object, ...], list[float]] = {}
    keys = [(record.benchmark, record.kernel, *sorted(record.parameters.items())) for record, _ in read]
    for key, (_, clock) in zip(keys, read, strict=True):
        of_case.setdefault(key, []).append(clock)
    return [clock / median(of_case[k]) for k, (_, clock) in zip(keys, read, strict=True) if len(of_case[k]) > 1]


def _explain_cause(equal: Sequence[float], machine: Machine) -> str:
    """Returns the likely cause. `equal`: the clocks of equal cases, which alone show that it changes with time."""
    quarter = max(1, len(equal) // 4)
    lowest, highest = _find_inner_range(equal) if len(equal) >= FEWEST else (0.0, math.inf)
    if highest - lowest <= UNSTEADY:
        cause = (
            "Equal cases had the same clock. It depends on the number of busy cores, their kind and their instructions."
        )
    elif machine.is_virtual:
        cause = (
            "The host sets the clock. It depends on the busy cores of the host, the temperature and the power limit."
        )
    elif len(equal) >= FEWEST and median(equal[-quarter:]) < (1 - UNSTEADY / 2) * median(equal[:quarter]):
        cause = "The clock of equal cases fell during the run: the temperature or a power limit lowered it."
    else:
        cause = "The clock depends on the number of busy cores, on the temperature and on the power limit."
    return f"{cause} Figures in cycles stay valid; times change with the clock."


def _read_clock(record: Record) -> float | None:
    around = record.surroundings.core_clock
    readings = [float(hertz) for hertz in (*(around.before or ()), *(around.after or ())) if hertz and hertz > 0]
    return median(readings) if readings else None


def _describe_policy(machine: Machine) -> str:
    values = [(name, machine.setting(name).value) for name in ("governor", "turbo", "hypervisor")]
    words = ", ".join(f"{name} {value}" for name, value in values if value)
    return f"Settings: {words}." if words else "The governor and turbo settings of this machine cannot be read."
