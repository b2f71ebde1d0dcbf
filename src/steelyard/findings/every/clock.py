"""Rule: whether the true core clock stayed the same over the run."""

from statistics import median

from steelyard.machine.settings import setting
from steelyard.model import Evaluation, Finding, Machine, Record
from steelyard.units import quantity

UNSTEADY = 0.03  # of the median, lowest to highest: three times what the chain's own reading scatters
FEWEST = 4  # readings: fewer do not show whether a clock is steady
# An interrupt in the middle of a reading makes it too low. Of many readings the outermost hundredth on
# either side is left out; the finding says so.
TRIMMED = 0.01


def find(evaluation: Evaluation) -> list[Finding]:
    """The lowest and the highest clock that the records show before and after their samples."""
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
        f"{len(readings)} records; the median is {quantity(middle, 'Hz', 4)}"
        + (f"; {2 * cut} readings at the ends were left out." if cut else "."),
        f"In the first quarter of the run it was {quantity(begin, 'Hz', 4)}, in the last {quantity(end, 'Hz', 4)}.",
        _policy(evaluation.run.machine),
    )
    ends = f"from {quantity(lowest, 'Hz')} to {quantity(highest, 'Hz')}"
    observed = f"{ends}, {quantity(spread, '%', 2)} of its median"
    if spread <= UNSTEADY:
        reported = f"The true core clock was steady: {observed}."
        return [Finding("clock", "good", reported, evidence, "The clock is held.", "", reach="figures")]
    fell = end < begin * (1 - UNSTEADY / 2)
    reported = f"The true core clock was not steady: {observed}."
    cause, remedy = _cause(fell), _remedy(evaluation.run.machine)
    return [Finding("clock", "notice", reported, evidence, cause, remedy, effect=highest / lowest, reach="figures")]


def _cause(fell: bool) -> str:
    cause = (
        "The machine grew warm, or used up its power budget: the clock fell during the run."
        if fell
        else "Turbo, the governor, or other guests' load move the clock from case to case."
    )
    return f"{cause} Figures in cycles hold all the same; times differ with it."


def _clock(record: Record) -> float | None:
    around = record.surroundings.core_clock
    known = [float(hertz) for hertz in (*(around.before or ()), *(around.after or ())) if hertz and hertz > 0]
    return median(known) if known else None


def _policy(machine: Machine) -> str:
    known = [(name, setting(machine, name).value) for name in ("governor", "turbo", "hypervisor")]
    reported = ", ".join(f"{name} {value}" for name, value in known if value)
    return f"Settings: {reported}." if reported else "The machine does not tell its governor or turbo."


def _remedy(machine: Machine) -> str:
    if setting(machine, "governor").value is None:
        owner = "The clock is not under this kernel's control: ask the host's owner"
        return f"{owner}, and repeat: steelyard run --preset standard"
    governor = "sudo cpupower frequency-set -g performance"
    return f"Hold it: {governor}, and switch turbo off (steelyard doctor gives the command)."
