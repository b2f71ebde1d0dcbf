"""Common parts of the NAS Parallel Benchmarks: classes, programming models, loaded cores, metrics and figures."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from steelyard.measure.benchmarks.axes import thread_counts, with_openmp
from steelyard.measure.benchmarks.figures import against
from steelyard.model import Axes, Effort, Limit, Machine, Metric, Parameters, Record, Result, Sampling, Scalar
from steelyard.model.benchmark import Demands
from steelyard.model.figure import Axis, Figure, Series
from steelyard.model.words import find_words
from steelyard.statistics.results.applications import CLASSES, MODELS, PARALLEL, TOO_SMALL, phrase

MEMORY_SHARE = 0.5  # of the machine's memory: larger classes run only on request
HIDDEN = ("kernel", "model", "start")  # parameters that do not distinguish the lines of a figure
# For each of the two launches of a quick run: an interval needs six samples in all.
QUICK_SAMPLES, QUICK_SECONDS = 3, 0.2


@dataclass(frozen=True, kw_only=True)
class Code:
    """Properties of one benchmark for axes and figures. `seconds` are rough times of the timed region on one core."""

    kernel: str  # "cg"
    models: tuple[str, ...]
    seconds: Mapping[str, float]  # by class
    memory: Mapping[str, float]  # by class, B
    quick: str  # class of a quick run
    usual: str  # class of a standard run; a full run adds the next one
    unit: str = "op/s"  # of the speed: NPB's Mop/s count different things in each benchmark
    counted: str = ""  # a sentence if the program carries out far fewer operations than NPB counts
    # Whether the decomposition allows this number of ranks for a class.
    usable: Callable[[int, str], bool] = lambda ranks, size: ranks.bit_count() == 1
    grows: bool = False  # whether `scale` can multiply the size of a class, for weak scaling


def make_axes(code: Code) -> Callable[[Machine, Effort], tuple[Axes, ...]]:
    """Returns the function of the axes: a block for each model and each number of loaded cores per node."""

    def axes(machine: Machine, effort: Effort) -> tuple[Axes, ...]:
        def expected(point: Parameters) -> tuple[Sampling, float]:
            return _estimate_start(code, point, machine, effort)

        common: dict[str, tuple[Scalar, ...]] = {
            "kernel": (code.kernel,),
            "class": _choose_classes(code, machine, effort),
            "phases": ("off",),
        }
        blocks = []
        for model in code.models:
            for workers in loads(model in PARALLEL, lambda n: code.usable(n, str(common["class"][0])), machine, effort):
                values = {**common, "model": (model,), **workers}
                choices: dict[str, tuple[Scalar, ...]] = {"class": CLASSES, "phases": ("off", "on")}
                block = Axes(values, expected=expected, choices=choices, weak="scale" if code.grows else None)
                blocks += with_openmp(block) if model == "threads" else [block]
        return tuple(blocks)

    return axes


def make_demands(code: Code, cut: tuple[str, ...] = ("ranks",)) -> Demands:
    """Returns what the programs demand of the parameters that cut the grid of a class."""
    words = f"this number of {' or '.join(cut)} cannot divide the problem of the class"
    return {words: lambda p: all(code.usable(p[name], p["class"]) for name in cut if name in p)}


def _choose_classes(code: Code, machine: Machine, effort: Effort) -> tuple[str, ...]:
    wanted = {"quick": (code.quick,), "standard": (code.usual,)}.get(
        effort.name, (code.usual, CLASSES[min(CLASSES.index(code.usual) + 1, len(CLASSES) - 1)])
    )
    most = MEMORY_SHARE * machine.memory
    return tuple(c for c in wanted if code.memory[c] <= most) or wanted[:1]


def loads(
    parallel: bool, usable: Callable[[int], bool], machine: Machine, effort: Effort
) -> list[dict[str, tuple[Scalar, ...]]]:
    """Returns counts of threads or ranks. With several hosts, each block has its number of loaded cores per host."""
    quick = effort.name == "quick"
    if not parallel:
        counts = thread_counts(machine)
        return [{"threads": counts[-1:] if quick else counts, "pinning": ("compact",)}]
    if not machine.hosts:
        possible = tuple(n for n in thread_counts(machine) if usable(n))
        return [{"ranks": possible[-1:] if quick else possible, "placement": ("compact",)}]
    slots = [n for n in _list_doublings_and_most(min(h.slots for h in machine.hosts)) if usable(n)]
    blocks: list[dict[str, tuple[Scalar, ...]]] = []
    for load in slots[-1:] if quick else slots:
        ranks = tuple(load * nodes for nodes in _list_doublings_and_most(len(machine.hosts)) if usable(load * nodes))
        blocks.append({"ranks": ranks[-1:] if quick else ranks, "ranks_per_node": (load,), "placement": ("compact",)})
    return blocks


def _list_doublings_and_most(most: int) -> tuple[int, ...]:
    """Returns 1, 2, 4 … and `most`."""
    return tuple(sorted({*(1 << k for k in range(most.bit_length()) if 1 << k <= most), most}))


def _estimate_start(code: Code, point: Parameters, machine: Machine, effort: Effort) -> tuple[Sampling, float]:
    """Returns the sampling of a case and the seconds of set-up, NPB's untimed start and verification."""
    one = code.seconds.get(str(point["class"]), 1.0) * int(point.get("scale", 1))
    run_seconds = one / min(count_threads(point), count_cores(machine))
    if effort.name == "quick":
        seconds = max(QUICK_SECONDS, QUICK_SAMPLES * run_seconds)
        return Sampling(effort.sampling.width, seconds, QUICK_SAMPLES, 5), 1.2 * run_seconds + 0.2
    return Sampling(effort.sampling.width, max(1.0, 2.5 * run_seconds), 2, 30), run_seconds + 0.2


