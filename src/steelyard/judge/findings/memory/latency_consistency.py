"""Rule: checks whether the worst corner of APEX-MAP agrees with the latency ladder."""

from steelyard.judge.findings.open_questions import measure_again, name_doubt, undecided
from steelyard.judge.findings.remedies import advise
from steelyard.model import Evaluation, Finding, Result
from steelyard.model.units import binary_size, quantity
from steelyard.model.words import in_words
from steelyard.statistics.results import cases
from steelyard.statistics.results.cost import cost, ratio
from steelyard.statistics.results.tolerance import results_at_point

# Independent accesses cannot be slower than dependent ones. One core has at most some 10 to 48 of them in
# flight (its line fill buffers, and the queue of the next cache). The margins allow for different pages.
SLOWER, FURTHEST = 0.85, 64
NEAR = 2.0  # greatest factor between the two working sets that are compared


def find(evaluation: Evaluation) -> list[Finding]:
    """Compares the time of an access at G, with one thread, with the latency of a dependent chain over the same memory."""
    worst = [r for r in results_at_point(evaluation, "G") if (cases.number(r, "threads") or 1) == 1]
    worst = cases.select(worst, memory_policy="local")
    chase = cases.find(evaluation.results, "memory.latency", "chase")
    chase = [r for r in chase if (cases.number(r, "threads") or 1) == 1]
    for page_size in ("default", "4k", "transparent", "huge"):
        corner = cases.select(worst, page_size=page_size)
        corner.sort(key=lambda r: cases.number(r, "accumulators") or 1)
        for result in corner[:1]:
            finding = _compare(evaluation, result, cases.select(chase, page_size=page_size))
            if finding:
                return [finding]
    return []


def _compare(evaluation: Evaluation, corner: Result, chase: list[Result]) -> Finding | None:
    size = 8 * (cases.number(corner, "elements") or 0)
    one = [r for r in chase if cases.number(r, "chains") == 1 and cases.number(r, "bytes")]
    if not one or size <= 0:
        return None
    nearest = min(one, key=lambda r: _find_ratio(r, size))
    overlap = ratio(nearest, corner) if _find_ratio(nearest, size) <= NEAR else None
    access, latency = cost(corner), cost(nearest)
    if overlap is None or access is None or latency is None:
        return None
    ladder = int(cases.number(nearest, "bytes") or 0)
    claim = (
        f"An access takes {quantity(access.seconds, 's')} at the worst corner of APEX-MAP (G) and "
        f"{quantity(latency.seconds, 's')} in a "
        f"dependent chain. On average, {overlap.value:.1f} accesses are in flight at once.{cases.caution(corner, nearest)}"
    )
    evidence = (
        f"G: {cases.describe(corner)}, {binary_size(int(size))} of memory.",
        f"Dependent chain: {cases.describe(nearest)}, {binary_size(ladder)} of memory.",
        f"The interval of the ratio is {overlap.low:.2f} to {overlap.high:.2f}.",
        *_describe_chains(chase, nearest, access.seconds),
    )
    consistent = SLOWER <= overlap.value <= FURTHEST
    doubt = cases.doubt(corner, nearest)
    if consistent and (reason := name_doubt(doubt)):
        again = measure_again(evaluation, doubt, corner.benchmark, nearest.benchmark)
        return undecided("latency_consistency", claim, evidence, reason, again, corner.benchmark)
    return Finding(
        "latency_consistency",
        "good" if consistent else "notice",
        claim if consistent else f"{claim} The two figures contradict each other.",
        evidence,
        "The addresses at G are known in advance, so the processor fetches several at once. The time of an access is "
        "the latency divided by this number."
        if consistent
        else "The two kernels ran under different conditions: other pages, another memory node, or a disturbance.",
        ""
        if consistent
        else advise(
            "Measure both kernels in one run, with pages of the same size: ",
            "run --only memory.apexmap --only memory.latency --set page_size=4k",
        ),
        "memory.apexmap",
        effect=None if consistent else max(1 / overlap.value, overlap.value / FURTHEST),
        reach="machine" if consistent else "figures",
    )


def _find_ratio(result: Result, size: float) -> float:
    own_size = cases.number(result, "bytes") or 1.0
    return max(own_size / size, size / own_size)


def _describe_chains(chase: list[Result], nearest: Result, seconds: float) -> list[str]:
    """Returns a sentence on the number of parallel chains whose access time is nearest to that of G."""
    size = cases.number(nearest, "bytes")
    nearby = [
        (abs(c.seconds / seconds - 1), int(n), c.seconds)
        for r in chase
        if cases.number(r, "bytes") == size and (n := cases.number(r, "chains")) and (c := cost(r))
    ]
    if len(nearby) < 2:
        return []
    _, chains, cost_ = min(nearby)
    return [f"The nearest time is {quantity(cost_, 's')} for an access, with {in_words('chains', chains)}."]
