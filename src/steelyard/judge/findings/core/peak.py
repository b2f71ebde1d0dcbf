"""Rule: checks whether the cores reach the peak that their execution units, vectors and true clock allow."""

from collections.abc import Iterable
from statistics import median
from typing import NamedTuple

from steelyard.judge.findings import disturbances, settings
from steelyard.judge.findings.open_questions import NO_LIMIT, undecided
from steelyard.judge.findings.remedies import advise
from steelyard.measure.benchmarks.core.peak import WIDTHS, clock_under_load, limit
from steelyard.model import Evaluation, Finding, Limit, Machine, Remedy, Result
from steelyard.model.units import percent, quantity
from steelyard.model.words import in_words
from steelyard.statistics.results import cases
from steelyard.statistics.results.result import rests_on
from steelyard.statistics.validity import trust
from steelyard.statistics.validity.limits import is_above

BENCHMARK = "core.peak"
NEAR = 0.97  # share of the limit: the ends of the samples and a varying clock cost less than 3 %
PIPE = 0.05  # relative tolerance for the speed of a processor with one execution unit less


class Judged(NamedTuple):
    """A result with its limit."""

    result: Result
    limit: Limit
    share: float


def find(evaluation: Evaluation) -> list[Finding]:
    """Compares the widest fused multiply-adds in double precision, with the most threads and with one, with their limits."""
    fused = cases.select(cases.find(evaluation.results, BENCHMARK, "peak"), operation="fma", precision="double")
    fused = [r for r in fused if "flops" in r.metrics and _name_width(r) in WIDTHS and cases.number(r, "threads")]
    widest = _select_widest(fused)
    ends = [
        max(candidates, key=_rank_by_speed)
        for candidates in (cases.select_greatest(widest, "threads"), _select_single_threaded(widest))
        if candidates
    ]
    if not ends:
        return []
    machine = evaluation.run.machine
    judged = _judge_all(ends, machine)
    if not judged:
        return [_report_unknown(ends[0], machine)]
    if any(is_above(j.result.metrics["flops"], j.limit) for j in judged):
        return []  # the rule "above_limit" reports it
    shares = [j.share for j in judged]
    claim = "; ".join(map(_describe, judged[: 1 if judged[0].result is judged[-1].result else 2]))
    evidence = (*(f"The limit: {j.limit.source}." for j in judged[:1]), *_explain_clock(judged[0], machine))
    details, caution = claim, cases.caution(*(j.result for j in judged))
    claim = f"The widest vectors reach {details}.{caution}"
    if min(shares) >= NEAR:
        cause = "The cores start as many vector operations in every cycle as the processor can."
        return [Finding("peak", "good", claim, evidence, cause, "", BENCHMARK)]
    low = min(judged, key=lambda j: j.share)
    narrower = [
        j for j in _judge_all(fused, machine) if j.result.parameters["threads"] == low.result.parameters["threads"]
    ]
    cause, remedy = _explain_low(low, narrower, machine)
    evidence = (*evidence, *map(_describe_judged, narrower))
    effect = 1 / low.share if low.share > 0 else None
    threads = cases.number(low.result, "threads") or 1
    brief = f"Arithmetic reaches only {percent(low.share)} of its limit with {threads:g} threads."
    return [Finding("peak", "notice", claim, evidence, cause, remedy, BENCHMARK, effect=effect, brief=brief)]


def _select_widest(results: list[Result]) -> list[Result]:
    most = max((WIDTHS.index(_name_width(r)) for r in results), default=0)
    return [r for r in results if _name_width(r) == WIDTHS[most]]


def _name_width(result: Result) -> str:
    return str(result.parameters.get("vector_width"))


def _select_single_threaded(results: list[Result]) -> list[Result]:
    return [r for r in results if cases.number(r, "threads") == 1]


def _rank_by_speed(result: Result) -> tuple[int, float]:
    """Sort key: the most trusted result first, then the fastest of several compilers."""
    return -trust.ORDER.index(result.verdict.level), result.metrics["flops"].value


