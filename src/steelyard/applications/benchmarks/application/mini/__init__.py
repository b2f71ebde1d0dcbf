"""Common parts of the mini-applications that advance a problem step by step: axes, metrics and figures."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace

from steelyard.applications.benchmarks.application import npb
from steelyard.measure.benchmarks.axes import with_openmp
from steelyard.measure.benchmarks.figures import against
from steelyard.model import Axes, Effort, Machine, Metric, Parameters, Record, Result, Sampling, Scalar
from steelyard.model.figure import Axis, Figure, Series

PARALLEL = ("mpi",)
MODELS = {"threads": "threads", "openmp": "OpenMP", "mpi": "MPI"}


@dataclass(frozen=True, kw_only=True)
class Code:
    """Properties of one program. A step of a single element of the problem is the unit of its work."""

    title: str
    kernel: str
    element: str  # "particle"; its plural is the parameter of the size
    sizes: Mapping[str, tuple[int, ...]]  # by effort
    steps: int
    work: str  # name of the work in the record
    speed: float  # steps of single elements a second of one core: rough, for the planned time
    memory: int  # B for an element
    around: float  # set-up and check: this share of a run on one core, and as many seconds
    bounds: Mapping[str, tuple[float, float]]
    usable: Callable[[int, int], bool]  # whether so many ranks can share so many elements
    further: Mapping[str, tuple[Scalar, ...]] = field(default_factory=dict)  # parameters besides size and steps
    rate: str  # title of the speed
    falls: str  # why the speed of each may fall, for the caption

    @property
    def size(self) -> str:
        """Returns the parameter of the size."""
        return f"{self.element}s"

    @property
    def unit(self) -> str:
        """Returns the unit of the speed."""
        return f"{self.element}-step/s"


def make_axes(code: Code) -> Callable[[Machine, Effort], tuple[Axes, ...]]:
    """Returns the function of the axes: a block for each model and each number of loaded cores per node."""

    def axes(machine: Machine, effort: Effort) -> tuple[Axes, ...]:
        every = code.sizes.get(effort.name, code.sizes["standard"])
        sizes = tuple(n for n in every if n * code.memory <= npb.MEMORY_SHARE * machine.memory) or every[:1]

        def expected(point: Parameters) -> tuple[Sampling, float]:
            return _estimate_start(code, point, machine, effort)

        common: dict[str, tuple[Scalar, ...]] = {"kernel": (code.kernel,), code.size: sizes, "steps": (code.steps,)}
        blocks = []
        for model in ("threads", "mpi"):
            for workers in npb.loads(model in PARALLEL, lambda ranks: code.usable(sizes[0], ranks), machine, effort):
                values = {**common, **code.further, "model": (model,), **workers}
                block = Axes(values, expected=expected, bounds=dict(code.bounds), weak=code.size)
                blocks += with_openmp(block) if model == "threads" else [replace(block, further=("threads",))]
        return tuple(blocks)

    return axes


def _estimate_start(code: Code, point: Parameters, machine: Machine, effort: Effort) -> tuple[Sampling, float]:
    """Returns the sampling of a case and the seconds of set-up and check."""
    one = float(point[code.size]) * float(point.get("steps", code.steps)) / code.speed
    seconds = one / min(npb.count_threads(point), npb.count_cores(machine))
    least, most = (3, 5) if effort.name == "quick" else (2, 30)
    wanted = max(0.2, 3 * seconds) if effort.name == "quick" else max(1.0, 2.5 * seconds)
    return Sampling(effort.sampling.width, wanted, least, most), code.around * one + code.around


def make_metrics(code: Code) -> tuple[Metric, ...]:
    """Returns the speed of all, the speed of each thread or rank, the time, and the executed flop/s."""

    def rate(seconds: float, record: Record) -> float:
        return record.work[code.work] / seconds

    return (
        Metric("rate", code.unit, "higher", code.rate, rate),
        Metric(
            "rate_each",
            code.unit,
            "higher",
            "speed of each thread or rank",
            lambda seconds, record: rate(seconds, record) / npb.count_workers(record),
        ),
        Metric("time", "s", "lower", "time of all steps", lambda seconds, record: seconds),
        Metric(
            "flops",
            "flop/s",
            "higher",
            "speed by floating-point operations",
            lambda seconds, record: record.work["flops"] / seconds,
        ),
    )


def make_figures(code: Code) -> Callable[[tuple[Result, ...], Machine], tuple[Figure, ...]]:
    """Returns the function of the figures: speed of each thread or rank, and of all. Lines: model, size and load."""
    name = code.title.lower().replace(" ", "-")

    def figures(results: tuple[Result, ...], machine: Machine) -> tuple[Figure, ...]:
        of_each = Figure(
            name=f"{name}-each",
            title=f"{code.title}: speed of each thread or rank",
            kind="lines",
            x=Axis("threads or ranks", log=True),
            y=Axis("speed of each", code.unit),
            series=_make_lines(code, results, "rate_each"),
            caption=f"If a line is level, the scaling is ideal. {code.falls}",
        )
        together = Figure(
            name=f"{name}-all",
            title=f"{code.title}: speed of all together",
            kind="lines",
            x=Axis("threads or ranks", log=True),
            y=Axis("speed", code.unit, log=True),
            series=_make_lines(code, results, "rate"),
            caption="Both axes are logarithmic. If a line stays as steep as at its start, the scaling is ideal.",
        )
        return of_each, together

    return figures


def _make_lines(code: Code, results: tuple[Result, ...], metric: str) -> tuple[Series, ...]:
    series: list[Series] = []
    for model, words in MODELS.items():
        of_model = [r for r in results if r.parameters.get("model") == model]
        over, other = ("ranks", "threads") if model in PARALLEL else ("threads", "ranks_per_node")
        names = (code.size, "ranks_per_node", "steps", *code.further, "wait_policy", "toolchain", other)
        lines = against(over, metric, of_model, names=tuple(dict.fromkeys(names)), label=words)
        series += [line if line.name == words else replace(line, name=f"{words}, {line.name}") for line in lines]
    return tuple(series)
