"""Rule: checks whether the core clock drops while wide vectors are computed (frequency licence)."""

from statistics import median
from typing import NamedTuple

from steelyard.judge.findings.open_questions import UNCERTAIN, measure_again, name_doubt, undecided
from steelyard.measure.benchmarks.core.peak import WIDTHS, clock_under_load
from steelyard.model import Evaluation, Finding, Result
from steelyard.model.units import quantity
from steelyard.model.words import in_words
from steelyard.statistics.results import cases
from steelyard.statistics.results.result import rests_on

BENCHMARK = "core.peak"
DROP = 0.03  # relative difference: a reading is wrong by up to 0.5 %, and clocks vary by 1 or 2 %


class Clocks(NamedTuple):
    """The clocks (Hz) for one number of threads: with scalars, with the widest vectors, and with each width."""

    threads: int
    scalar: list[float]
    wide: list[float]
    by_width: dict[str, list[float]]

    @property
    def drop(self) -> float:
        return 1 - median(self.wide) / median(self.scalar)

    @property
    def apart(self) -> bool:
        """Returns whether the two do not overlap, without the outer quarter of each."""
        low, high = sorted(self.scalar), sorted(self.wide)
        return low[len(low) // 4] > high[-1 - len(high) // 4]


def find(evaluation: Evaluation) -> list[Finding]:
    """Compares fused multiply-adds on scalars with those on the widest vectors, with the same threads."""
    fused = cases.select(cases.find(evaluation.results, BENCHMARK, "peak"), operation="fma")
    threads = sorted({int(n) for r in fused if (n := cases.number(r, "threads"))})
    by_threads = [clocks for n in threads if (clocks := _collect_clocks(n, cases.select(fused, threads=n))) is not None]
    if not by_threads:
        return []
    evidence = tuple(_describe_clocks(c) for c in by_threads)
    worst = max(by_threads, key=lambda c: c.drop)
    widest = _bits(list(worst.by_width)[-1])
    caution = cases.caution(*fused)
    if worst.drop <= DROP:
        claim = (
            f"Wide vectors do not reduce the clock: it is {quantity(median(worst.wide), 'Hz')} with {widest}.{caution}"
        )
        return [
            Finding(
                "vector_clock",
                "good",
                claim,
                evidence,
                "The processor keeps its clock for every vector width.",
                "",
                BENCHMARK,
            )
        ]
    ends = f"{quantity(median(worst.wide), 'Hz')} with {widest}, {quantity(median(worst.scalar), 'Hz')} with scalars"
    where = in_words("threads", worst.threads)
    if not worst.apart:
        question = "Steelyard cannot decide whether wide vectors reduce the clock. "
        question += f"The median is {ends} ({where}), but the readings overlap."
        level = cases.doubt(*fused)
        again = measure_again(evaluation, level, BENCHMARK)
        return [undecided("vector_clock", question, evidence, name_doubt(level) or UNCERTAIN, again, BENCHMARK)]
    claim = f"Wide vectors reduce the clock by {quantity(worst.drop, '%', 2)}: {ends} ({where}).{caution}"
    cause = (
        "Wide multiplications need much power, so the processor lowers its clock. Other code on the same core then also runs at "
        "the lower clock."
    )
    remedy = (
        "If a program uses wide vectors only in few places, compare it with a build for narrower "
        f"vectors.{_describe_gain(fused, worst)}"
    )
    effect = 1 / (1 - worst.drop)
    return [
        Finding("vector_clock", "notice", claim, evidence, cause, remedy, BENCHMARK, effect=effect, reach="program")
    ]


def _collect_clocks(threads: int, results: list[Result]) -> Clocks | None:
    """Returns None without scalars, or without any vectors."""
    by_width: dict[str, list[float]] = {}
    for width in WIDTHS:
        records = (r for result in results if _name_width(result) == width for r in rests_on(result))
        if readings := [hertz for r in records if (hertz := clock_under_load(r))]:
            by_width[width] = readings
    names = list(by_width)
    return (
        Clocks(threads, by_width[names[0]], by_width[names[-1]], by_width)
        if names[1:] and names[0] == "scalar"
        else None
    )


def _name_width(result: Result) -> str:
    return str(result.parameters.get("vector_width"))


def _bits(width: str) -> str:
    return {"scalar": "scalars", "widest": "the widest vectors"}.get(width, f"vectors of {width} bits")


def _describe_clocks(clocks: Clocks) -> str:
    parts = (f"{quantity(median(readings), 'Hz')} with {_bits(width)}" for width, readings in clocks.by_width.items())
    return f"{in_words('threads', clocks.threads).capitalize()}: {', '.join(parts)}."


def _describe_gain(results: list[Result], clocks: Clocks) -> str:
    """Returns a sentence on the gain of the widest vectors in double precision; '' if it was not measured."""
    matching = cases.select(results, threads=clocks.threads, precision="double")
    speeds = {_name_width(r): r.metrics["flops"].value for r in matching if "flops" in r.metrics}
    widths = [width for width in WIDTHS if speeds.get(width, 0.0) > 0]
    if len(widths) < 3 or widths[-1] != list(clocks.by_width)[-1]:
        return ""
    gain = speeds[widths[-1]] / speeds[widths[-2]]
    return f" For pure arithmetic, {_bits(widths[-1])} are {gain:.2g} times as fast as {_bits(widths[-2])}."