def count_cores(machine: Machine) -> int:
    """Returns the number of processors of all hosts, which are taken for equal ones."""
    return max(1, len(machine.cpus)) * max(1, len(machine.hosts))


def count_threads(point: Parameters) -> int:
    """Returns the number of threads of all ranks that carry out a case."""
    return int(point.get("ranks", 1)) * int(point.get("threads", 1))


def count_workers(record: Record | Result) -> int:
    """Returns the number of threads or ranks that carried out a case."""
    return count_threads(record.parameters)


def is_long_enough(record: Record) -> bool:
    """Returns whether the class lasts long enough for a speed."""
    return record.parameters.get("class") not in TOO_SMALL


def make_metrics(code: Code) -> tuple[Metric, ...]:
    """Returns NPB's total speed, the speed of each thread or rank, the time, and flop/s if they are counted."""

    def rate(seconds: float, record: Record) -> float | None:
        return record.work["operations"] / seconds if is_long_enough(record) else None

    def each(seconds: float, record: Record) -> float | None:
        return record.work["operations"] / seconds / count_workers(record) if is_long_enough(record) else None

    def flops(seconds: float, record: Record) -> float | None:
        return record.work["flops"] / seconds if is_long_enough(record) and record.work.get("flops") else None

    return (
        Metric("rate", code.unit, "higher", "speed by NPB's count of operations", rate),
        Metric("rate_each", code.unit, "higher", "speed of each thread or rank", each),
        Metric("time", "s", "lower", "time of the timed part", lambda seconds, record: seconds),
        Metric("flops", "flop/s", "higher", "speed by floating-point operations", flops),
    )


def limit(metric: str, result: Result, machine: Machine) -> Limit | None:
    """Returns the peak of arithmetic if all processors of one machine work."""
    if metric != "flops" or count_workers(result) != len(machine.cpus) or machine.hosts:
        return None
    return machine.limits.get("flops")


def make_figures(code: Code) -> Callable[[tuple[Result, ...], Machine], tuple[Figure, ...]]:
    """Returns the function of the figures: speed of each thread or rank, and of all. Lines: model and load of the nodes."""
    title = f"NPB {code.kernel.upper()}"

    def figures(results: tuple[Result, ...], machine: Machine) -> tuple[Figure, ...]:
        measured = tuple(r for r in results if "rate" in r.metrics)  # classes that are too small have no speed
        parts = _split_by_figure(measured)
        figures_of_each = [_draw_each_worker(code, f"{title}{words}", name, part) for name, words, part in parts]
        # The last part holds every model.
        return (*figures_of_each, _draw_all_workers(code, f"{title}{parts[-1][1]}", parts[-1][2])) if measured else ()

    return figures


