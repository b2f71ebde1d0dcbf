"""What the NAS Parallel Benchmarks share: classes, programming models, cores loaded, metrics and figures."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from steelyard.benchmarks.axes import thread_counts, with_openmp
from steelyard.benchmarks.figures import against
from steelyard.model import Axes, Effort, Limit, Machine, Metric, Parameters, Record, Result, Sampling, Scalar
from steelyard.model.figure import Axis, Figure, Series
from steelyard.statistics.results.applications import CLASSES, MODELS, PARALLEL, TOO_SMALL, phrase
from steelyard.words import said

MEMORY_SHARE = 0.5  # of the machine's memory: what a class may need to be planned without being asked for
HIDDEN = ("kernel", "model", "start")  # parameters that tell no line of a figure from another
# Of a quick run in each of its two launches: with fewer than six samples in all no interval can be stated.
QUICK_SAMPLES, QUICK_SECONDS = 3, 0.2


@dataclass(frozen=True, kw_only=True)
class Code:
    """One of the benchmarks: what its axes and figures must know of it. `seconds` are rough, of one core's timed region."""

    kernel: str  # "cg"
    models: tuple[str, ...]
    seconds: Mapping[str, float]  # by class
    memory: Mapping[str, float]  # by class, B
    quick: str  # the class of a quick run …
    usual: str  # … of a standard one; a full one goes to the next
    unit: str = "op/s"  # of its speed: what NPB calls Mop/s counts other things in each of them
    counted: str = ""  # a sentence where far fewer operations are carried out than NPB counts
    usable: Callable[[int], bool] = lambda ranks: ranks & (ranks - 1) == 0  # whether its decomposition can
    grows: bool = False  # whether a problem can be so many times a class: `scale`, which weak scaling sets


def axes_of(code: Code) -> Callable[[Machine, Effort], tuple[Axes, ...]]:
    """A block for each model and each number of cores loaded per node."""

    def axes(machine: Machine, effort: Effort) -> tuple[Axes, ...]:
        def expected(point: Parameters) -> tuple[Sampling, float]:
            return _expected(code, point, machine, effort)

        common: dict[str, tuple[Scalar, ...]] = {
            "kernel": (code.kernel,),
            "class": _classes(code, machine, effort),
            "phases": ("off",),
        }
        blocks = []
        for model in code.models:
            for workers in loads(model in PARALLEL, code.usable, machine, effort):
                values = {**common, "model": (model,), **workers}
                choices: dict[str, tuple[Scalar, ...]] = {"class": CLASSES, "phases": ("off", "on")}
                block = Axes(values, expected=expected, choices=choices, weak="scale" if code.grows else None)
                blocks += with_openmp(block) if model == "threads" else [block]
        return tuple(blocks)

    return axes


def _classes(code: Code, machine: Machine, effort: Effort) -> tuple[str, ...]:
    wanted = {"quick": (code.quick,), "standard": (code.usual,)}.get(
        effort.name, (code.usual, CLASSES[min(CLASSES.index(code.usual) + 1, len(CLASSES) - 1)])
    )
    most = MEMORY_SHARE * machine.memory
    return tuple(c for c in wanted if code.memory[c] <= most) or wanted[:1]


def loads(
    parallel: bool, usable: Callable[[int], bool], machine: Machine, effort: Effort
) -> list[dict[str, tuple[Scalar, ...]]]:
    """Threads of one node; or ranks, over hosts a block for each number of cores that are loaded on every host."""
    quick = effort.name == "quick"
    if not parallel:
        counts = thread_counts(machine)
        return [{"threads": counts[-1:] if quick else counts, "pinning": ("compact",)}]
    if not machine.hosts:
        possible = tuple(n for n in thread_counts(machine) if usable(n))
        return [{"ranks": possible[-1:] if quick else possible, "placement": ("compact",)}]
    each = [n for n in _doubled(min(h.slots for h in machine.hosts)) if usable(n)]
    blocks: list[dict[str, tuple[Scalar, ...]]] = []
    for load in each[-1:] if quick else each:
        ranks = tuple(load * nodes for nodes in _doubled(len(machine.hosts)) if usable(load * nodes))
        blocks.append({"ranks": ranks[-1:] if quick else ranks, "ranks_per_node": (load,), "placement": ("compact",)})
    return blocks


