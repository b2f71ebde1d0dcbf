"""Rule: measures the cost of the memory of another node, beside the distances that the firmware reports."""

from dataclasses import dataclass

from steelyard.judge.findings.open_questions import measure_again, name_doubt, undecided
from steelyard.model import Evaluation, Finding, Machine, Result
from steelyard.model.words import in_words
from steelyard.statistics.results import cases
from steelyard.statistics.results.cost import Ratio, ratio
from steelyard.statistics.results.identity import identity
from steelyard.statistics.validity import trust

BENCHMARK = "memory.placement"
KERNELS = {"triad": "a byte of Triad", "chase": "a dependent access"}
PENALTY = 1.10  # below it, the memory node does not matter to programs
ALL_ON_ONE = 0.95  # share of the sampled pages: the rest belong to the runtime
PLACES = (
    "pinning",
    "memory_policy",
    "cpu_node",
    "memory_node",
    "placement",
)  # parameters that may differ in a comparison


@dataclass(frozen=True)
class _Remote:
    cpu: int
    memory: int
    local: Result
    result: Result
    penalty: Ratio


def find(evaluation: Evaluation) -> list[Finding]:
    """Compares the slowest and the fastest remote node with the local one, for Triad and for latency."""
    findings = []
    for kernel, what in KERNELS.items():
        remote = _select_remote(cases.find(evaluation.results, BENCHMARK, kernel), evaluation.run.machine)
        if remote:
            findings.append(_make_finding(evaluation, what, remote))
    return findings


def _select_remote(results: list[Result], machine: Machine) -> list[_Remote]:
    placed = {}
    for result in results:
        cpu, memory = _find_cpu_node(result, machine), _find_memory_node(result)
        if cpu is not None and memory is not None:
            placed[cpu, memory, identity(result, *PLACES)] = result
    remote = []
    for (cpu, memory, rest), result in placed.items():
        local = placed.get((cpu, cpu, rest))
        penalty = ratio(result, local) if local and cpu != memory else None
        if local and penalty:
            remote.append(_Remote(cpu, memory, local, result, penalty))
    return _select_most_threads(remote)


def _select_most_threads(remote: list[_Remote]) -> list[_Remote]:
    """Returns the result with the most threads for each pair of nodes: few threads do not saturate the link."""
    ways: dict[tuple[int, int], _Remote] = {}
    for one in sorted(remote, key=lambda f: cases.number(f.result, "threads") or 1):
        ways[one.cpu, one.memory] = one
    return list(ways.values())


def _find_cpu_node(result: Result, machine: Machine) -> int | None:
    given = cases.number(result, "cpu_node")
    if given is not None:
        return int(given)
    used = next((c for r in result.attempts if (c := r.surroundings.cpus) is not None), ())
    nodes = {n.number for n in machine.nodes if set(n.cpus) & set(used)}
    return nodes.pop() if len(nodes) == 1 else None


def _find_memory_node(result: Result) -> int | None:
    given = cases.number(result, "memory_node")
    if given is not None:
        return int(given)
    word, _, number = str(result.parameters.get("memory_policy", "")).partition(":")
    if word == "bind" and number.isdigit():
        return int(number)
    for record in result.attempts:  # the nodes on which the pages were found
        pages = record.surroundings.pages
        for node, share in ((pages and pages.nodes) or {}).items():
            if share is not None and share >= ALL_ON_ONE and node.isdigit():
                return int(node)
    return None


def _make_finding(evaluation: Evaluation, what: str, remote: list[_Remote]) -> Finding:
    ordered = sorted(remote, key=lambda r: r.penalty.value)
    nearest, furthest = ordered[0], ordered[-1]
    dear = furthest.penalty.value > PENALTY and furthest.penalty.low > 1
    span = f"{furthest.penalty.value:.2f} times as much"
    if len(ordered) > 1 and furthest.penalty.value > nearest.penalty.value * 1.05:
        span = f"{nearest.penalty.value:.2f} to {span}"
    threads = in_words("threads", cases.value(furthest.result, "threads") or 1)
    doubt = cases.doubt(*(r for f in ordered for r in (f.local, f.result)))
    claim = (
        f"{what[0].upper()}{what[1:]} from the memory of another node costs {span} as from local memory ({threads})."
    )
    lines = tuple(_describe_penalty(f, evaluation.run.machine) for f in reversed(ordered))[:12]
    if not dear and (reason := name_doubt(doubt)):
        again = measure_again(evaluation, doubt, BENCHMARK)
        return undecided("remote_penalty", claim, lines, reason, again, BENCHMARK)
    return Finding(
        "remote_penalty",
        "notice" if dear else "good",
        f"{claim}{trust.caution(doubt)}",
        lines,
        "The link between the nodes has less bandwidth and more latency than the local memory."
        if dear
        else "The link between the nodes does not limit these accesses.",
        "Let each thread initialise the data that it will use. Bind ranks and memory to a node: numactl "
        "--cpunodebind=0 --membind=0 PROGRAM. If all threads share data: numactl --interleave=all PROGRAM"
        if dear
        else "",
        BENCHMARK,
        effect=furthest.penalty.value if dear else None,
    )


def _describe_penalty(f: _Remote, machine: Machine) -> str:
    text = (
        f"Processors of node {f.cpu}, memory of node {f.memory}: {f.penalty.value:.2f} times the cost of "
        f"the memory of node {f.cpu} ({f.penalty.low:.2f} to {f.penalty.high:.2f})"
    )
    distances = next((n.distances for n in machine.nodes if n.number == f.cpu), ())
    position = next((i for i, n in enumerate(machine.nodes) if n.number == f.memory), None)
    local = next((i for i, n in enumerate(machine.nodes) if n.number == f.cpu), None)
    if position is not None and local is not None and max(position, local) < len(distances) and distances[local]:
        text += f"; the distances in the firmware (SLIT) have a ratio of {distances[position] / distances[local]:.1f}"
    return f"{text}."