def _judge_all(results: Iterable[Result], machine: Machine) -> list[Judged]:
    bounds = ((r, limit("flops", r, machine)) for r in results)
    return [Judged(r, b, r.metrics["flops"].value / b.value) for r, b in bounds if b is not None and b.value > 0]


def _describe(judged: Judged) -> str:
    threads = in_words("threads", judged.result.parameters.get("threads"))
    return f"{quantity(judged.result.metrics['flops'].value, 'flop/s')} with {threads}, {percent(judged.share)} of the limit"


def _describe_judged(judged: Judged) -> str:
    width = _name_width(judged.result)
    return f"{'Scalars' if width == 'scalar' else f'Vectors of {width} bits'}: {_describe(judged)}."


def _explain_clock(judged: Judged, machine: Machine) -> list[str]:
    """Returns a sentence on the share of the node limit, which uses the clock without vectors, if that limit is known."""
    whole, clocks = machine.limits.get("flops"), [clock_under_load(r) for r in rests_on(judged.result)]
    measured = [clock for clock in clocks if clock]
    if whole is None or whole.value <= 0 or not measured or cases.number(judged.result, "threads") != len(machine.cpus):
        return []
    value = judged.result.metrics["flops"]
    wrong = ": one of the two is wrong" if is_above(value, whole) else ""
    share = f"{percent(value.value / whole.value)} of the node limit ({whole.source}){wrong}"
    return [f"The clock under this load is {quantity(median(measured), 'Hz')}. The result is {share}."]


def _explain_low(low: Judged, narrower: list[Judged], machine: Machine) -> tuple[str, str | Remedy]:
    """Returns the likely cause and the remedy."""
    again = f"run --only {BENCHMARK}"
    if low.result.verdict.level == "DISTURBED":
        kind = disturbances.name(low.result) or disturbances.UNNAMED
        remedy = disturbances.suggest_remedy(kind, machine)
        return f"The measurement was disturbed: {kind}.", advise(f"{remedy} Then measure again: ".lstrip(), again)
    others = [j for j in narrower if _name_width(j.result) != _name_width(low.result)]
    reached = bool(others) and all(j.share >= NEAR for j in others)
    if reached and abs(low.share - 0.5) < PIPE / 2:
        cause = (
            "Narrower vectors reach their limits, but the widest reach half: the processor has one execution "
            "unit of this width, not two."
        )
        return cause, "Set the true peak in a system file (flops = …, --system FILE.toml), and report the processor."
    if reached:
        cause = "Narrower vectors reach their limits. Wide vectors reduce the clock more than the clock reading shows."
        return cause, (
            "Check the core clock at each vector width (see the figure), and the temperature and the power limit of the "
            "processor."
        )
    cause = "The clock changes, the cores wait (a quota, a hypervisor), or the table of processors is wrong."
    return cause, advise(f"{settings.advise_check(machine)}Measure again: ", again)


def _report_unknown(best: Result, machine: Machine) -> Finding:
    question = (
        f"Steelyard cannot compute which share of their limit the widest vectors reach. They reach "
        f"{quantity(best.metrics['flops'].value, 'flop/s')} with {in_words('threads', best.parameters.get('threads'))}, but the "
        "limit is unknown."
    )
    again = advise(
        "Write the peak from the data sheet into a file (flops = 512e9 for 512 Gflop/s in double precision): ",
        "run --system FILE.toml",
    )
    return undecided("peak", question, (_explain_no_limit(best, machine),), NO_LIMIT, again, BENCHMARK)


def _explain_no_limit(best: Result, machine: Machine) -> str:
    """Returns a sentence on the reason why the limit of the result is unknown."""
    if machine.fma_width is None or machine.fma_units is None:
        return f"The execution units of the processor '{machine.processor}' are unknown."
    if not any(map(clock_under_load, rests_on(best))):
        return "The clock under this load was not measured."
    return "The number of execution units for vectors of this width is unknown."
