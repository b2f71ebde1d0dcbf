"""Rule: names the accelerator that is slower than the others of its kind in the same machine."""

from statistics import median

from steelyard.model import Evaluation, Finding, Result
from steelyard.model.devices import find_device, name_device
from steelyard.model.units import percent
from steelyard.model.words import plural
from steelyard.statistics.results import cases
from steelyard.statistics.results.cost import ratio
from steelyard.statistics.results.identity import Identity, identity

FEWEST = 3  # devices: of two, neither is the one that differs
SLOW = 1.05  # the time of a case over the median of the others
SHARE = 0.5  # share of the cases with a kind of figure that must be slow


def find(evaluation: Evaluation) -> list[Finding]:
    """Returns one finding on the slowest device of each kind, if most of its cases are certainly slower."""
    groups: dict[str, dict[Identity, list[Result]]] = {}
    for r in evaluation.results:
        device = find_device(evaluation.run.machine, r.parameters) if r.benchmark.startswith("device.") else None
        if device and r.verdict.level != "INVALID":
            groups.setdefault(f"{device.name} {device.door}", {}).setdefault(identity(r, "device"), []).append(r)
    return [finding for by_case in groups.values() if (finding := _judge(evaluation, by_case))]


def _judge(evaluation: Evaluation, by_case: dict[Identity, list[Result]]) -> Finding | None:
    shared = [results for results in by_case.values() if len(results) >= FEWEST]
    slow: dict[str, list[tuple[Result, float]]] = {}
    counts: dict[str, int] = {}
    for results in shared:
        for r in results:
            name = name_device(evaluation.run.machine, r.parameters)
            counts[name] = counts.get(name, 0) + 1
            against = (ratio(r, other) for other in results if other is not r)
            ratios = [one for one in against if one]
            middle = median([one.value for one in ratios] or [1.0])
            if middle > SLOW and sum(one.low > 1 for one in ratios) > len(ratios) / 2:
                slow.setdefault(name, []).append((r, middle))
    if not counts:
        return None
    name = max(counts, key=lambda device: len(slow.get(device, ())) / counts[device])
    found = sorted(slow.get(name, ()), key=lambda one: -one[1])
    devices = plural(len(counts), "device")
    if len(found) < SHARE * counts[name]:
        claim = f"The {devices} of a kind differ by less than {percent(SLOW - 1)} in most cases."
        return Finding("slow_device", "good", claim, (), "They are equal, and nothing slows one of them down.", "")
    evidence = tuple(f"{cases.describe(r)}: {value:.2f} times as long as the others" for r, value in found[:8])
    return Finding(
        "slow_device",
        "serious",
        f"{name} is slower than the other devices of its kind: in {len(found)} of {counts[name]} cases, by "
        f"{percent(median(v for _, v in found) - 1)} (median).",
        evidence,
        "Its power, temperature, clock or memory differs from that of the others; this run does not prove which.",
        "Compare its state with that of the others (nvidia-smi -q), and measure it alone.",
        effect=median(v for _, v in found),
    )
