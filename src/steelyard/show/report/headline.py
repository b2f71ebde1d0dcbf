"""The few figures that stand for a run: those that its findings would defend."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from steelyard.compare.quantities import QUANTITIES, find_quantity
from steelyard.compare.reduced_run import reduce_result
from steelyard.model import Evaluation, Machine, Metric, Result, Scalar, Value
from steelyard.model import roles as roles_
from steelyard.model.caches import MEMORY, level_of
from steelyard.model.roles import SIZES
from steelyard.model.units import binary_size
from steelyard.show.report import compared_figures, values
from steelyard.show.report.alternative import Alternative
from steelyard.show.report.reasons import kinds
from steelyard.statistics.results import applications, main_figures
from steelyard.statistics.results.benchmark_roles import find_roles
from steelyard.statistics.results.energy_metrics import ENERGY, FLOPS, POWER
from steelyard.statistics.results.parameters import number
from steelyard.statistics.results.roofs import working_set
from steelyard.statistics.results.variants import keep_unchanged
from steelyard.statistics.validity.trust import is_marked

MOST = 9  # figures: what one screen holds beside the verdict and the findings
FEW = 3  # main figures, below which other benchmarks' stand in although not all of them find room


@dataclass(frozen=True, kw_only=True)
class Headline:
    """One of the main figures: what it is, under which conditions, and its value as it may be shown.

    `doubted`: a finding says of its benchmark's figures that they may not hold. `alternatives`: the same case with each of two or
    three compilers, MPIs or variants of the run.
    """

    name: str
    title: str
    conditions: str
    shown: values.Shown
    value: Value | None
    metric: str
    result: Result
    doubted: bool = False
    alternatives: tuple[Alternative, ...] = ()

    @property
    def energy(self) -> dict[str, Value]:
        """The power, the energy of an operation and the operations per joule, as far as they are known."""
        known = self.result.metrics if self.shown.value else {}
        return {m.name: known[m.name] for m in (POWER, ENERGY, FLOPS) if m.name in known}

    @property
    def why(self) -> str:
        """Why the value is not CLEAN, in two or three words: 'competing load'; '' where it is."""
        reported = kinds(self.shown.evidence) if is_marked(self.shown.level) else ()
        return reported[0] if reported else ""


_WORDS = {
    "buffers": "{} buffers",
    "message_bytes": "{}",
    "class": "class {}",
    "vector_width": "vectors of {} bits",
    "toolchain": "{}",
    "mpi": "{}",
}
_FIXED = {"L", "alpha", *SIZES}
EQUAL = 0.1  # relative difference of the fastest samples below which two cases are equally good


def headlines(evaluation: Evaluation, most: int = MOST) -> tuple[Headline, ...]:
    """The main figures that this run has, in the order in which they are reported.

    A figure of each other benchmark follows if few of them were measured, if all of the run fits, or in an imported run.
    """
    unchanged = keep_unchanged(evaluation)
    ordered = sorted(find_roles(evaluation, roles_.Headline), key=lambda pair: (pair[1].order, pair[0]))
    chosen = [h for name, role in ordered if (h := _headline(unchanged, name, role)) is not None]
    had = {headline.result.benchmark for headline in chosen}
    others = [h for name in evaluation.benchmarks if name not in had and (h := _choose_usual(unchanged, name))]
    if len(chosen) + len(others) <= most or len(chosen) < FEW or evaluation.run.imported:
        chosen += others[: most - len(chosen)]
    return _add_alternatives(evaluation, chosen[:most])


def _add_alternatives(evaluation: Evaluation, chosen: Sequence[Headline]) -> tuple[Headline, ...]:
    """Adds what the same cases give with the other compilers, MPIs or variants of the run."""
    axis = compared_figures.axis(evaluation)
    if axis is None:
        return tuple(chosen)
    compared = compared_figures.compare(evaluation, [(h.result, h.metric) for h in chosen], axis)
    return tuple(replace(h, alternatives=row) for h, row in zip(chosen, compared, strict=True))


# --------------------------------------------------------------------------- choosing


def _headline(evaluation: Evaluation, name: str, choice: roles_.Headline) -> Headline | None:
    results = [r for r in evaluation.results if r.benchmark == name]
    kernel = [r for r in results if choice.kernel is None or r.kernel == choice.kernel]
    candidates = main_figures.candidates(choice, results)
    metric = _metric(candidates, evaluation.benchmarks[name].metrics, choice.unit)
    if metric is None:
        return None
    if choice.best:
        fastest = min(candidates, key=lambda r: _rank(r, metric))
        candidates = [r for r in candidates if r.parameters.get(choice.best) == fastest.parameters.get(choice.best)]
    varying = [axis for axis in values.varying(tuple(kernel)) if axis not in _FIXED]
    shown_names = [*varying, *(axis for axis in ("threads",) if axis in choice.most and axis not in varying)]
    return _make_headline(evaluation, choice, candidates, metric, shown_names)


def _choose_usual(evaluation: Evaluation, name: str) -> Headline | None:
    """A figure of a benchmark that has no main one: its first kernel and metric, the most workers, the largest work."""
    benchmark = evaluation.benchmarks[name]
    results = values.of_benchmark(evaluation, name)
    # A kernel with the name of its tool stands for it: the rating of HPCG, not one of its parts. For STREAM, Triad does.
    kernels = [r.kernel for r in results]
    kernel = next((k for k in (name.partition(".")[0], "triad") if k in kernels), next(iter(kernels), ""))
    of_kernel = main_figures.drop_crowded([r for r in results if r.kernel == kernel])
    # A program's own count of operations invites comparison with other codes, which do others for the same result.
    program = name.startswith("application.")
    declared = [m for m in benchmark.metrics if m.better != "none" and (m.unit == "s" or not program)]
    # But the speed of HPL is what everybody compares.
    names_of = [
        *(pick.metric for one in QUANTITIES for pick in one.picks if pick.benchmark == name),
        *(m.name for m in declared),
    ]
    metric = next((m for m in names_of if any(m in r.metrics for r in of_kernel)), None)
    if metric is None:
        return None
    candidates = main_figures.typical([r for r in of_kernel if not program or applications.timed(r)] or of_kernel)
    names = [*(["class"] if program else []), *(n for n in values.varying(tuple(of_kernel)) if n != "class")]
    several = len(set(kernels)) > 1
    title = f"{benchmark.title}: {kernel}" if several else benchmark.title
    if benchmark.heading and not program:
        title = f"{benchmark.heading}: {kernel.replace('_', ' ')}"
    role = roles_.Headline(name=name, title=title, unit="", order=0)
    return _make_headline(evaluation, role, candidates, metric, names)


def _make_headline(
    evaluation: Evaluation, role: roles_.Headline, candidates: Sequence[Result], metric: str, reported: Sequence[str]
) -> Headline | None:
    every = {id(r): values.shown(r, metric) for r in candidates}
    # A value above its limit, or the limit, is wrong: it stands for nothing while there is another one.
    sound = [r for r in candidates if (one := every[id(r)]) is not None and not one.above]
    result = _find_best_use(evaluation, _choose_steady(sound or candidates, metric), metric)
    shown = values.shown(result, metric)
    if shown is None:
        return None
    conditions = [_describe_condition(n, result.parameters[n]) for n in reported if n in result.parameters]
    conditions += _note_cache(result, evaluation.run.machine) if role.of_memory else []
    doubted = any(
        f.reach == "figures" and f.level in ("serious", "notice") and f.benchmark == result.benchmark
        for f in evaluation.findings
    )
    return Headline(
        name=role.name,
        title=role.title,
        conditions=", ".join(filter(None, (role.says, *conditions))),
        shown=shown,
        value=result.metrics.get(metric),
        metric=metric,
        result=result,
        doubted=doubted,
    )


def _describe_condition(name: str, value: Scalar) -> str:
    """A condition in as few words as tell it; "" where it is what everybody expects."""
    if name in _WORDS:
        return _WORDS[name].format(values.parameter(name, value))
    short = {("transport", "default"): "", ("precision", "double"): "double", ("operation", "fma"): "multiply-add"}
    return short.get((name, str(value)), values.phrase(name, value))


def _note_cache(result: Result, machine: Machine) -> list[str]:
    """That it is no figure of the memory, where the data fit a cache."""
    bytes_ = number(result.parameters.get("bytes"))
    size = working_set(result) or bytes_
    level = level_of(size, int(number(result.parameters.get("threads")) or 1), machine) if size else MEMORY
    return [f"{binary_size(int(size))}, within {level}"] if size and level not in (MEMORY, None) else []


def _metric(results: list[Result], declared: Iterable[Metric], unit: str) -> str | None:
    names = [*(m.name for m in declared), *(name for r in results for name in r.metrics)]
    units = ((name, r.metrics[name].unit) for name in names for r in results if name in r.metrics)
    return next((name for name, own in units if own.split("/access")[0] == unit), None)


def _choose_steady(results: Sequence[Result], metric: str) -> Result:
    """Returns one of the best results, the same one in each run: the first by its parameters of those that are equally good.

    The fastest samples are compared, because they differ least from run to run.
    """
    known = [r for r in results if values.level(r) != "INVALID" and metric in r.metrics]
    if not known:
        return min(results, key=lambda r: _rank(r, metric))
    values_of = {id(r): r.metrics[metric] for r in known}
    seen = {of: value.value if value.best_seen is None else value.best_seen for of, value in values_of.items()}
    lower = known[0].metrics[metric].better == "lower"
    best = (min if lower else max)(seen.values())
    # Below 0 (of a damaged record), only the best one is near.
    edge = best if best <= 0 else best / (1 - EQUAL) if lower else best * (1 - EQUAL)
    near = [r for r in known if (seen[id(r)] <= edge if lower else seen[id(r)] >= edge)]
    return min(near, key=lambda r: sorted((name, str(value)) for name, value in r.parameters.items()))


def _find_best_use(evaluation: Evaluation, chosen: Result, metric: str) -> Result:
    """Returns the case that stands for the same quantity in comparisons; `chosen` if it has no such quantity."""
    benchmark = evaluation.benchmarks[chosen.benchmark]
    one = find_quantity(reduce_result(chosen, benchmark), metric)
    of_benchmark = [r for r in evaluation.results if r.benchmark == benchmark.name and values.level(r) != "INVALID"]
    pairs = [(reduce_result(r, benchmark), r) for r in of_benchmark if r.metrics] if one else []
    found = (pick.choose(case for case, _ in pairs) for pick in (one.picks if one else ()))
    case = next(filter(None, found), None)
    return next((result for reduced, result in pairs if reduced is case), chosen)


def _rank(result: Result, metric: str) -> tuple[bool, bool, float]:
    """The measured ones first; then what has an interval; then the better value."""
    value = result.metrics.get(metric)
    if value is None:
        return True, True, 0.0
    ordered = value.value if value.better == "lower" else -value.value
    return values.level(result) == "INVALID", value.low is None, ordered
