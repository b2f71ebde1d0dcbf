"""Rule: finds narrow links of accelerators, and what copies from far or from ordinary memory of the host cost programs."""

from steelyard.judge.findings.open_questions import measure_again, name_doubt, undecided
from steelyard.model import Evaluation, Finding, Result
from steelyard.model.devices import find_device, find_narrow_link, name_device
from steelyard.model.units import percent, quantity
from steelyard.statistics.results import cases
from steelyard.statistics.results.cost import ratio

BENCHMARK = "device.transfer"
FAR = 1.05  # times the cost from the fastest node: from this factor on, a program should choose the node of its buffers
DEARER = 1.15  # times the cost from pinned memory: from this factor on, programs should use pinned memory
WAYS = ("to_device", "from_device")


def find(evaluation: Evaluation) -> list[Finding]:
    """Returns a finding for each device: its link is narrow, ordinary memory costs time, or neither."""
    findings = []
    by_device: dict[tuple[object, object], list[Result]] = {}
    for result in (r for kernel in WAYS for r in cases.find(evaluation.results, BENCHMARK, kernel)):
        by_device.setdefault((result.parameters.get("door"), result.parameters.get("device")), []).append(result)
    for results in by_device.values():
        device = find_device(evaluation.run.machine, results[0].parameters)
        name = name_device(evaluation.run.machine, results[0].parameters)
        if lanes := device and find_narrow_link(device):
            findings.append(_report_narrow_link(name, *lanes, results))
        elif pairs := _pair_copies(results):
            findings.append(_judge_memory(evaluation, name, pairs))
        findings += _judge_nodes(evaluation, name, results)
    return findings


def _report_narrow_link(name: str, width: int, most: int, results: list[Result]) -> Finding:
    best = max((r.metrics["bandwidth"].value for r in results if "bandwidth" in r.metrics), default=0.0)
    return Finding(
        "device_copies",
        "serious",
        f"{name} uses {width} of its {most} lanes of PCI Express. The fastest copy reached {quantity(best, 'B/s')}.",
        (f"The system reports {width} lanes in use, and {most} that the device and its slot have.",),
        "The link was trained with fewer lanes: by its slot, a riser, or dirt on the contacts.",
        "Put the device into a slot with all lanes, and see what the firmware reports.",
        BENCHMARK,
        effect=most / width,
    )


def _pair_copies(results: list[Result]) -> list[tuple[Result, Result]]:
    """Returns the copies from ordinary memory with those from pinned memory, of the same way and size."""
    anywhere = [r for r in results if "memory_policy" not in r.parameters]
    places = {(r.kernel, r.parameters.get("bytes"), r.parameters.get("memory")): r for r in anywhere}
    pairs = (
        (r, places.get((kernel, size, "pinned")))
        for (kernel, size, memory), r in places.items()
        if memory == "pageable"
    )
    return [(pageable, pinned) for pageable, pinned in pairs if pinned]


def _judge_nodes(evaluation: Evaluation, name: str, results: list[Result]) -> list[Finding]:
    """Returns the finding on the memory nodes of the host: none without two nodes, or if the copies do not differ."""
    found = []
    for way in WAYS:
        bound = [r for r in results if r.kernel == way and "memory_policy" in r.parameters and "bandwidth" in r.metrics]
        if len(bound) < 2:
            continue
        near, far = (choose(bound, key=lambda r: r.metrics["bandwidth"].value) for choose in (max, min))
        if (cost := ratio(far, near)) and cost.low > 1 and cost.value >= FAR and not name_doubt(cases.doubt(near, far)):
            found.append((cost, far, near))
    if not found:
        return []
    cost, far, near = max(found, key=lambda one: one[0].value)
    of_far, of_near = _number_node(far), _number_node(near)
    evidence = tuple(
        f"{r.kernel.replace('_', ' ')}, memory of node {_number_node(r)}: {quantity(r.metrics['bandwidth'].value, 'B/s')}"
        for _, *both in found
        for r in both
    )
    return [
        Finding(
            "device_copies",
            "notice",
            f"Copies between {name} and the host's memory node {of_far} take {percent(cost.value - 1)} more time than with "
            f"node {of_near}.",
            evidence,
            f"The data of node {of_far} pass through a further processor or link.",
            f"Run a program that copies much on node {of_near}: numactl --cpunodebind={of_near} --membind={of_near} PROGRAM",
            BENCHMARK,
            effect=cost.value,
            reach="program",
        )
    ]


def _number_node(result: Result) -> str:
    return str(result.parameters["memory_policy"]).removeprefix("bind:")


def _judge_memory(evaluation: Evaluation, name: str, pairs: list[tuple[Result, Result]]) -> Finding:
    worst, pageable, pinned = max(
        ((ratio(a, b), a, b) for a, b in pairs), key=lambda one: one[0].value if one[0] else 0.0
    )
    evidence = [
        f"{r.kernel.replace('_', ' ')}, {quantity(float(r.parameters['bytes']), 'B')}: "
        f"{quantity(r.metrics['bandwidth'].value, 'B/s')} with {r.parameters['memory']} memory"
        for pair in pairs
        for r in pair
        if "bandwidth" in r.metrics
    ]
    level = cases.doubt(pageable, pinned)
    where = f"Copies between ordinary memory of the host and {name}"
    if worst is None or name_doubt(level):
        remedy = measure_again(evaluation, level, BENCHMARK)
        return undecided("device_copies", f"{where} cannot be judged.", evidence, name_doubt(level), remedy, BENCHMARK)
    if worst.value < DEARER or worst.low <= 1:
        claim = f"{where} take at most {percent(worst.value - 1)} more time than with pinned memory."
        cause = "The driver copies in parts while it sends."
        return Finding("device_copies", "good", claim, tuple(evidence), cause, "", BENCHMARK)
    return Finding(
        "device_copies",
        "notice",
        f"{where} take {worst.value:.1f} times as long as with pinned (page-locked) memory.",
        tuple(evidence),
        "The driver copies ordinary memory to a place of its own first, from which the device reads.",
        "Allocate the buffers of such programs as pinned memory (cudaHostAlloc, hipHostMalloc), or register them.",
        BENCHMARK,
        effect=worst.value,
        reach="program",
    )
