"""Rule: loops whose vectors the compiler leaves on the table, told by their speed beside the scalar loop."""

from itertools import combinations

from steelyard.benchmarks.core import groups
from steelyard.model import Evaluation, Finding, Result
from steelyard.statistics.results import cases
from steelyard.statistics.results.cost import Ratio, ratio
from steelyard.units import percent

BENCHMARK = "core.kernels"
# No element waits for another, and nothing but the compiler stands against vectors. Moving data through an index or with
# a stride gains little by nature.
FREE = tuple(k for k in groups.KERNELS if k not in ("strided_copy", "gather", "scatter", *groups.GROUPS["recurrences"]))
# Bound by arithmetic alone, so that they gain as many times as a vector has places; what also loads and stores gains less.
PURE = ("horner5", "horner9", "horner17")
LITTLE = 1.5  # vectors of two doubles gain up to 2 even in a divider
HALF = 0.55  # of the width: with vectors half as wide as the processor's the gain is a half at most
WORSE = 0.9  # beyond what the placement of code does
SMALLEST = 0.03  # of a difference between compilers: less is rather the placement of code and data
NAMED = 12
Gain = tuple[Result, Ratio]


def find(evaluation: Evaluation) -> list[Finding]:
    """What each toolchain leaves on the table, and each pair of toolchains compared, with vectors in the first cache."""
    pairs = [
        p
        for k in groups.KERNELS
        for p in cases.pairs(cases.of(evaluation.results, BENCHMARK, k), "vectors", "no", "yes")
    ]
    near = _smallest([p for p in pairs if groups.usual(p[1].kernel, p[1].parameters.get("stride"))])
    gains: dict[str, list[Gain]] = {}
    for scalar, vectors in near:
        if (gained := ratio(scalar, vectors)) is not None:
            gains.setdefault(str(vectors.parameters.get("toolchain", "")), []).append((vectors, gained))
    width = evaluation.run.machine.fma_width
    found = [finding for name, members in gains.items() if (finding := _judge(name, members, width))]
    compiled = {name: {r.kernel: r for r, _ in members} for name, members in gains.items()}
    return found + [
        _compared(a, b, compiled) for a, b in combinations(compiled, 2) if set(compiled[a]) & set(compiled[b])
    ]


def _smallest(pairs: list[tuple[Result, Result]]) -> list[tuple[Result, Result]]:
    """Of each kernel and toolchain those with the fewest elements: the nearest cache, where arithmetic shows."""
    found: dict[tuple[str, str], tuple[Result, Result]] = {}
    for pair in sorted(pairs, key=lambda p: cases.number(p[1], "elements") or float("inf")):
        found.setdefault((pair[1].kernel, str(pair[1].parameters.get("toolchain"))), pair)
    return list(found.values())


def _judge(toolchain: str, gains: list[Gain], width: int | None) -> Finding | None:
    free = [g for g in gains if g[0].kernel in FREE]
    if not free or width == 1:
        return None
    none = [g for g in free if g[1].high < LITTLE]
    narrow = [g for g in free if width and g[0].kernel in PURE and g not in none and g[1].high < HALF * width]
    worse = [g for g in gains if g[1].high < WORSE and g not in none]
    lines = [f"{_line(g)} The loop gains nothing or little." for g in none]
    lines += [f"{_line(g)} The processor's vectors have {width} places." for g in narrow]
    lines += [f"{_line(g)} The scalar loop is faster." for g in worse]
    caution = cases.caution(*(r for r, _ in none + narrow + worse))
    if not lines:
        least = min(free, key=lambda g: g[1].value)
        observed = (
            f"{toolchain} vectorises all {len(free)} loops that have no dependency; {least[0].kernel} gains least, "
            f"{least[1].value:.2f} times."
        )
        return Finding(
            "vectors",
            "good",
            observed,
            tuple(map(_line, free[:NAMED])),
            "Proved by their speed beside the scalar loops.",
            "",
            BENCHMARK,
        )
    reported = [
        f"{', '.join(r.kernel for r, _ in some)} {words}"
        for some, words in (
            (none, f"{_verb(none, 'gains', 'gain')} less than {LITTLE} times from vectors"),
            (narrow, f"{_verb(narrow, 'gains', 'gain')} about half of what {width} places would give, or less"),
            (worse, f"{_verb(worse, 'is', 'are')} slower with vectors than without"),
        )
        if some
    ]
    return Finding(
        "vectors",
        "notice",
        f"{toolchain} leaves vectors on the table: {'; '.join(reported)}.{caution}",
        tuple(lines[:NAMED]),
        " ".join(_causes(none, narrow, worse)),
        " ".join(_remedies(none, narrow, worse)),
        BENCHMARK,
        effect=_effect(narrow, worse, width),
        reach="program",
    )


