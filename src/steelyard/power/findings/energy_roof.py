"""Rule: measures the energy of a flop and of a byte at the roofs, and finds kernels that use much more.

Both prices contain the constant part of a node's power, since the node also draws it at the roof. So a kernel that
computes and moves data at the same time costs about the greater of the two, not their sum: J. W. Choi, D. Bedard,
R. Fowler, R. Vuduc, A Roofline Model of Energy, IPDPS 2013.
"""

from collections.abc import Iterable
from dataclasses import dataclass

from steelyard.judge.findings.open_questions import undecided
from steelyard.measure.telemetry.coverage import contains
from steelyard.measure.telemetry.watched import name_basis
from steelyard.model import Evaluation, Finding, Result, Value, scope
from steelyard.model.caches import MEMORY
from steelyard.model.scope import Parts, words
from steelyard.model.units import percent, quantity, significant
from steelyard.model.words import in_words, plural
from steelyard.power.findings.accelerator_energy import UNCOVERED
from steelyard.statistics.results import cases
from steelyard.statistics.results.roofline import Place, Roofline, rooflines
from steelyard.statistics.results.roofs import VECTORS, Roof, record_with_work

QUESTION = "The energy of a byte of the memory is unknown: no sensor covers the memory."
NAMED = 8  # kernels in the list, ordered by the ratio of their energy to the energy at the roof
MUCH = 2.0  # times the energy at the roofs: a kernel that reaches half of a roof at equal power


@dataclass(frozen=True)
class Prices:
    """Energy (J) of a flop and of a byte of the memory at the measured roofs, each with its interval."""

    flop: Value
    byte: Value
    results: tuple[Result, Result]

    @property
    def scope(self) -> Parts:
        return self.results[0].metrics["energy"].scope

    @property
    def balance(self) -> float:
        """Returns the intensity (flop/B) at which flops and bytes cost the same."""
        return self.byte.value / self.flop.value


@dataclass(frozen=True)
class Paid:
    """A kernel with its data in memory: the energy (J) of its flops and bytes at the roofs, and its measured energy."""

    place: Place
    flops: float
    bytes: float
    joules: Value

    @property
    def needed(self) -> float:
        return max(self.flops, self.bytes)

    @property
    def times(self) -> float:
        return self.joules.value / self.needed

    @property
    def much(self) -> bool:
        """Returns whether the kernel certainly uses much more energy than at the roof."""
        return (self.joules.low or 0.0) / self.needed > MUCH


def find(evaluation: Evaluation) -> list[Finding]:
    """Returns one finding on the roofline with the most threads whose two roofs have an energy."""
    for line in reversed(rooflines(evaluation)):
        if prices := _find_prices(line):
            if not contains(prices.scope, scope.MEMORY):
                return [
                    undecided(
                        "energy_roof", QUESTION, (), UNCOVERED, "Add a sensor of the memory, or a meter of the node."
                    )
                ]
            return [_make_finding(line, prices, list(_list_paid(line, prices)), name_basis(evaluation.power))]
    return []


def _find_prices(line: Roofline) -> Prices | None:
    peak, memory = line.roof(VECTORS), line.roof(MEMORY)
    flop, byte = (_read_price(roof, names) for roof, names in ((peak, ("flops",)), (memory, ("bytes_moved", "bytes"))))
    return Prices(flop, byte, (peak.result, memory.result)) if peak and memory and flop and byte else None


def _read_price(roof: Roof | None, names: tuple[str, ...]) -> Value | None:
    """Returns the energy of an operation divided by its work of one of these names."""
    if (
        roof is None
        or (energy := roof.result.metrics.get("energy")) is None
        or (record := record_with_work(roof.result)) is None
    ):
        return None
    work = next((amount for name in names if (amount := record.work.get(name))), None)
    if not work or not energy.value > 0:
        return None
    low, high = (end / work if end is not None else None for end in (energy.low, energy.high))
    return Value(energy.value / work, "J", low, high, "lower")


def _list_paid(line: Roofline, prices: Prices) -> Iterable[Paid]:
    for place in line.places:
        energy, record = place.result.metrics.get("energy"), record_with_work(place.result)
        if energy and record and place.level == MEMORY and not any(place.result is r for r in prices.results):
            flops = record.work["flops"]
            yield Paid(place, flops * prices.flop.value, flops / place.intensity * prices.byte.value, energy)


def _make_finding(line: Roofline, prices: Prices, paid: list[Paid], by: str) -> Finding:
    much = [p for p in paid if p.much]
    threads = in_words("threads", line.threads)
    parts = [
        f"At the roofs ({threads}), a flop costs {quantity(prices.flop.value, 'J')} and a byte of the memory "
        f"{quantity(prices.byte.value, 'J')} (energy of the {words(prices.scope)}). "
        f"Below {significant(prices.balance)} flop/B, the bytes cost more than the flops"
    ]
    if paid:
        bytes_first = sum(p.bytes > p.flops for p in paid)
        parts.append(f"This holds for {bytes_first} of {plural(len(paid), 'kernel')} with data in memory")
    if much:
        parts.append(f"{len(much)} of them use more than {MUCH:.0f} times the energy of their work at the roof")
    ordered = sorted(paid, key=lambda p: -p.times)
    return Finding(
        "energy_roof",
        "notice" if much else "good",
        f"{by}{'. '.join(parts)}.{cases.caution(*prices.results)}",
        (*_list_bases(prices), *(_describe_paid(p) for p in ordered[:NAMED])),
        "A kernel below its roof takes longer, and the machine draws its idle power during the additional time, too."
        if much
        else "Both prices contain the idle power, because the machine also draws it at the roof.",
        "Bring these kernels closer to their roof, which saves the most energy. The Roofline page shows the roof of each."
        if much
        else "",
        effect=max((p.times for p in much), default=None),
        reach="program",
    )


def _list_bases(prices: Prices) -> Iterable[str]:
    for value, unit, result in zip((prices.flop, prices.byte), ("flop", "B"), prices.results, strict=True):
        between = ""
        if value.low is not None and value.high is not None:
            between = f" ({quantity(value.low, 'J')} to {quantity(value.high, 'J')})"
        called = "byte" if unit == "B" else unit
        by = f"{result.benchmark} {cases.describe(result, but=('threads', 'elements'))}"
        price = f"{quantity(value.value, 'J')}{between} per {called}"
        yield f"{quantity(1 / value.value, f'{unit}/J')}: {price}, by {by}.{cases.caution(result)}"


def _describe_paid(paid: Paid) -> str:
    first, other = ("bytes", "flops") if paid.bytes > paid.flops else ("flops", "bytes")
    share = min(paid.bytes, paid.flops) / paid.needed
    return (
        f"{paid.place.result.benchmark} {paid.place.name}: {quantity(paid.joules.value, 'J')}, {significant(paid.times)} times "
        f"the energy of its {first} at the roof ({quantity(paid.needed, 'J')}). Its {other} cost {percent(share)} of that."
        f"{cases.caution(paid.place.result)}"
    )
