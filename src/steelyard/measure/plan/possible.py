"""Chooses the combinations of parameters that the programs accept, by what the benchmarks declare. Pure."""

import itertools
from collections.abc import Iterable, Iterator, Mapping, Sequence

from steelyard.errors import UsageError
from steelyard.measure.machine.placement import place
from steelyard.measure.machine.rank_placement import place_ranks
from steelyard.model import Axes, Benchmark, Case, Effort, Machine, Parameters, Scalar
from steelyard.model.numbers import GREATEST
from steelyard.model.words import NAMED, few, joined

Settings = Mapping[str, Sequence[Scalar]]  # values that replace those of an axis
CHOSEN = ("kernel", "model")  # a setting of these selects among the values of a benchmark
GIVEN = ("mpi", "variant")  # a setting of these selects among those that other options give
PLACED = ("ranks", "ranks_per_node", "placement", "threads", "pinning")  # parameters that choose the processors


def cpus_of(machine: Machine, parameters: Parameters) -> tuple[int, ...] | None:
    """Returns the processors to which a case's threads, or a host's ranks, are pinned; None or () for no pinning."""
    if "ranks" in parameters:
        per_node = int(parameters.get("ranks_per_node", 0)) or None
        return place_ranks(machine, int(parameters["ranks"]), per_node, str(parameters.get("placement", "compact")))
    return place(machine, int(parameters.get("threads", 1)), str(parameters.get("pinning", "compact")))


class _Placements:
    """Why placements are impossible. Each is tried once, since on hundreds of processors thousands of cases have few of them."""

    def __init__(self, machine: Machine) -> None:
        self._machine = machine
        self._reasons: dict[tuple[Scalar | None, ...], str] = {}

    def explain(self, parameters: Parameters) -> str:
        key = tuple(parameters.get(name) for name in PLACED)
        if key not in self._reasons:
            try:
                cpus_of(self._machine, parameters)
                self._reasons[key] = ""
            except UsageError as error:
                self._reasons[key] = str(error)
        return self._reasons[key]


def expect_possible(machine: Machine, cases: Iterable[Case]) -> None:
    """Raises UsageError for a case with an impossible placement."""
    placements = _Placements(machine)
    if reason := next(filter(None, (placements.explain(case.parameters) for case in cases)), ""):
        raise UsageError(reason)


def points(
    benchmark: Benchmark, block: Axes, settings: Settings, general: Iterable[str], machine: Machine
) -> Iterator[dict[str, Scalar]]:
    """Yields the parameters of the cases of a block with the settings."""
    placements = _Placements(machine)
    for point in _combinations(benchmark, block, settings, general):
        if not _explain_refusal(benchmark, block, point, settings, placements):
            yield point


def _combinations(
    benchmark: Benchmark, block: Axes, settings: Settings, general: Iterable[str]
) -> Iterator[dict[str, Scalar]]:
    values = dict(block.values)
    for name, wanted in settings.items():
        if name in (*CHOSEN, *GIVEN) and name in values:
            values[name] = tuple(v for v in values[name] if v in wanted)
        elif name in values or is_read(name, benchmark, general) or _is_further(name, block, settings):
            values[name] = tuple(v for v in wanted if not expected(name, v, [block]))
    for combination in itertools.product(*values.values()):
        yield dict(zip(values, combination, strict=True))


def _is_further(name: str, block: Axes, settings: Settings) -> bool:
    return name in block.further and ("model" in settings or "model" not in block.values)


def is_read(name: str, benchmark: Benchmark, general: Iterable[str]) -> bool:
    """Returns whether the kernels of the benchmark read this parameter of every kernel."""
    return name in general and name not in benchmark.unread


def _explain_refusal(
    benchmark: Benchmark, block: Axes, point: Parameters, settings: Settings, placements: "_Placements"
) -> str:
    """Returns why this case is not planned; "" if it is. Without settings, the benchmark itself chose its placement."""
    if settings and (reason := placements.explain(point)):
        return reason.rstrip(".")
    if reason := next((text for text, holds in benchmark.demands.items() if not holds(point)), ""):
        return reason
    return "" if block.keep is None or block.keep(point) else "the benchmark leaves out this combination"