def _effect(narrow: list[Gain], worse: list[Gain], width: int | None) -> float | None:
    """What scalar loops would gain where they are faster, and full width where half was taken; None where neither is known."""
    found = [1 / g.value for _, g in worse if g.value > 0]
    found += [width / g.value for _, g in narrow if width and g.value > 0]
    return max(found, default=None)


def _causes(none: list[Gain], narrow: list[Gain], worse: list[Gain]) -> list[str]:
    functions = [r.kernel for r, _ in none if r.kernel in ("sqrt", "exp")]
    reported = []
    if "sqrt" in functions:
        reported.append("A square root must be able to set errno, as the C standard has it, which a vector cannot.")
    if "exp" in functions:
        reported.append("A compiler puts vector versions of exp only where it may reckon less exactly.")
    if any(r.kernel not in functions for r, _ in none):
        reported.append(
            "Others are not vectorised, or their vectors cost what they gain (neighbours that lie across two vectors)."
        )
    if narrow:
        reported.append(
            "The compiler prefers narrower vectors for this processor, since wide ones lowered the clock of older ones."
        )
    if worse:
        reported.append("Instructions that gather or scatter take as long as the single accesses, or longer.")
    return reported


def _remedies(none: list[Gain], narrow: list[Gain], worse: list[Gain]) -> list[str]:
    run = f"steelyard run --only {BENCHMARK} --toolchain gcc --toolchain"
    reported = []
    if any(r.kernel == "sqrt" for r, _ in none):
        reported.append("Where nobody reads errno: -fno-math-errno.")
    if any(r.kernel == "exp" for r, _ in none):
        reported.append("Use a library of vector functions (libmvec with -ffast-math, SVML, SLEEF).")
    if any(r.kernel not in ("sqrt", "exp") for r, _ in none):
        reported.append(
            "Tell the compiler that vectors do not overlap (__restrict, #pragma omp simd), and optimise with -O3."
        )
    if narrow:
        reported.append(f"Try the full width: {run} 'gcc -O3 -march=native -mprefer-vector-width=512'")
    if worse:
        reported.append("Keep such loops scalar: #pragma GCC novector (GCC 14), #pragma clang loop vectorize(disable).")
    return reported


def _compared(a: str, b: str, compiled: dict[str, dict[str, Result]]) -> Finding:
    """The kernels of two toolchains, those furthest apart first."""
    both = [(x, compiled[b][k]) for k, x in compiled[a].items() if k in compiled[b]]
    ratios = sorted(
        ((x, y, r) for x, y in both if (r := ratio(y, x)) is not None), key=lambda m: -max(m[2].value, 1 / m[2].value)
    )
    slower = [m for m in ratios if m[2].low > 1 and m[2].value > 1 + SMALLEST]
    faster = [m for m in ratios if m[2].high < 1 and m[2].value < 1 / (1 + SMALLEST)]
    different = slower + faster
    lines = tuple(
        f"{x.kernel}: {b} takes {r.value:.2f} times the time of {a} ({r.low:.2f} to {r.high:.2f}).{cases.caution(x, y)}"
        for x, y, r in (ratios if not different else sorted(different, key=lambda m: -max(m[2].value, 1 / m[2].value)))[
            :NAMED
        ]
    )
    reported = [
        f"in {len(m)} of {len(ratios)} {b} is {word}" for m, word in ((slower, "slower"), (faster, "faster")) if m
    ]
    observed = f"The same loops by two compilers: {' and '.join(reported) or f'{a} and {b} do not differ for sure'}" + (
        f" than {a}." if reported else f" by more than {percent(SMALLEST)}."
    )
    if not different:
        return Finding("vectors", "good", observed, lines, "Both make the same of these loops.", "", BENCHMARK)
    cause = "They vectorise differently: in other widths, with other unrolling, or not at all."
    remedy = (
        "Compile such loops with the compiler that is faster in them, and name compiler and flags with every figure."
    )
    effect = max(max(r.value, 1 / r.value) for _, _, r in different)
    return Finding("vectors", "notice", observed, lines, cause, remedy, BENCHMARK, effect=effect, reach="program")


def _verb(gains: list[Gain], one: str, several: str) -> str:
    return one if len(gains) == 1 else several


def _line(gain: Gain) -> str:
    result, r = gain
    elements = cases.number(result, "elements")
    length = f" ({elements:g} elements)" if elements else ""
    return f"{result.kernel}{length}: {r.value:.2f} times as fast as scalar, {r.low:.2f} to {r.high:.2f}.{cases.caution(result)}"
