"""Rule: compares the same kernels built by different compilers."""

from itertools import combinations
from statistics import geometric_mean

from steelyard.findings.open_questions import UNCERTAIN, measure_again, undecided
from steelyard.model import Evaluation, Finding, Result
from steelyard.statistics.difference.compare import Comparison, compare_all
from steelyard.statistics.results import cases
from steelyard.statistics.results.cost import cost, launches
from steelyard.units import percent

SMALLEST = 0.03  # the placement of code and data explains smaller differences
NAMED = 12  # kernels that are listed


def find(evaluation: Evaluation) -> list[Finding]:
    """Returns one finding for each pair of toolchains, with the time of the second over that of the first by kernel."""
    usable = [r for r in evaluation.results if r.verdict.level != "INVALID" and cost(r) is not None]
    toolchains = list(dict.fromkeys(str(r.parameters["toolchain"]) for r in usable if "toolchain" in r.parameters))
    findings: list[Finding] = []
    for a, b in combinations(toolchains, 2):
        pairs = cases.pairs(usable, "toolchain", a, b)
        if pairs:
            compared = compare_all([(launches(x), launches(y)) for x, y in pairs], SMALLEST)
            findings.append(_finding(evaluation, a, b, list(zip(pairs, compared, strict=True))))
    return findings


def _finding(
    evaluation: Evaluation, a: str, b: str, compared: list[tuple[tuple[Result, Result], Comparison]]
) -> Finding:
    kernels: dict[tuple[str, str], list[tuple[tuple[Result, Result], Comparison]]] = {}
    for pair, comparison in compared:
        kernels.setdefault((pair[0].benchmark, pair[0].kernel), []).append((pair, comparison))
    calls = [c.call for _, c in compared]
    slower, faster = calls.count("SLOWER"), calls.count("FASTER")
    different = slower + faster
    claim = (
        f"{b} is faster than {a} in {faster} of {len(calls)} cases and slower in {slower}. "
        f"In the other {len(calls) - different}, no difference above {percent(SMALLEST)} is certain."
    )
    ordered = sorted(kernels.items(), key=lambda item: -_furthest(item[1]))[:NAMED]
    lines = tuple(_line(name, members, b, a) for name, members in ordered)
    if not different and 2 * calls.count("UNCLEAR") > len(calls):
        level = cases.doubt(*(result for pair, _ in compared for result in pair))
        again = measure_again(evaluation, level, *dict.fromkeys(name for name, _ in kernels))
        question = f"Steelyard cannot decide whether {a} and {b} generate equally fast code."
        return undecided("compilers", question, lines, UNCERTAIN, again)
    return Finding(
        "compilers",
        "notice" if different else "good",
        claim,
        lines,
        "The compilers choose different vector widths, unroll loops differently, or use other store instructions."
        if different
        else "The memory limits these kernels, or both compilers generate equally fast code.",
        "Use the faster compiler for such loops, and name the compiler with every figure. To compare other "
        "flags: steelyard run --toolchain gcc --toolchain 'gcc -O2 -march=native'"
        if different
        else "",
        effect=max(_furthest([c]) for c in compared) if different else None,
        reach="program",
    )


def _furthest(members: list[tuple[tuple[Result, Result], Comparison]]) -> float:
    return max(max(c.ratio, 1 / c.ratio) for _, c in members)


def _line(name: tuple[str, str], members: list[tuple[tuple[Result, Result], Comparison]], b: str, a: str) -> str:
    ratios = [c.ratio for _, c in members]
    (first, second), most = max(members, key=lambda m: max(m[1].ratio, 1 / m[1].ratio))
    text = f"{name[0]} {name[1]}: {b} takes {geometric_mean(ratios):.3f} times the time of {a}"
    if len(ratios) > 1:
        text += f" (geometric mean of {len(ratios)} cases, {min(ratios):.3f} to {max(ratios):.3f})"
    furthest = (
        f"; largest difference: {cases.describe(first, but=('elements',))}, {most.call}" if most.call != "SAME" else ""
    )
    return f"{text}{furthest}.{cases.caution(first, second)}"
