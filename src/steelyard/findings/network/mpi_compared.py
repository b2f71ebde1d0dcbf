"""Rule: two MPIs on the same machine, compared: which is faster with small messages, and which with large ones."""

from itertools import combinations
from statistics import geometric_mean
from typing import NamedTuple

from steelyard.model import Evaluation, Finding, Result
from steelyard.statistics.difference.compare import Comparison, compare_all
from steelyard.statistics.results import cases, messages
from steelyard.units import binary_size, percent

SMALLEST = 0.05  # two starts of one MPI differ by some percent, since ranks and buffers lie elsewhere
SMALL = 8 << 10  # bytes: up to here most MPIs send at once (eager), and the time is that of a message, not of its bytes
NAMED = 12  # lines


class Pair(NamedTuple):
    """The same case with two MPIs: the time of the second over that of the first."""

    first: Result
    second: Result
    seen: Comparison


def find(evaluation: Evaluation) -> list[Finding]:
    """For each two MPIs, benchmark by benchmark; results of more ranks than processors are left out."""
    known = [r for r in evaluation.results if "mpi" in r.parameters and messages.seconds(r)]
    usable = [r for r in known if r.verdict.level != "INVALID" and not messages.oversubscribed(r)]
    mpis = list(dict.fromkeys(str(r.parameters["mpi"]) for r in usable))
    found: list[Finding] = []
    for a, b in combinations(mpis, 2):
        pairs = cases.pairs(usable, "mpi", a, b)
        if pairs:
            compared = compare_all([(messages.seconds(x), messages.seconds(y)) for x, y in pairs], SMALLEST)
            found.append(
                _finding(a, b, [Pair(*pair, observed) for pair, observed in zip(pairs, compared, strict=True)])
            )
    return found


def _finding(a: str, b: str, pairs: list[Pair]) -> Finding:
    calls = [p.seen.call for p in pairs]
    slower, faster = calls.count("SLOWER"), calls.count("FASTER")
    different = slower + faster > 0
    reported = (
        f"{b} is faster than {a} in {faster} of {len(calls)} cases, slower in {slower}; the others do not differ for sure by "
        f"more than {percent(SMALLEST)}.{_sums(pairs)}"
        if different
        else f"{b} and {a} do not differ for sure by more than {percent(SMALLEST)} in any of {len(calls)} cases."
    )
    groups: dict[tuple[str, ...], list[Pair]] = {}
    for pair in pairs:
        name = (pair.first.benchmark, pair.first.kernel, _range(pair.first), messages.transport(pair.first))
        groups.setdefault(name, []).append(pair)
    furthest = sorted(groups.items(), key=lambda item: -max(_apart(p) for p in item[1]))[:NAMED]
    return Finding(
        "mpi_compared",
        "notice" if different else "good",
        reported,
        tuple(_line(name, members, a, b) for name, members in furthest),
        "MPIs differ in how they cross shared memory, in where the protocol changes, and in the algorithms of collectives."
        if different
        else "Both come down to the same copies and the same network.",
        "Use the MPI that is faster where the program spends its time, and name the MPI with every figure."
        if different
        else "",
        effect=geometric_mean(map(_apart, pairs)) if different else None,
        reach="program",
    )


def _range(result: Result) -> str:
    if messages.SIZE not in result.parameters:
        return ""
    return "small" if messages.size(result) <= SMALL else "large"


def _sums(pairs: list[Pair]) -> str:
    """A sentence, with a space before it, on small and large messages, as the MPI sends them by default."""
    said = {"small": f"with messages up to {binary_size(SMALL)}", "large": "with larger ones"}
    sums = []
    for size, words in said.items():
        ratios = [p.seen.ratio for p in pairs if _range(p.first) == size and messages.transport(p.first) == "default"]
        if ratios:
            sums.append(f"{words} {geometric_mean(ratios):.2f} times")
    return f" It takes {', '.join(sums)} as long (geometric means)." if sums else ""


def _apart(pair: Pair) -> float:
    return max(pair.seen.ratio, 1 / pair.seen.ratio)


def _line(name: tuple[str, ...], pairs: list[Pair], a: str, b: str) -> str:
    ratios, calls = [p.seen.ratio for p in pairs], [p.seen.call for p in pairs]
    sizes = [messages.size(p.first) for p in pairs]
    of_sizes = f", {messages.sizes(min(sizes), max(sizes))}" if name[2] else ""
    transport = f" {messages.SAID.get(name[3], name[3])}" if name[3] != "default" else ""
    text = f"{name[0]} {name[1]}{of_sizes}{transport}: {b} takes {geometric_mean(ratios):.2f} times as long as {a}"
    most = max(pairs, key=_apart)
    if len(ratios) > 1:
        counted = f"{calls.count('FASTER')} faster, {calls.count('SLOWER')} slower"
        text += f" ({len(ratios)} cases; {counted}; furthest apart {most.seen.ratio:.2f}{_at(most.first)})"
    return f"{text}.{cases.caution(*most[:2])}"


def _at(result: Result) -> str:
    size = f" at {binary_size(messages.size(result))}" if messages.SIZE in result.parameters else ""
    return f"{size}, {messages.called(result, but=('mpi', 'transport'))}"
