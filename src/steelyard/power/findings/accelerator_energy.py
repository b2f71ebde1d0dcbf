"""Rule: checks whether an accelerator saves energy: its speed-up must be above the ratio of the powers."""

from dataclasses import dataclass

from steelyard.model import Evaluation, Finding, Result, Value
from steelyard.statistics.results import cases
from steelyard.statistics.results.identity import Identity, identity
from steelyard.telemetry.watched import basis
from steelyard.units import quantity
from steelyard.words import plural

NAMED = 12  # kernels that are listed


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
        return _seconds(self.threads) / _seconds(self.other)

    @property
    def saves(self) -> bool | None:
        """Returns whether the device saves energy; None if the intervals of the two energies overlap."""
        a, b = self.threads.metrics["energy"], self.other.metrics["energy"]
        if a.low is None or a.high is None or b.low is None or b.high is None:
            return None
        return True if b.high < a.low else False if b.low > a.high else None


def find(evaluation: Evaluation) -> list[Finding]:
    """Returns one finding on all kernels that were measured with threads and with a device."""
    usable = [r for r in evaluation.results if "mode" in r.parameters and "energy" in r.metrics]
    pairs = _pairs(usable)
    return [_finding(pairs, basis(evaluation.power))] if pairs else []


def _pairs(results: list[Result]) -> list[Pair]:
    """Returns the pairs of each case with the most threads."""
    best: dict[str, dict[Identity, Result]] = {"threads": {}, "opencl": {}}
    for r in sorted(results, key=lambda r: cases.number(r, "threads") or 0):
        if (by_case := best.get(str(r.parameters["mode"]))) is not None:
            by_case[identity(r, "mode", "threads", "device", "pinning")] = r
    return [Pair(r, best["opencl"][key]) for key, r in best["threads"].items() if key in best["opencl"]]


def _finding(pairs: list[Pair], by: str) -> Finding:
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
        f"{by}Compared with threads, the device {counts} of {plural(len(pairs), 'kernel')}.",
        tuple(_line(p) for p in ordered[:NAMED]),
        "Energy is power times time. A device that draws P2/P1 times the power must be more than P2/P1 times as fast.",
        f"To save energy, run {', '.join(p.threads.kernel for p in costs[:NAMED])} with threads: --set mode=threads."
        if costs
        else "",
        effect=max((p.needed / p.speedup for p in costs), default=None),
        reach="program",
    )


def _line(pair: Pair) -> str:
    needs = f"the device needs a speed-up above {pair.needed:.2f} (P2/P1) to save energy and has {pair.speedup:.2f}"
    return (
        f"{pair.other.benchmark} {pair.other.kernel}: {needs}. It draws {_quantity(pair.other.metrics['power'])} instead of "
        f"{_quantity(pair.threads.metrics['power'])}, and an operation takes "
        f"{_quantity(pair.other.metrics['energy'])} instead of {_quantity(pair.threads.metrics['energy'])}."
        f"{cases.caution(pair.other, pair.threads)}"
    )


def _seconds(result: Result) -> float:
    """Returns the time of an operation."""
    return result.metrics["energy"].value / result.metrics["power"].value


def _quantity(value: Value) -> str:
    return quantity(value.value, value.unit)
