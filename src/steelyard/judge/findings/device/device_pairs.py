"""Rule: finds pairs of devices that copy more slowly than the others, and devices that slow each other down at the host."""

from collections.abc import Iterable
from statistics import median

from steelyard.model import Evaluation, Finding, Result
from steelyard.model.units import percent, quantity
from steelyard.statistics.results import cases

BENCHMARK = "device.transfer"
FEWEST = 4  # pairs: of fewer, none is the one that differs
SLOW = 0.9  # of the median of all pairs
SHARED = 0.9  # of the sum of the devices alone: below, they share something


def find(evaluation: Evaluation) -> list[Finding]:
    """Returns a finding on the slowest pair, and one on all devices at once; [] with one device."""
    usable = [r for r in evaluation.results if r.benchmark == BENCHMARK and r.verdict.level != "INVALID"]
    usable = [r for r in usable if "bandwidth" in r.metrics]
    return [*_judge_pairs(usable), *_judge_together(usable)]


def _judge_pairs(results: Iterable[Result]) -> Iterable[Finding]:
    pairs = {
        (r.parameters["device"], r.parameters["peer"]): r.metrics["bandwidth"]
        for r in results
        if r.kernel == "between" and r.parameters.get("peer") != r.parameters.get("device")
    }
    if len(pairs) < FEWEST:
        return
    middle = median(v.value for v in pairs.values())
    slow = sorted(
        (v.value, a, b) for (a, b), v in pairs.items() if v.value < SLOW * middle and (v.high or v.value) < middle
    )
    evidence = tuple(f"device {a} to {b}: {quantity(value, 'B/s')}" for value, a, b in slow[:8])
    if not slow:
        claim = f"The {len(pairs)} pairs of devices differ by less than {percent(1 - SLOW)}: {quantity(middle, 'B/s')} (median)."
        yield Finding("device_pairs", "good", claim, (), "The links between them are equal.", "", BENCHMARK)
        return
    value, a, b = slow[0]
    yield Finding(
        "device_pairs",
        "notice",
        f"Device {a} copies to device {b} at {quantity(value, 'B/s')}. The median of the {len(pairs)} pairs is "
        f"{quantity(middle, 'B/s')}.",
        evidence,
        "These two have fewer or slower links between them, or copy by the memory of the host.",
        "See how they are linked (nvidia-smi topo -m), and put ranks that exchange much on devices of fast pairs.",
        BENCHMARK,
        effect=middle / value,
    )


def _judge_together(results: list[Result]) -> Iterable[Finding]:
    for kernel, alone, words in (("to_all", "to_device", "to"), ("from_all", "from_device", "from")):
        for all_of_them in (r for r in results if r.kernel == kernel):
            size = all_of_them.parameters.get("bytes")
            each = [
                r.metrics["bandwidth"].value
                for r in results
                if r.kernel == alone and r.parameters.get("bytes") == size and r.parameters.get("memory") == "pinned"
            ]
            total = all_of_them.metrics["bandwidth"].value
            if len(each) < 2 or total >= SHARED * sum(each):
                continue
            yield Finding(
                "device_pairs",
                "notice",
                f"Copies {words} all {len(each)} devices at once reach {percent(total / sum(each))} of the sum of each alone.",
                (
                    f"{quantity(total, 'B/s')} together; {quantity(sum(each), 'B/s')} is the sum",
                    cases.describe(all_of_them),
                ),
                "The devices share a switch of PCI Express, or the memory of the host limits them.",
                "Expect this bandwidth where all devices copy at once. Keep host buffers on the node of each device.",
                BENCHMARK,
                effect=sum(each) / total,
            )
