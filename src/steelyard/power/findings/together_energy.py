"""Rule: checks whether threads and an OpenCL device together use less energy than the better of both alone."""

from dataclasses import dataclass

from steelyard.measure.telemetry.watched import name_basis
from steelyard.model import Evaluation, Finding, Result
from steelyard.model.devices import on_device
from steelyard.model.scope import words
from steelyard.model.units import quantity
from steelyard.model.words import plural
from steelyard.power.findings.accelerator_energy import ask_energy, operation_seconds
from steelyard.statistics.results import cases
from steelyard.statistics.results.shared_work import Sides, sides

NAMED = 12  # kernels that are listed


@dataclass(frozen=True)
class Energies:
    """A kernel in mixed mode and by the side that uses less energy alone; `ratio` of the energies, `low` to `high`."""

    mixed: Result
    best: Result
    ratio: float
    low: float
    high: float

    @property
    def name(self) -> str:
        return "the device" if on_device(self.best.parameters) else "the threads"


def find(evaluation: Evaluation) -> list[Finding]:
    """Returns one finding on all kernels that were measured in mixed mode and with threads or device alone."""
    measured = [r for r in evaluation.results if "mode" in r.parameters and r.verdict.level != "INVALID"]
    energies = [_compare_sides(one) for one in sides(filter(_is_sure, measured)) if one.threads or one.device]
    if energies:
        return [_summarize_energies(energies, name_basis(evaluation.power))]
    both = [r for one in sides(measured) for r in (one.mixed, one.threads, one.device) if r]
    return ask_energy("together_energy", "The energy of threads and device together is unknown", evaluation, both)


def _is_sure(result: Result) -> bool:
    value = result.metrics.get("energy")
    return value is not None and value.low is not None and value.high is not None and value.low > 0


def _compare_sides(kernel: Sides) -> Energies:
    best = min((r for r in (kernel.threads, kernel.device) if r), key=lambda r: r.metrics["energy"].value)
    a, b = kernel.mixed.metrics["energy"], best.metrics["energy"]
    low, high = (a.low or 0.0) / (b.high or b.value), (a.high or a.value) / (b.low or b.value)
    return Energies(kernel.mixed, best, a.value / b.value, low, high)


def _summarize_energies(energies: list[Energies], by: str) -> Finding:
    costs, saves = [s for s in energies if s.low > 1], [s for s in energies if s.high < 1]
    rest = len(energies) - len(costs) - len(saves)
    many = f"{plural(len(energies), 'kernel')} (energy of the {words(energies[0].mixed.metrics['energy'].scope)})"
    others = [f"less in {len(saves)}"] if saves else []
    others += [f"no certain difference in {rest}"] if rest else []
    if costs:
        counts = ", ".join((f"use more energy than the better one alone in {len(costs)} of {many}", *others))
    else:
        counts = (
            f"use more energy than the better one alone in none of {many}, as far as is certain: {', '.join(others)}"
        )
    ordered = sorted(energies, key=lambda s: -s.ratio)
    return Finding(
        "together_energy",
        "notice" if costs else "good",
        f"{by}Threads and device together {counts}.",
        tuple(_describe_energies(s) for s in ordered[:NAMED]),
        "The second side draws additional power while both work. Both together save energy only if their speed-up over one side "
        "alone is above the ratio of the powers, P2/P1.",
        _suggest_remedy(costs) if costs else "",
        effect=max((s.ratio for s in costs), default=None),
        reach="program",
    )


def _describe_energies(energies: Energies) -> str:
    one, both = energies.best, energies.mixed
    needed = both.metrics["power"].value / one.metrics["power"].value
    return (
        f"{both.benchmark} {both.kernel}: together {_describe_result(both, 'energy')}, {energies.name} alone "
        f"{_describe_result(one, 'energy')}: "
        f"{energies.ratio:.2f} times ({energies.low:.2f} to {energies.high:.2f}). Together they draw "
        f"{_describe_result(both, 'power')} instead of {_describe_result(one, 'power')}. They need a speed-up above {needed:.2f} "
        f"(P2/P1) and have {operation_seconds(one) / operation_seconds(both):.2f}."
        f"{cases.caution(both, one)}"
    )


def _suggest_remedy(costs: list[Energies]) -> str:
    """Returns the advice to run each kernel on the side that uses less energy."""
    parts = []
    for side in ("the device", "the threads"):
        if chosen := [s for s in costs if s.name == side]:
            kernels = ", ".join(s.mixed.kernel for s in chosen[:NAMED])
            parts.append(f"{kernels} with {side} alone (--set mode={chosen[0].best.parameters['mode']})")
    return f"To save energy, run {'; '.join(parts)}."


def _describe_result(result: Result, metric: str) -> str:
    value = result.metrics[metric]
    return quantity(value.value, value.unit)
