"""Rule: checks whether the true core clock stays the same during the run."""

from statistics import median

from steelyard.findings import disturbances, settings
from steelyard.machine.settings import is_virtual, setting
from steelyard.model import Evaluation, Finding, Machine, Record
from steelyard.units import quantity

UNSTEADY = 0.03  # lowest to highest, over the median: three times the scatter of the reading itself
FEWEST = 4  # readings that are needed to judge the clock
# An interrupt during a reading makes it too low. Of many readings the outermost hundredth on either side
# is left out; the finding says so.
TRIMMED = 0.01


def find(evaluation: Evaluation) -> list[Finding]:
    """Returns one finding on the lowest and highest clock before and after the samples of all records."""
    readings = [clock for record in evaluation.run.records if (clock := _clock(record)) is not None]
    if len(readings) < FEWEST:
        return []
    cut = int(len(readings) * TRIMMED)
    ordered = sorted(readings)
    kept = ordered[cut : len(ordered) - cut]
    lowest, highest, middle = kept[0], kept[-1], median(ordered)
    spread = (highest - lowest) / middle
    quarter = max(1, len(readings) // 4)
    begin, end = median(readings[:quarter]), median(readings[-quarter:])
    evidence = (
        f"The median of {len(readings)} records is {quantity(middle, 'Hz', 4)}."
        + (f" The {cut} lowest and the {cut} highest readings were left out." if cut else ""),
        f"The median was {quantity(begin, 'Hz', 4)} in the first quarter of the run and {quantity(end, 'Hz', 4)} in the last.",
        _policy(evaluation.run.machine),
    )
    ends = f"from {quantity(lowest, 'Hz')} to {quantity(highest, 'Hz')}"
    values = f"{ends}, a range of {quantity(spread, '%', 2)} of the median"
    if spread <= UNSTEADY:
        if any(disturbances.name(result) == "core clock" for result in evaluation.results):
            return []  # it changed during some cases, although not between them
        claim = f"The true core clock was the same before and after all cases: {values}."
        return [
            Finding(
                "clock",
                "good",
                claim,
                evidence,
                "The clock is fixed, or the load did not change it.",
                "",
                reach="figures",
            )
        ]
    fell = end < begin * (1 - UNSTEADY / 2)
    machine = evaluation.run.machine
    claim = f"The true core clock changed during the run: {values}."
    remedy = f"{settings.fix_clock(machine)} Then measure again: steelyard run"
    return [
        Finding(
            "clock",
            "notice",
            claim,
            evidence,
            _cause(fell, machine),
            remedy,
            effect=highest / lowest,
            reach="figures",
            about="measurement",
        )
    ]


def _cause(fell: bool, machine: Machine) -> str:
    if fell:
        cause = "The clock fell during the run: the machine became warm or reached its power limit."
    elif is_virtual(machine):
        cause = (
            "The host sets the clock. It depends on the busy cores of the host, the temperature and the power limit."
        )
    else:
        cause = "The clock depends on the number of busy cores, on the temperature and on the power limit."
    return f"{cause} Figures in cycles stay valid; times change with the clock."


def _clock(record: Record) -> float | None:
    around = record.surroundings.core_clock
    readings = [float(hertz) for hertz in (*(around.before or ()), *(around.after or ())) if hertz and hertz > 0]
    return median(readings) if readings else None


def _policy(machine: Machine) -> str:
    values = [(name, setting(machine, name).value) for name in ("governor", "turbo", "hypervisor")]
    words = ", ".join(f"{name} {value}" for name, value in values if value)
    return f"Settings: {words}." if words else "The governor and turbo settings of this machine cannot be read."
