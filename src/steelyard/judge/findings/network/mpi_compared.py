"""Rule: compares two MPIs on the same machine, with small and with large messages."""

from statistics import geometric_mean

from steelyard.judge.findings.every._alternatives import Pair, compare_values, list_value_pairs
from steelyard.judge.findings.open_questions import UNCERTAIN, measure_again, undecided
from steelyard.model import Evaluation, Finding, Result
from steelyard.model.units import binary_size, percent
from steelyard.statistics.results import cases, messages

SMALLEST = 0.05  # two launches of one MPI differ by some percent, since the placement of ranks and buffers differs
SMALL = 8 << 10  # bytes: most MPIs send up to this size at once (eager), and the latency dominates
NAMED = 12  # lines of evidence


def find(evaluation: Evaluation) -> list[Finding]:
    """Returns one finding for each pair of MPIs; results with more ranks than processors are left out."""
    timed = [r for r in evaluation.results if "mpi" in r.parameters and messages.launch_seconds(r)]
    usable = [r for r in timed if r.verdict.level != "INVALID" and not messages.oversubscribed(r)]
    return [
        _make_finding(evaluation, a, b, pairs)
        for a, b in list_value_pairs(usable, "mpi")
        if (pairs := compare_values(usable, "mpi", a, b, SMALLEST, messages.seconds))
    ]


def _make_finding(evaluation: Evaluation, a: str, b: str, pairs: list[Pair]) -> Finding:
    calls = [p.comparison.call for p in pairs]
    slower, faster = calls.count("SLOWER"), calls.count("FASTER")
    different = slower + faster > 0
    claim = (
        f"{b} is faster than {a} in {faster} of {len(calls)} cases and slower in {slower}. In the other cases, no difference "
        f"above {percent(SMALLEST)} is certain.{_describe_means(pairs)}"
        if different
        else f"No difference above {percent(SMALLEST)} between {b} and {a} is certain in any of {len(calls)} cases."
    )
    groups: dict[tuple[str, ...], list[Pair]] = {}
    for pair in pairs:
        name = (pair.first.benchmark, pair.first.kernel, _range(pair.first), messages.transport(pair.first))
        groups.setdefault(name, []).append(pair)
    furthest = sorted(groups.items(), key=lambda item: -max(p.factor for p in item[1]))[:NAMED]
    lines = tuple(_describe_benchmark(name, members, a, b) for name, members in furthest)
    if not different and 2 * calls.count("UNCLEAR") > len(calls):
        level = cases.doubt(*(result for pair in pairs for result in pair[:2]))
        again = measure_again(evaluation, level, *dict.fromkeys(pair.first.benchmark for pair in pairs))
        return undecided(
            "mpi_compared", f"Steelyard cannot decide whether {a} or {b} is faster.", lines, UNCERTAIN, again
        )
    return Finding(
        "mpi_compared",
        "notice" if different else "good",
        claim,
        lines,
        "MPIs differ in how they use shared memory, in the size at which the protocol changes, and in their "
        "collective algorithms."
        if different
        else "Both MPIs copy data in the same way and use the same network.",
        "Use the MPI that is faster for the operations of your program, and name the MPI with every figure."
        if different
        else "",
        effect=geometric_mean(p.factor for p in pairs) if different else None,
        reach="program",
    )


def _range(result: Result) -> str:
    if messages.SIZE not in result.parameters:
        return ""
    return "small" if messages.size(result) <= SMALL else "large"


def _describe_means(pairs: list[Pair]) -> str:
    """Returns a sentence on small and large messages over the default transport, with a space before it."""
    words_of = {"small": f"for messages up to {binary_size(SMALL)}", "large": "for larger messages"}
    sums = []
    for size, words in words_of.items():
        ratios = [
            p.comparison.ratio for p in pairs if _range(p.first) == size and messages.transport(p.first) == "default"
        ]
        if ratios:
            sums.append(f"{geometric_mean(ratios):.2f} times as long {words}")
    return f" It takes {' and '.join(sums)} (geometric means)." if sums else ""


def _describe_benchmark(name: tuple[str, ...], pairs: list[Pair], a: str, b: str) -> str:
    ratios, calls = [p.comparison.ratio for p in pairs], [p.comparison.call for p in pairs]
    sizes = [messages.size(p.first) for p in pairs]
    of_sizes = f", {messages.sizes(min(sizes), max(sizes))}" if name[2] else ""
    transport = f" {messages.SAID.get(name[3], name[3])}" if name[3] != "default" else ""
    text = f"{name[0]} {name[1]}{of_sizes}{transport}: {b} takes {geometric_mean(ratios):.2f} times as long as {a}"
    most = max(pairs, key=lambda p: p.factor)
    if len(ratios) > 1:
        counted = f"{calls.count('FASTER')} faster, {calls.count('SLOWER')} slower"
        text += f" ({len(ratios)} cases; {counted}; largest difference {most.comparison.ratio:.2f}{_describe_case(most.first)})"
    return f"{text}.{cases.caution(*most[:2])}"


def _describe_case(result: Result) -> str:
    size = f" at {binary_size(messages.size(result))}" if messages.SIZE in result.parameters else ""
    return f"{size}, {messages.describe_ranks(result, but=('mpi', 'transport'))}"