def refusal(benchmark: Benchmark, block: Axes, settings: Settings, machine: Machine) -> str:
    """Returns why no case of the block is planned with the settings; "" if one is."""
    placements = _Placements(machine)
    reasons = [
        _explain_refusal(benchmark, block, p, settings, placements)
        for p in _combinations(benchmark, block, settings, ())
    ]
    return reasons[0] if reasons and all(reasons) else ""


def expected(name: str, value: Scalar, blocks: Sequence[Axes]) -> str:
    """Returns the values that the blocks allow for a parameter if this value is not among them; "" if it is.

    Each block's own values show the kind of number that a parameter takes. Stated bounds take precedence.
    """
    declared = [b for b in blocks if name not in CHOSEN and (name in b.values or name in b.choices)]
    reasons = [_describe_allowed(name, value, b) for b in declared]
    return reasons[0] if reasons and all(reasons) else ""


def _describe_allowed(name: str, value: Scalar, block: Axes) -> str:
    if name in block.choices:
        allowed = [str(v) for v in block.choices[name]]
        return "" if str(value) in allowed else " or ".join(allowed)
    given = block.values[name]
    if not given or any(isinstance(v, (str, bool)) for v in given):
        return ""
    numbers = [v for v in given if isinstance(v, (int, float))]
    real = any(isinstance(v, float) for v in numbers)
    kind = "a number" if real else "a whole number"
    if isinstance(value, (str, bool)) or (isinstance(value, float) and not real):
        return kind
    low, high = block.bounds.get(name, (min(0, *numbers), GREATEST))
    positive = min(numbers) > 0 and low == 0 and (real or name not in block.bounds)  # from 0 on, but not 0 itself
    if low <= value <= high and not (positive and value == 0):
        return ""
    least = "above 0" if positive else f"from {low:.15g}"
    return f"{low:.15g}" if low == high else f"{kind} {least}" + (f" to {high:.15g}" if high < GREATEST else "")


def describe_excluded(benchmarks: Mapping[str, Benchmark], machine: Machine, effort: Effort, settings: Settings) -> str:
    """Returns the combinations that the settings name but that no program accepts, with the reasons; "" if there is none."""
    texts: dict[str, list[str]] = {}
    for name, words, reason in list_excluded(benchmarks, machine, effort, settings):
        names = texts.setdefault(f"{words} ({reason})", [])
        names += [name] if name not in names else []
    parts = [f"{text} in {joined(few(names))}" for text, names in texts.items()]
    return "; ".join(parts[:NAMED] + ([f"{len(parts) - NAMED} more"] if len(parts) > NAMED else []))


def list_excluded(
    benchmarks: Mapping[str, Benchmark], machine: Machine, effort: Effort, settings: Settings
) -> Iterator[tuple[str, str, str]]:
    """Yields the benchmark, a value of the settings that all its blocks of a mode or of a kernel lack, and the reason."""
    for name, benchmark in benchmarks.items():
        blocks = [b for b in benchmark.axes(machine, effort) if not b.when or b.when in settings]
        for parameter, value in ((n, v) for n in settings for v in settings[n] if n not in (*CHOSEN, *GIVEN)):
            reasons: dict[str, list[str]] = {}
            for block in (b for b in blocks if parameter in b.values and _is_chosen(b, settings, parameter)):
                by = "kernel" if parameter in block.choices or "mode" not in block.values else "mode"
                allowed = expected(parameter, value, [block])
                reason = f"expected {allowed}" if allowed else ""
                reason = reason or refusal(benchmark, block, {**settings, parameter: (value,)}, machine)
                reasons.setdefault(f" with {by}={block.values[by][0]}", []).append(reason)
            lacking = [(label, of[0]) for label, of in reasons.items() if all(of)]
            everywhere = len(lacking) == len(reasons) > 1
            for label, reason in lacking[:1] if everywhere else lacking:
                yield name, f"{parameter}={value}{'' if everywhere else label}", reason


def _is_chosen(block: Axes, settings: Settings, besides: str) -> bool:
    """Returns whether the block has the kernel, the model and the mode of the settings; `besides` is not considered."""
    words = {n: block.choices.get(n, v) for n, v in block.values.items() if n in CHOSEN or n in block.choices}
    return all(set(map(str, words[n])) & set(map(str, settings[n])) for n in words if n in settings and n != besides)
