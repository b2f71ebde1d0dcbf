"""Rule: measures the cost of small pages at the worst corner of APEX-MAP, in the memory latency, and in Triad."""

from collections.abc import Sequence
from statistics import fmean

from steelyard.model import Evaluation, Finding, Result
from steelyard.model.caches import cache_levels
from steelyard.model.units import binary_size, percent, quantity
from steelyard.statistics.results import cases
from steelyard.statistics.results.cost import Ratio, cost, ratio
from steelyard.statistics.results.tolerance import list_points

WHAT = {
    "G": "an access at the worst corner of APEX-MAP (G)",
    "latency": "a dependent access",
    "Triad": "a byte of Triad",
}
COSTS = 1.08  # a smaller factor does not justify a setting
LADDER = 1.15  # rise of the latency beyond the caches: the page tables no longer fit the caches
BEYOND = 4  # times the last-level cache: almost no access hits it


def find(evaluation: Evaluation) -> list[Finding]:
    """Compares small with huge pages if both were measured; otherwise checks whether the latency ladder shows the TLB."""
    compared = [_compare_pages(evaluation, point.role.point, point.results) for point in list_points(evaluation)]
    findings = [finding for finding in compared if finding]
    return findings or _judge_ladder(evaluation)


def _compare_pages(evaluation: Evaluation, point: str, results: Sequence[Result]) -> Finding | None:
    if point not in WHAT:
        return None
    compared: list[tuple[Result, Result, Ratio]] = []
    for small in ("4k", "default"):
        for huge in ("huge", "transparent"):
            pairs = cases.pair(results, "page_size", small, huge)
            compared += [(a, b, r) for a, b in pairs if (r := ratio(a, b)) is not None and _is_other_page_size(a, b)]
        if compared:
            break
    if not compared:
        return None
    # With few threads and accumulators, other accesses do not hide the address translation.
    few = min(compared, key=lambda c: (cases.number(c[0], "threads") or 1, cases.number(c[0], "accumulators") or 1))
    return _report(evaluation, point, few, [_describe_pair(*c) for c in compared])


def _is_other_page_size(small: Result, huge: Result) -> bool:
    """Returns whether the pages differed, as far as the system reports it."""
    a, b = _find_huge_share(small), _find_huge_share(huge)
    return a is None or b is None or b - a > 0.5


def _find_huge_share(result: Result) -> float | None:
    pages = (r.surroundings.pages for r in result.attempts)
    shares = [float(page.huge) for page in pages if page and page.huge is not None]
    return fmean(shares) if shares else None


def _report(evaluation: Evaluation, point: str, few: tuple[Result, Result, Ratio], lines: list[str]) -> Finding | None:
    small, huge, factor = few
    words = {"huge": "explicit huge pages", "transparent": "transparent huge pages"}[
        str(cases.value(huge, "page_size"))
    ]
    caution = cases.caution(small, huge)
    policy_setting = evaluation.run.machine.setting("transparent_huge_pages")
    policy = f"Transparent huge pages are set to '{policy_setting.value}' here." if policy_setting.value else ""
    if factor.value > COSTS and factor.low > 1:
        return Finding(
            "huge_pages",
            "notice",
            f"With small pages, {WHAT[point]} costs {factor.value:.2f} times as much as with {words}.{caution}",
            tuple(filter(None, (*lines, policy))),
            "The processor stores few address translations (TLB). Accesses to distant addresses also wait for the page tables.",
            _suggest_remedy(policy_setting.value, policy_setting.source),
            small.benchmark,
            effect=factor.value,
            brief=f"Small pages make memory access {factor.value:.2f} times slower than huge pages.",
            action="GLIBC_TUNABLES=glibc.malloc.hugetlb=1 PROGRAM",
        )
    if factor.high < COSTS and factor.low > 1 / COSTS and not caution:
        claim = (
            f"The page size has little effect: {WHAT[point]} costs {factor.value:.2f} times as much "
            f"with small pages as with {words}."
        )
        cause = "The translations fit the TLB, or the page tables fit the caches."
        return Finding("huge_pages", "good", claim, tuple(lines), cause, "", small.benchmark)
    return None


def _describe_pair(small: Result, huge: Result, factor: Ratio) -> str:
    a, b = cost(small), cost(huge)
    times = f": {quantity(a.seconds, 's')} and {quantity(b.seconds, 's')}," if a and b else ":"
    share = _find_huge_share(huge)
    part = "" if share is None else f"; huge pages covered {percent(share)} of the memory"
    name = cases.describe(small, but=("elements", "page_size"))
    pages = f"{cases.value(small, 'page_size')} and {cases.value(huge, 'page_size')} pages"
    return f"{name}, {pages}{times} a factor of {factor.low:.2f} to {factor.high:.2f}{part}."


def _suggest_remedy(value: str | None, source: str) -> str:
    if value == "never" and source:
        return f"Allow huge pages for programs that ask for them: echo madvise | sudo tee {source}. Then run again."
    return (
        "Use huge pages in programs with large arrays: GLIBC_TUNABLES=glibc.malloc.hugetlb=1 PROGRAM "
        "(glibc 2.35 or newer), or call madvise(…, MADV_HUGEPAGE) for their memory."
    )


def _judge_ladder(evaluation: Evaluation) -> list[Finding]:
    """Returns a finding if huge pages are off and the latency still rises far beyond the caches."""
    machine = evaluation.run.machine
    policy = machine.setting("transparent_huge_pages")
    caches = [c for cpu in machine.cpus[:1] for c in cache_levels(machine, cpu)]
    chase = cases.find(evaluation.results, "memory.latency", "chase")
    chase = [r for r in cases.select(chase, chains=1, page_size="default") if (cases.number(r, "threads") or 1) == 1]
    if policy.value != "never" or not caches:
        return []
    beyond = [r for r in chase if (cases.number(r, "bytes") or 0) >= BEYOND * caches[-1].size]
    for group in cases.group(beyond, "bytes"):
        first, last = group[0], group[-1]
        rise = ratio(last, first) if last is not first else None
        if rise is None or rise.value < LADDER or rise.low <= 1:
            continue
        sizes = [binary_size(int(cases.number(r, "bytes") or 0)) for r in (first, last)]
        claim = (
            f"Huge pages are off. From {sizes[0]} to {sizes[1]}, beyond all caches, the latency still rises by "
            f"{quantity(rise.value - 1, '%', 2)}.{cases.caution(first, last)}"
        )
        evidence = (
            f"The last-level cache holds {binary_size(caches[-1].size)}.",
            f"{policy.source} contains '{policy.value}'.",
        )
        cause = "With pages of 4 KiB, the address translations of so much memory fit neither the TLB nor the caches."
        remedy = _suggest_remedy(policy.value, policy.source)
        brief = f"Huge pages are off: beyond the caches, the latency still rises by {quantity(rise.value - 1, '%', 2)}."
        effect = rise.value
        return [Finding("huge_pages", "notice", claim, evidence, cause, remedy, "memory.latency", effect, brief=brief)]
    return []
