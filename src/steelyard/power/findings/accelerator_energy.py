"""Rule: checks whether an accelerator saves energy: its speed-up must be above the ratio of the powers."""

from collections.abc import Iterable
from dataclasses import dataclass

from steelyard.judge.evaluation.energy import count_missing_parts
from steelyard.judge.findings.open_questions import undecided
from steelyard.measure.telemetry.watched import name_basis
from steelyard.model import Evaluation, Finding, Machine, Result, Value
from steelyard.model.devices import find_device
from steelyard.model.scope import words
from steelyard.model.units import quantity
from steelyard.model.words import joined, plural
from steelyard.statistics.results import cases
from steelyard.statistics.results.identity import Identity, identity
from steelyard.statistics.results.shared_work import side_of

NAMED = 12  # kernels that are listed
UNCOVERED = "Parts that compute have no power sensor"


@dataclass(frozen=True)
class Pair:
    """A kernel with threads alone and with a device, both with their power: P2/P1 is `needed`, t1/t2 `speedup`."""

    threads: Result
    other: Result

    @property
    def needed(self) -> float:
        return self.other.metrics["power"].value / self.threads.metrics["power"].value

    @property
    def speedup(self) -> float:
        return operation_seconds(self.threads) / operation_seconds(self.other)

    @property
    def saves(self) -> bool | None:
        """Returns whether the device saves energy; None if the intervals of the two energies overlap."""
        a, b = self.threads.metrics["energy"], self.other.metrics["energy"]
        if a.low is None or a.high is None or b.low is None or b.high is None:
            return None
        return True if b.high < a.low else False if b.low > a.high else None


def find(evaluation: Evaluation) -> list[Finding]:
    """Returns one finding on all kernels that were measured with threads and with a device."""
    measured = [r for r in evaluation.results if "mode" in r.parameters and r.verdict.level != "INVALID"]
    pairs = _list_pairs([r for r in measured if "energy" in r.metrics])
    if pairs:
        device = name_device(evaluation.run.machine, [p.other for p in pairs])
        return [_make_finding(pairs, name_basis(evaluation.power), device)]
    both = [r for pair in _list_pairs(measured) for r in (pair.threads, pair.other)]
    return ask_energy("accelerator_energy", "The energy of threads and device cannot be compared", evaluation, both)


def name_device(machine: Machine, results: Iterable[Result]) -> str:
    """Returns the name of the device that all results used; "the device" for several or unknown ones."""
    names = {device.name if (device := find_device(machine, r.parameters)) else "" for r in results}
    return names.pop() or "the device" if len(names) == 1 else "the device"


def ask_energy(rule: str, question: str, evaluation: Evaluation, results: list[Result]) -> list[Finding]:
    """Returns the question as undecided if a part that computes in the results has no sensor; [] otherwise."""
    parts = joined(count_missing_parts(evaluation, results))
    remedy = f"Add a sensor of {parts}, or a meter of the node: steelyard power sensors lists those of this machine."
    return [undecided(rule, f"{question}: no sensor covers {parts}.", (), UNCOVERED, remedy)] if parts else []


def _list_pairs(results: list[Result]) -> list[Pair]:
    """Returns the pairs of each case with the most threads."""
    best: dict[str, dict[Identity, Result]] = {"threads": {}, "device": {}}
    for r in sorted(results, key=lambda r: cases.number(r, "threads") or 0):
        if (by_case := best.get(side_of(r))) is not None:
            by_case[identity(r, "mode", "door", "threads", "device", "pinning")] = r
    return [Pair(r, best["device"][key]) for key, r in best["threads"].items() if key in best["device"]]


def _make_finding(pairs: list[Pair], by: str, device: str) -> Finding:
    scope = words(pairs[0].other.metrics["energy"].scope)
    saves, costs = [p for p in pairs if p.saves], [p for p in pairs if p.saves is False]
    rest = len(pairs) - len(saves) - len(costs)
    parts = (
        (len(saves), "saves energy in"),
        (len(costs), "costs more energy in"),
        (rest, "has no certain effect in"),
    )
    counts = ", ".join(f"{words} {count}" for count, words in parts if count)
    ordered = sorted(pairs, key=lambda p: p.speedup / p.needed)
    return Finding(
        "accelerator_energy",
        "notice" if costs else "good",
        f"{by}Compared with threads, {device} {counts} of {plural(len(pairs), 'kernel')} (energy of the {scope}).",
        tuple(_describe_pair(p, device) for p in ordered[:NAMED]),
        "Energy is power times time. A device that draws P2/P1 times the power must be more than P2/P1 times as fast.",
        f"To save energy, run {', '.join(p.threads.kernel for p in costs[:NAMED])} with threads: --set mode=threads."
        if costs
        else "",
        effect=max((p.needed / p.speedup for p in costs), default=None),
        reach="program",
    )


def _describe_pair(pair: Pair, device: str) -> str:
    needs = f"{device} needs a speed-up above {pair.needed:.2f} (P2/P1) to save energy and has {pair.speedup:.2f}"
    scope = words(pair.other.metrics["power"].scope)
    return (
        f"{pair.other.benchmark} {pair.other.kernel}: {needs}. The power of the {scope} is then "
        f"{_format_value(pair.other.metrics['power'])} instead of {_format_value(pair.threads.metrics['power'])}, "
        f"and an operation takes {_format_value(pair.other.metrics['energy'])} instead of "
        f"{_format_value(pair.threads.metrics['energy'])}."
        f"{cases.caution(pair.other, pair.threads)}"
    )


def operation_seconds(result: Result) -> float:
    """Returns the time of an operation."""
    return result.metrics["energy"].value / result.metrics["power"].value


def _format_value(value: Value) -> str:
    return quantity(value.value, value.unit)
