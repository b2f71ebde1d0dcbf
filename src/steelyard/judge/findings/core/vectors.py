"""Rule: finds loops that the compiler does not vectorise well, by their speed relative to the scalar loop."""

from steelyard.judge.findings.remedies import advise
from steelyard.measure.benchmarks.core import groups
from steelyard.model import Evaluation, Finding, Remedy, Result
from steelyard.statistics.results import cases
from steelyard.statistics.results.cost import Ratio, ratio

BENCHMARK = "core.kernels"
# The elements are independent, so only the compiler can prevent vectors. Loops that move data through an index or with
# a stride gain little by nature.
FREE = tuple(k for k in groups.KERNELS if k not in ("strided_copy", "gather", "scatter", *groups.GROUPS["recurrences"]))
# Only arithmetic limits these loops, so the gain is the number of elements in a vector. Loads and stores reduce it.
PURE = ("horner5", "horner9", "horner17")
LITTLE = 1.5  # vectors of two doubles gain up to 2 even in a divider
HALF = 0.55  # share of the width: vectors of half the width of the processor gain at most a half
WORSE = 0.9  # the placement of code explains smaller losses
NAMED = 12
Gain = tuple[Result, Ratio]


def find(evaluation: Evaluation) -> list[Finding]:
    """Returns a finding for each toolchain, with vectors in the first-level cache."""
    pairs = [
        p
        for k in groups.KERNELS
        for p in cases.pair(cases.find(evaluation.results, BENCHMARK, k), "vectors", "no", "yes")
    ]
    near = _select_smallest([p for p in pairs if groups.has_usual_stride(p[1].kernel, p[1].parameters.get("stride"))])
    gains: dict[str, list[Gain]] = {}
    for scalar, vectors in near:
        if (gained := ratio(scalar, vectors)) is not None:
            gains.setdefault(str(vectors.parameters.get("toolchain", "")), []).append((vectors, gained))
    width = evaluation.run.machine.fma_width
    return [finding for name, members in gains.items() if (finding := _judge(name, members, width))]


def _select_smallest(pairs: list[tuple[Result, Result]]) -> list[tuple[Result, Result]]:
    """Returns the pair with the fewest elements of each kernel and toolchain: in the nearest cache, arithmetic dominates."""
    smallest: dict[tuple[str, str], tuple[Result, Result]] = {}
    for pair in sorted(pairs, key=lambda p: cases.number(p[1], "elements") or float("inf")):
        smallest.setdefault((pair[1].kernel, str(pair[1].parameters.get("toolchain"))), pair)
    return list(smallest.values())


def _judge(toolchain: str, gains: list[Gain], width: int | None) -> Finding | None:
    free = [g for g in gains if g[0].kernel in FREE]
    if not free or width == 1:
        return None
    none = [g for g in free if g[1].high < LITTLE]
    narrow = [g for g in free if width and g[0].kernel in PURE and g not in none and g[1].high < HALF * width]
    worse = [g for g in gains if g[1].high < WORSE and g not in none]
    lines = [f"{_describe_gain(g)} Vectors gain little or nothing." for g in none]
    lines += [f"{_describe_gain(g)} The vectors of the processor have {width} elements." for g in narrow]
    lines += [f"{_describe_gain(g)} The scalar loop is faster." for g in worse]
    caution = cases.caution(*(r for r, _ in none + narrow + worse))
    if not lines:
        least = min(free, key=lambda g: g[1].value)
        claim = (
            f"{toolchain} vectorises all {len(free)} loops without dependencies. The smallest gain is "
            f"{least[1].value:.2f} times ({least[0].kernel})."
        )
        evidence = tuple(map(_describe_gain, free[:NAMED]))
        cause = "The loops are faster than their scalar versions."
        return Finding("vectors", "good", claim, evidence, cause, "", BENCHMARK)
    parts = [
        f"{', '.join(r.kernel for r, _ in some)} {words}"
        for some, words in (
            (none, f"{_verb(none, 'gains', 'gain')} less than {LITTLE} times from vectors"),
            (narrow, f"{_verb(narrow, 'gains', 'gain')} at most about half of the gain that {width} elements allow"),
            (worse, f"{_verb(worse, 'is', 'are')} slower with vectors than without"),
        )
        if some
    ]
    return Finding(
        "vectors",
        "notice",
        f"{toolchain} does not use the vectors fully: {'; '.join(parts)}.{caution}",
        tuple(lines[:NAMED]),
        " ".join(_list_causes(none, narrow, worse)),
        _advise(none, narrow, worse),
        BENCHMARK,
        effect=_find_effect(narrow, worse, width),
        reach="program",
    )


def _find_effect(narrow: list[Gain], worse: list[Gain], width: int | None) -> float | None:
    """Returns the greatest gain from scalar loops that are faster, or from full width; None if neither is known."""
    gains = [1 / g.value for _, g in worse if g.value > 0]
    gains += [width / g.value for _, g in narrow if width and g.value > 0]
    return max(gains, default=None)


def _list_causes(none: list[Gain], narrow: list[Gain], worse: list[Gain]) -> list[str]:
    functions = [r.kernel for r, _ in none if r.kernel in ("sqrt", "exp")]
    causes = []
    if "sqrt" in functions:
        causes.append(
            "The C standard requires that a square root sets errno for a negative number. Vector instructions cannot do this."
        )
    if "exp" in functions:
        causes.append("Compilers use vector versions of exp only if the user allows less exact results.")
    if any(r.kernel not in functions for r, _ in none):
        causes.append(
            "The compiler does not use vectors in the other loops, or its vector code costs as much as it saves."
        )
    if narrow:
        causes.append(
            "The compiler prefers narrower vectors for this processor, because wide vectors lowered the clock of older ones."
        )
    if worse:
        causes.append(
            "Vector instructions that access scattered elements (gather, scatter) take at least as long as single accesses."
        )
    return causes


def _advise(none: list[Gain], narrow: list[Gain], worse: list[Gain]) -> str | Remedy:
    remedies = []
    if any(r.kernel == "sqrt" for r, _ in none):
        remedies.append("If no code reads errno, compile with -fno-math-errno.")
    if any(r.kernel == "exp" for r, _ in none):
        remedies.append("Use a library of vector functions (libmvec with -ffast-math, SVML, SLEEF).")
    if any(r.kernel not in ("sqrt", "exp") for r, _ in none):
        remedies.append(
            "Tell the compiler that vectors do not overlap (__restrict, #pragma omp simd), and optimise with -O3."
        )
    scalar = "Keep such loops scalar: #pragma GCC novector (GCC 14), #pragma clang loop vectorize(disable)."
    if not narrow:
        return " ".join([*remedies, *([scalar] if worse else [])])
    wide = "gcc -O3 -march=native -mprefer-vector-width=512"
    return advise(
        " ".join([*remedies, "Try the full width: "]),
        f"run --only {BENCHMARK} --toolchain gcc --toolchain '{wide}'",
        then=f". {scalar}" if worse else ".",
    )


def _verb(gains: list[Gain], one: str, several: str) -> str:
    return one if len(gains) == 1 else several


def _describe_gain(gain: Gain) -> str:
    result, r = gain
    elements = cases.number(result, "elements")
    length = f" ({elements:g} elements)" if elements else ""
    return f"{result.kernel}{length}: {r.value:.2f} times as fast as scalar, {r.low:.2f} to {r.high:.2f}.{cases.caution(result)}"