def _split_by_figure(results: tuple[Result, ...]) -> list[tuple[str, str, tuple[Result, ...]]]:
    """Returns (name, words, results) for each figure: one for all results.

    If several models ran with several loads of the nodes: one for each such model, then one for all models on full nodes.
    """
    loads = {
        model: {r.parameters["ranks_per_node"] for r in results if _is(r, model) and "ranks_per_node" in r.parameters}
        for model in PARALLEL
    }
    several = [model for model in PARALLEL if len(loads[model]) > 1]
    if len(several) < 2:
        return [("", "", results)]
    parts = [
        (f"-{model}", f" with {find_words('model', model)}", tuple(r for r in results if _is(r, model)))
        for model in several
    ]
    full = max(int(load) for model in PARALLEL for load in loads[model])
    most = tuple(r for r in results if int(r.parameters.get("ranks_per_node", full)) == full)
    return [*parts, ("", f", {full} on each node", most)]


def _is(result: Result, model: str) -> bool:
    return result.parameters.get("model") == model


def _draw_each_worker(code: Code, title: str, name: str, results: tuple[Result, ...]) -> Figure:
    """Draws the speed of each thread or rank, level if they share nothing."""
    over = _title_counts(results)
    one = " or ".join(word.removesuffix("s") for word in over.split(" or "))
    loads = any("ranks_per_node" in r.parameters for r in results)
    nodes = " For several nodes, the name of each line says how many cores are loaded on each node." if loads else ""
    return Figure(
        name=f"npb-{code.kernel}-each{name}",
        title=f"{title}: speed of each {one}",
        kind="lines",
        x=Axis(over, log=True),
        y=Axis(f"speed of each {one}", code.unit),
        series=_make_lines(results, "rate_each"),
        caption="If a line is level, the scaling is ideal. A line falls if the threads or ranks share a resource "
        f"such as the memory or a network.{nodes}{_name_counted(code)}",
    )


def _draw_all_workers(code: Code, title: str, results: tuple[Result, ...]) -> Figure:
    """Draws the speed of all together, on axes on which ideal scaling is a straight line."""
    return Figure(
        name=f"npb-{code.kernel}-all",
        title=f"{title}: speed of all together",
        kind="lines",
        x=Axis(_title_counts(results), log=True),
        y=Axis("speed", code.unit, log=True),
        series=_make_lines(results, "rate"),
        caption="Both axes are logarithmic. If a line stays as steep as at its start, the scaling is ideal. The "
        "speed uses NPB's count of operations. Compare it with the Mop/s of other systems, not with "
        f"flop/s.{_name_counted(code)}",
    )


def _name_counted(code: Code) -> str:
    return f" {code.counted}" if code.counted else ""


def _title_counts(results: tuple[Result, ...]) -> str:
    """Returns the title of the horizontal axis: threads, ranks or both."""
    parallel = {r.parameters.get("model") in PARALLEL for r in results}
    return "threads or ranks" if len(parallel) > 1 else "ranks" if True in parallel else "threads"


def _make_lines(results: tuple[Result, ...], metric: str) -> tuple[Series, ...]:
    """Returns a line for each model and each combination of the other differing parameters, which name the line."""
    measured = [r for r in results if metric in r.metrics]
    varying = [n for n in ("class", "toolchain") if len({r.parameters.get(n) for r in measured}) > 1]
    lines: list[Series] = []
    for model in MODELS:
        of_model = [r for r in measured if r.parameters.get("model") == model]
        counted = "ranks" if model in PARALLEL else "threads"
        others = dict.fromkeys(n for r in of_model for n in r.parameters if n not in (counted, *HIDDEN, *varying))
        names = [
            n for n in others if n == "ranks_per_node" or len({r.parameters.get(n) for r in of_model}) > 1
        ] + varying
        groups: dict[tuple[Scalar | None, ...], list[Result]] = {}
        for result in of_model:
            groups.setdefault(tuple(result.parameters.get(n) for n in names), []).append(result)
        for key, members in sorted(groups.items(), key=lambda item: [_rank(value) for value in item[0]]):
            words = ", ".join(
                [
                    str(find_words("model", model)),
                    *(phrase(n, v) for n, v in zip(names, key, strict=True) if v is not None),
                ]
            )
            lines += against(counted, metric, members, label=words)
    return tuple(lines)


def _rank(value: Scalar | None) -> tuple[bool, float, str]:
    """Returns a sort key: numbers first, then classes in their order, then other words."""
    if isinstance(value, int | float):
        return (False, float(value), "")
    return (True, float(CLASSES.index(value)) if value in CLASSES else 0.0, str(value))
