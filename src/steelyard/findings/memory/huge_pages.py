"""Rule: what small pages cost, at the worst corner of APEX-MAP, in the latency of memory, and in Triad."""

from collections.abc import Sequence
from statistics import fmean

from steelyard.machine.caches import cache_levels
from steelyard.machine.settings import setting
from steelyard.model import Evaluation, Finding, Result
from steelyard.statistics.results import cases
from steelyard.statistics.results.cost import Ratio, cost, ratio
from steelyard.statistics.results.tolerance import points
from steelyard.units import binary_size, percent, quantity

WHAT = {"G": "an access at the worst corner (G)", "latency": "a dependent access", "Triad": "a byte of Triad"}
COSTS = 1.08  # from here it is worth the trouble of a setting
LADDER = 1.15  # the latency rising so far beyond the caches: page tables that fall out of them, too
BEYOND = 4  # times the last-level cache: there hardly an access hits it any more


def find(evaluation: Evaluation) -> list[Finding]:
    """Small against huge pages where both were measured; else whether the ladder shows the TLB."""
    found = [_compared(evaluation, point.role.point, point.results) for point in points(evaluation)]
    reported = [finding for finding in found if finding]
    return reported or _ladder(evaluation)


def _compared(evaluation: Evaluation, point: str, results: Sequence[Result]) -> Finding | None:
    if point not in WHAT:
        return None
    compared: list[tuple[Result, Result, Ratio]] = []
    for small in ("4k", "default"):
        for huge in ("huge", "transparent"):
            pairs = cases.pairs(results, "page_size", small, huge)
            compared += [(a, b, r) for a, b in pairs if (r := ratio(a, b)) is not None and _differ(a, b)]
        if compared:
            break
    if not compared:
        return None
    # Of the fewest threads and accumulators: there the translation is not hidden behind other accesses.
    few = min(
        compared,
        key=lambda c: (cases.number(c[0], "threads") or 1, cases.number(c[0], "accumulators") or 1),
    )
    return _finding(evaluation, point, few, [_line(*c) for c in compared])


def _differ(small: Result, huge: Result) -> bool:
    """Whether the pages were really different, as far as the system told."""
    a, b = _huge_share(small), _huge_share(huge)
    return a is None or b is None or b - a > 0.5


def _huge_share(result: Result) -> float | None:
    pages = (r.surroundings.pages for r in result.records)
    shares = [float(each.huge) for each in pages if each and each.huge is not None]
    return fmean(shares) if shares else None


def _finding(evaluation: Evaluation, point: str, few: tuple[Result, Result, Ratio], lines: list[str]) -> Finding | None:
    small, huge, factor = few
    words = {"huge": "explicit huge pages", "transparent": "transparent huge pages"}[
        str(cases.value(huge, "page_size"))
    ]
    caution = cases.caution(small, huge)
    known = setting(evaluation.run.machine, "transparent_huge_pages")
    policy = f"Transparent huge pages are set to '{known.value}' here." if known.value else ""
    if factor.value > COSTS and factor.low > 1:
        return Finding(
            "huge_pages",
            "notice",
            f"With small pages {WHAT[point]} costs {factor.value:.2f} times as much as with {words}.{caution}",
            tuple(filter(None, (*lines, policy))),
            "The processor keeps few translations of addresses (TLB); accesses far apart wait for the page "
            "tables, too.",
            _remedy(known.value, known.source),
            small.benchmark,
            effect=factor.value,
        )
    if factor.high < COSTS and factor.low > 1 / COSTS and not caution:
        return Finding(
            "huge_pages",
            "good",
            f"The size of the pages hardly matters: {WHAT[point]} costs {factor.value:.2f} times as much "
            f"with small pages as with {words}.",
            tuple(lines),
            "The translations fit the TLB, or the page tables fit the caches.",
            "",
            small.benchmark,
        )
    return None


def _line(small: Result, huge: Result, factor: Ratio) -> str:
    a, b = cost(small), cost(huge)
    reported = f": {quantity(a.seconds, 's')} and {quantity(b.seconds, 's')}" if a and b else ""
    share = _huge_share(huge)
    part = "" if share is None else f"; {percent(share)} of the memory had huge pages"
    name = cases.describe(small, but=("elements", "page_size"))
    pages = f"{cases.value(small, 'page_size')} against {cases.value(huge, 'page_size')}"
    return f"{name}, {pages}{reported}, {factor.low:.2f} to {factor.high:.2f} times{part}."


def _remedy(value: str | None, source: str) -> str:
    if value == "never" and source:
        return f"Let programs that ask have them: echo madvise | sudo tee {source}; then run again."
    return (
        "Ask for huge pages in programs with large arrays: GLIBC_TUNABLES=glibc.malloc.hugetlb=1 PROGRAM "
        "(glibc 2.35 or newer), or madvise(…, MADV_HUGEPAGE) on their memory."
    )


def _ladder(evaluation: Evaluation) -> list[Finding]:
    """Huge pages off, and the latency still rising where no cache can be left: the page tables show."""
    machine = evaluation.run.machine
    known = setting(machine, "transparent_huge_pages")
    caches = [c for cpu in machine.cpus[:1] for c in cache_levels(machine, cpu)]
    chase = cases.of(evaluation.results, "memory.latency", "chase")
    chase = [r for r in cases.where(chase, chains=1, page_size="default") if (cases.number(r, "threads") or 1) == 1]
    if known.value != "never" or not caches:
        return []
    beyond = [r for r in chase if (cases.number(r, "bytes") or 0) >= BEYOND * caches[-1].size]
    for group in cases.groups(beyond, "bytes"):
        first, last = group[0], group[-1]
        rise = ratio(last, first) if last is not first else None
        if rise is None or rise.value < LADDER or rise.low <= 1:
            continue
        sizes = [binary_size(int(cases.number(r, "bytes") or 0)) for r in (first, last)]
        return [
            Finding(
                "huge_pages",
                "notice",
                f"Huge pages are off, and from {sizes[0]} to {sizes[1]} the latency still rises by "
                f"{quantity(rise.value - 1, '%', 2)}, where no cache is left.{cases.caution(first, last)}",
                (
                    f"The last-level cache holds {binary_size(caches[-1].size)}.",
                    f"{known.source} says '{known.value}'.",
                ),
                "With pages of 4 KiB the page tables of so much memory do not fit the TLB, nor then the caches.",
                _remedy(known.value, known.source),
                "memory.latency",
                effect=rise.value,
            )
        ]
    return []
