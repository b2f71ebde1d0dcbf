"""The few figures that stand for a run: those that its findings would defend."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from steelyard.benchmarks.application.npb import results as applications
from steelyard.model import Evaluation, Machine, Metric, Result, Scalar, Value
from steelyard.report import values
from steelyard.report.reasons import kinds
from steelyard.statistics import messages
from steelyard.statistics.roofs import MEMORY, level_of, working_set
from steelyard.statistics.tolerance import LONG_BLOCKS, NEAR_START
from steelyard.statistics.trust import ORDER
from steelyard.units import binary_size

MOST = 9  # figures: what one screen holds beside the verdict and the findings
FEW = 3  # main figures, below which other benchmarks' stand in although not all of them find room


@dataclass(frozen=True)
class Headline:
    """One of the main figures: what it is, under which conditions, and its value as it may be shown.

    `doubted`: a finding says of its benchmark's figures that they may not hold.
    """

    name: str
    title: str
    conditions: str
    shown: values.Shown
    value: Value | None
    result: Result
    doubted: bool = False

    @property
    def why(self) -> str:
        """Why the value is not CLEAN, in two or three words: 'competing load'; '' where it is."""
        told = kinds(self.shown.evidence) if self.shown.level != "CLEAN" else ()
        return told[0] if told else ""


@dataclass(frozen=True)
class _Choice:
    """Where a headline comes from: parameters at their least or most, and a metric recognised by its unit.

    Of the values of `best` that which is fastest, clean or not, since another is slower by its nature. `fits`: what a result
    must be to bear the title at all.
    """

    name: str
    title: str
    benchmark: str
    kernel: str | None
    unit: str
    least: tuple[str, ...]
    most: tuple[str, ...]
    usual: tuple[tuple[str, Scalar], ...] = ()  # values that are taken where they were measured
    best: str = ""
    fits: Callable[[Result], bool] = lambda result: True


def _at(result: Result, name: str) -> float:
    number = values.number(result.parameters.get(name))
    return float("nan") if number is None else number


_SIZES = ("elements", "bytes", "working_set", "working_set_bytes", "size")
# A newcomer's own program meets these; the others are on the benchmark's page.
_USUAL: tuple[tuple[str, Scalar], ...] = (("page_size", "default"), ("memory_policy", "local"))
_PINNED: tuple[tuple[str, Scalar], ...] = (*_USUAL, ("pinning", "compact"))
_SENT: tuple[tuple[str, Scalar], ...] = (("transport", "default"),)
_CHOICES = (
    _Choice("triad", "Triad bandwidth", "memory.stream", "triad", "B/s", (), ("threads", *_SIZES), _PINNED),
    _Choice("latency", "Latency of memory", "memory.latency", None, "s", ("threads", "chains"), _SIZES, _USUAL),
    _Choice(
        "G", "Worst locality (G)", "memory.apexmap", None, "cycle",
        ("threads", "accumulators", "L"), ("alpha", *_SIZES), _USUAL,
        fits=lambda result: _at(result, "L") == _at(result, "alpha") == 1,
    ),
    # With one accumulator an access at the best corner waits for the addition before it, not for the memory.
    _Choice(
        "L", "Best locality (L)", "memory.apexmap", None, "cycle",
        ("threads", "alpha"), ("L", *_SIZES), _USUAL, "accumulators",
        lambda result: _at(result, "L") >= LONG_BLOCKS and _at(result, "alpha") <= NEAR_START,
    ),
    _Choice(
        "peak", "Peak of arithmetic", "core.peak", None, "flop/s",
        (), ("threads",), (("precision", "double"), ("operation", "fma")),
    ),
    # Reused buffers lie in a cache, which matters as soon as there is a byte to send.
    _Choice(
        "message", "Short message, one way", "network.pingpong", None, "s",
        ("ranks", "message_bytes"), (), (*_SENT, ("buffers", "fresh")),
    ),
    _Choice(
        "messages", "Long messages, one way", "network.pingpong", None, "B/s",
        ("ranks",), (), (*_SENT, ("buffers", "fresh")),
        fits=lambda result: messages.size(result) >= LONG_MESSAGE,
    ),
)  # fmt: skip
LONG_MESSAGE = 256 << 10  # bytes: beyond what start-up costs
_WORDS = {
    "buffers": "{} buffers",
    "message_bytes": "{}",
    "class": "class {}",
    "vector_width": "vectors of {} bits",
    "toolchain": "{}",
    "mpi": "{}",
}
_FIXED = {"L", "alpha", *_SIZES}


def headlines(evaluation: Evaluation, most: int = MOST) -> tuple[Headline, ...]:
    """The main figures that this run has, in the order in which they are told.

    Where few of them were measured, or all of the run fits, a figure of each other benchmark follows.
    """
    chosen = [h for choice in _CHOICES if (h := _headline(evaluation, choice)) is not None]
    had = {headline.result.benchmark for headline in chosen}
    others = [h for name in evaluation.benchmarks if name not in had and (h := _usual_one(evaluation, name))]
    if len(chosen) + len(others) <= most or len(chosen) < FEW:
        chosen += others[: most - len(chosen)]
    return tuple(chosen[:most])


# --------------------------------------------------------------------------- choosing


def _headline(evaluation: Evaluation, choice: _Choice) -> Headline | None:
    mine = [r for r in evaluation.results if r.benchmark == choice.benchmark]
    kernel = [r for r in mine if choice.kernel is None or r.kernel == choice.kernel]
    candidates = _spared([r for r in kernel if choice.fits(r)])
    for names, pick in ((choice.least, min), (choice.most, max)):
        for name in names:
            candidates = _extreme(candidates, name, pick)
    for name, value in choice.usual:
        candidates = [r for r in candidates if r.parameters.get(name) == value] or candidates
    benchmark = evaluation.benchmarks.get(choice.benchmark)
    metric = _metric(candidates, benchmark.metrics if benchmark else (), choice.unit)
    if metric is None:
        return None
    if choice.best:
        fastest = min(candidates, key=lambda r: _rank(r, metric, whether_clean=False))
        candidates = [r for r in candidates if r.parameters.get(choice.best) == fastest.parameters.get(choice.best)]
    varying = [name for name in values.varying(tuple(kernel)) if name not in _FIXED]
    told = [*varying, *(name for name in ("threads",) if name in choice.most and name not in varying)]
    return _made(evaluation, choice.name, choice.title, candidates, metric, told)


def _usual_one(evaluation: Evaluation, name: str) -> Headline | None:
    """A figure of a benchmark that has no main one: its first kernel and metric, the most workers, the largest work."""
    benchmark = evaluation.benchmarks[name]
    mine = values.of_benchmark(evaluation, name)
    of_kernel = _spared([r for r in mine if r.kernel == mine[0].kernel])
    # A program's own count of operations invites comparison with other codes, which do others for the same result.
    program = name.startswith("application.")
    declared = [m for m in benchmark.metrics if m.better != "none" and (m.unit == "s" or not program)]
    metric = next((m.name for m in declared if any(m.name in r.metrics for r in of_kernel)), None)
    if metric is None:
        return None
    candidates = [r for r in of_kernel if not program or applications.timed(r)] or of_kernel
    for name_ in ("threads", "ranks", "message_bytes", *_SIZES):
        candidates = _extreme(candidates, name_, max)
    for name_, value in (*_PINNED, *_SENT, ("buffers", "fresh")):
        candidates = [r for r in candidates if r.parameters.get(name_) == value] or candidates
    told = [*(["class"] if program else []), *(n for n in values.varying(tuple(of_kernel)) if n != "class")]
    several = len({r.kernel for r in mine}) > 1
    title = f"{benchmark.title}: {mine[0].kernel}" if several else benchmark.title
    return _made(evaluation, name, title, candidates, metric, told)


def _made(
    evaluation: Evaluation, name: str, title: str, candidates: Sequence[Result], metric: str, told: Sequence[str]
) -> Headline | None:
    result = min(candidates, key=lambda r: _rank(r, metric))
    benchmark = evaluation.benchmarks.get(result.benchmark)
    shown = values.shown(result, metric, benchmark, evaluation.run.machine)
    if shown is None:
        return None
    conditions = [_said(n, result.parameters[n]) for n in told if n in result.parameters]
    conditions += _within(result, evaluation.run.machine) if name in ("triad", "latency") else []
    doubted = any(
        f.reach == "figures" and f.level != "good" and f.benchmark == result.benchmark for f in evaluation.findings
    )
    return Headline(
        name, title, ", ".join(filter(None, conditions)), shown, result.metrics.get(metric), result, doubted
    )


def _said(name: str, value: Scalar) -> str:
    """A condition in as few words as tell it; "" where it is what everybody expects."""
    if name in _WORDS:
        return _WORDS[name].format(values.parameter(name, value))
    short = {("transport", "default"): "", ("precision", "double"): "double", ("operation", "fma"): "multiply-add"}
    return short.get((name, str(value)), values.phrase(name, value))


def _within(result: Result, machine: Machine) -> list[str]:
    """That it is no figure of the memory, where the data fit a cache."""
    bytes_ = values.number(result.parameters.get("bytes"))
    size = working_set(result) or bytes_
    level = level_of(size, int(values.number(result.parameters.get("threads")) or 1), machine) if size else MEMORY
    return [f"{binary_size(int(size))}, within {level}"] if size and level not in (MEMORY, None) else []


def _spared(results: list[Result]) -> list[Result]:
    """Without those of more ranks than processors, which tell of the scheduler, where there are others."""
    return [r for r in results if not messages.oversubscribed(r)] or results


def _extreme(results: list[Result], name: str, pick: Callable[[Iterable[float]], float]) -> list[Result]:
    numbers = [n for r in results if (n := values.number(r.parameters.get(name))) is not None]
    if not numbers:
        return results
    wanted = pick(numbers)
    return [r for r in results if values.number(r.parameters.get(name)) == wanted]


def _metric(results: list[Result], declared: Iterable[Metric], unit: str) -> str | None:
    names = [*(m.name for m in declared), *(name for r in results for name in r.metrics)]
    for name in names:
        if any(name in r.metrics and r.metrics[name].unit.split("/access")[0] == unit for r in results):
            return name
    return None


def _rank(result: Result, metric: str, whether_clean: bool = True) -> tuple[int, bool, float]:
    """The more trusted first; then what has an interval; then the better value."""
    trust = ORDER.index(values.level(result))
    value = result.metrics.get(metric)
    if value is None:
        return len(ORDER), True, 0.0
    worse = trust if whether_clean else trust // ORDER.index("INVALID")
    return worse, value.low is None, value.value if value.better == "lower" else -value.value