def _doubled(most: int) -> tuple[int, ...]:
    """1, 2, 4 … and `most`."""
    return tuple(sorted({*(1 << k for k in range(most.bit_length()) if 1 << k <= most), most}))


def _expected(code: Code, point: Parameters, machine: Machine, effort: Effort) -> tuple[Sampling, float]:
    """The sampling of a case, and what it takes besides: setting up, NPB's untimed start, verification."""
    one = code.seconds.get(str(point["class"]), 1.0) * int(point.get("scale", 1))
    cores = max(1, len(machine.cpus)) * max(1, len(machine.hosts))
    each = one / min(workers_in(point), cores)
    if effort.name == "quick":
        seconds = max(QUICK_SECONDS, QUICK_SAMPLES * each)
        return Sampling(effort.sampling.width, seconds, QUICK_SAMPLES, 5), 1.2 * each + 0.2
    return Sampling(effort.sampling.width, max(1.0, 2.5 * each), 2, 30), each + 0.2


def workers_in(point: Parameters) -> int:
    """Threads or ranks that carry a case out, or the threads of all ranks."""
    return int(point.get("ranks", 1)) * int(point.get("threads", 1))


def workers(record: Record | Result) -> int:
    """Those that carried it out."""
    return workers_in(record.parameters)


def large_enough(record: Record) -> bool:
    """Whether its class lasts long enough for a speed."""
    return record.parameters.get("class") not in TOO_SMALL


def metrics_of(code: Code) -> tuple[Metric, ...]:
    """NPB's speed in all and of each thread or rank, the time of the timed region, and flop/s where they are counted."""

    def rate(seconds: float, record: Record) -> float | None:
        return record.work["operations"] / seconds if large_enough(record) else None

    def each(seconds: float, record: Record) -> float | None:
        return record.work["operations"] / seconds / workers(record) if large_enough(record) else None

    def flops(seconds: float, record: Record) -> float | None:
        return record.work["flops"] / seconds if large_enough(record) and record.work.get("flops") else None

    return (
        Metric("rate", code.unit, "higher", "speed as NPB counts", rate),
        Metric("rate_each", code.unit, "higher", "speed of each thread or rank", each),
        Metric("time", "s", "lower", "time of the timed region", lambda seconds, record: seconds),
        Metric("flops", "flop/s", "higher", "speed by floating-point operations", flops),
    )


def limit(metric: str, result: Result, machine: Machine) -> Limit | None:
    """The peak of arithmetic, where all processors of the machine work."""
    if metric != "flops" or workers(result) != len(machine.cpus) or machine.hosts:
        return None
    return machine.limits.get("flops")


def figures_of(code: Code) -> Callable[[tuple[Result, ...], Machine], tuple[Figure, ...]]:
    """The speed of each thread or rank, and of all, against their number: a line for each model and load of the nodes."""
    title = f"NPB {code.kernel.upper()}"

    def figures(results: tuple[Result, ...], machine: Machine) -> tuple[Figure, ...]:
        measured = tuple(r for r in results if "rate" in r.metrics)  # not the classes that are too small for a speed
        parts = _parts(measured)
        made = [_each(code, f"{title}{words}", name, part) for name, words, part in parts]
        # Of the parts the last one holds every model.
        return (*made, _all(code, f"{title}{parts[-1][1]}", parts[-1][2])) if measured else ()

    return figures


def _parts(results: tuple[Result, ...]) -> list[tuple[str, str, tuple[Result, ...]]]:
    """(name, words, results) of what is drawn together: all; where several models ran with several loads of the nodes, each of
    these, and at last all models with the nodes fully loaded."""
    loads = {
        model: {r.parameters["ranks_per_node"] for r in results if _is(r, model) and "ranks_per_node" in r.parameters}
        for model in PARALLEL
    }
    several = [model for model in PARALLEL if len(loads[model]) > 1]
    if len(several) < 2:
        return [("", "", results)]
    parts = [
        (f"-{model}", f" with {said('model', model)}", tuple(r for r in results if _is(r, model))) for model in several
    ]
    full = max(int(load) for model in PARALLEL for load in loads[model])
    most = tuple(r for r in results if int(r.parameters.get("ranks_per_node", full)) == full)
    return [*parts, ("", f", {full} on each node", most)]


def _is(result: Result, model: str) -> bool:
    return result.parameters.get("model") == model


def _each(code: Code, title: str, name: str, results: tuple[Result, ...]) -> Figure:
    """The speed of each thread or rank: level where they share nothing."""
    over = _counted(results)
    one = " or ".join(word.removesuffix("s") for word in over.split(" or "))
    loads = any("ranks_per_node" in r.parameters for r in results)
    reported = " Each line of several nodes is named by how many cores it loads on each of them." if loads else ""
    return Figure(
        name=f"npb-{code.kernel}-each{name}",
        title=f"{title}: speed of each {one}",
        kind="lines",
        x=Axis(over, log=True),
        y=Axis(f"speed of each {one}", code.unit),
        series=_lines(results, "rate_each"),
        caption="Level where all work as if they were alone. A line that falls: they share something, as memory or a "
        f"network.{reported}{_counted_by(code)}",
    )


def _all(code: Code, title: str, results: tuple[Result, ...]) -> Figure:
    """The speed of all together, on axes on which the ideal is a straight line."""
    return Figure(
        name=f"npb-{code.kernel}-all",
        title=f"{title}: speed of all together",
        kind="lines",
        x=Axis(_counted(results), log=True),
        y=Axis("speed", code.unit, log=True),
        series=_lines(results, "rate"),
        caption="Both axes count factors: where a line is as steep as at its start, nothing is lost. By NPB's own count of "
        f"operations, to be compared with other systems' Mop/s, not with flop/s.{_counted_by(code)}",
    )


def _counted_by(code: Code) -> str:
    return f" {code.counted}" if code.counted else ""


def _counted(results: tuple[Result, ...]) -> str:
    """What the horizontal axis counts: threads, ranks or both."""
    parallel = {r.parameters.get("model") in PARALLEL for r in results}
    return "threads or ranks" if len(parallel) > 1 else "ranks" if True in parallel else "threads"


def _lines(results: tuple[Result, ...], metric: str) -> tuple[Series, ...]:
    """A line for each model and all else that differs but the number of threads or ranks; named by what differs."""
    measured = [r for r in results if metric in r.metrics]
    varying = [n for n in ("class", "toolchain") if len({r.parameters.get(n) for r in measured}) > 1]
    found: list[Series] = []
    for model in MODELS:
        mine = [r for r in measured if r.parameters.get("model") == model]
        counted = "ranks" if model in PARALLEL else "threads"
        own = dict.fromkeys(n for r in mine for n in r.parameters if n not in (counted, *HIDDEN, *varying))
        names = [n for n in own if n == "ranks_per_node" or len({r.parameters.get(n) for r in mine}) > 1] + varying
        groups: dict[tuple[Scalar | None, ...], list[Result]] = {}
        for result in mine:
            groups.setdefault(tuple(result.parameters.get(n) for n in names), []).append(result)
        for key, members in sorted(groups.items(), key=lambda item: [_rank(value) for value in item[0]]):
            words = ", ".join(
                [str(said("model", model)), *(phrase(n, v) for n, v in zip(names, key, strict=True) if v is not None)]
            )
            found += against(counted, metric, members, label=words)
    return tuple(found)


def _rank(value: Scalar | None) -> tuple[bool, float, str]:
    """Classes in their order, numbers in theirs, then words."""
    if isinstance(value, int | float):
        return (False, float(value), "")
    return (True, float(CLASSES.index(value)) if value in CLASSES else 0.0, str(value))
