"""A run beside a published system: the published numbers, and the numbers of the run of the same kind."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from steelyard import published
from steelyard.benchmarks.memory.nodes import memory_nodes, placements
from steelyard.compare import clusters, published_power
from steelyard.model import Evaluation, Level, Result, Value
from steelyard.model.roles import Placed
from steelyard.published import SOURCES, Published
from steelyard.statistics.results import cases
from steelyard.statistics.results.benchmark_roles import playing
from steelyard.statistics.results.tolerance import results_at_point
from steelyard.statistics.validity import trust
from steelyard.units import percent, quantity

# Notes of the data that a reader needs to understand the number.
REMARKS = (
    "the text says 58 % slower than local; this table gives 54 %",
    "stated in the text on figure 7 and not read from its curves; a mean without an interval",
    "stated in the text on figure 7; the greatest of all kernels",
)

# Options of `steelyard run` that measure the counterpart of a published benchmark.
MEASURED_BY = {
    "stream": "--only memory.placement",
    "apexmap": "--only memory.apexmap",
    "flops": "--only cluster.flops",
    "pingpong": "--only network.pingpong",
    "transfer": "--only network.transfer",
    "nettest": "--only network.nettest",
    "power": "--only node --power",
    "comd": "--app examples/applications/comd.toml",
    "minife": "--app examples/applications/minife.toml",
}
THEORETICAL = "peak"  # the published benchmark whose numbers come from data sheets

# Published peaks, and the corresponding limits of a machine.
PEAKS = {"memory_bandwidth": "memory_bandwidth", "flops": "flops", "flops_dp": "flops"}


@dataclass(frozen=True, kw_only=True)
class Line:
    """A published number (in the SI `unit`) and ours with its verdict. `ratio` is ours / published, or None without ours."""

    benchmark: str
    metric: str
    conditions: str
    published: float
    unit: str
    ours: Value | None
    ratio: float | None
    level: Level
    remark: str = ""  # a condition in which ours differs from theirs


@dataclass(frozen=True)
class Beside:
    """The numbers of a published system with those of a run."""

    run: str
    system: str
    lines: tuple[Line, ...]
    notes: tuple[str, ...]


def find(name: str) -> str | None:
    """Returns the published system of that name, or the only one whose name contains it, else None."""
    wanted = name.casefold()
    whole = [s for s in published.systems() if s.casefold() == wanted]
    part = [s for s in published.systems() if wanted and wanted in s.casefold()]
    return whole[0] if whole else part[0] if len(part) == 1 else None


def compare(evaluation: Evaluation, system: str) -> Beside:
    """Returns all published numbers of `system` in their order, with those of the run."""
    entries = [entry for entry in published.shipped() if entry.system == system]
    sources = dict.fromkeys(SOURCES.get(entry.source, entry.source) for entry in entries)
    notes = [f"Published in: {source}." for source in sources]
    notes.append(
        "Published numbers have no samples, so the certainty of a difference is unknown. They were measured "
        "with other programs and compilers."
    )
    remarked = dict.fromkeys(f"{_called(entry)}: {entry.note}." for entry in entries if entry.note in REMARKS)
    notes += remarked
    lines = tuple(_line(evaluation, entry) for entry in entries)
    remarks = dict.fromkeys(f"{line.benchmark}: this run measured {line.remark}." for line in lines if line.remark)
    if any(line.benchmark == THEORETICAL and line.ours for line in lines):
        notes.append(
            "A theoretical peak is calculated from the data sheet of the processor. It was not measured on either system."
        )
    return Beside(evaluation.run.id, system, lines, (*notes, *remarks, *_missing(lines)))


def _missing(lines: Sequence[Line]) -> Iterable[str]:
    """Yields the command that measures the missing results."""
    lacking = dict.fromkeys(line.benchmark for line in lines if line.ours is None)
    options = [MEASURED_BY[name] for name in lacking if name in MEASURED_BY]
    if options:
        names = " and ".join(name for name in lacking if name in MEASURED_BY)
        yield f"The results of {names} are missing in this run. To measure them: steelyard run {' '.join(options)}"


def _line(evaluation: Evaluation, entry: Published) -> Line:
    ours, level, remark = _ours(evaluation, entry)
    if ours is not None and ours.unit != entry.unit:
        ours = None
    texts = [f"{k} {str(v).replace('_', ' ')}" for k, v in entry.parameters.items() if k not in published.BESIDE]
    if limit := published.theoretical(entry):
        texts.append(f"limit {quantity(limit, entry.unit)}, {percent(entry.value / limit)} reached")
    ratio = ours.value / entry.value if ours and entry.value else None
    conditions, remark = ", ".join(texts), remark if ours else ""
    metric = f"theoretical_{entry.metric}" if entry.benchmark == THEORETICAL else entry.metric
    return Line(
        benchmark=entry.benchmark,
        metric=metric,
        conditions=conditions,
        published=entry.value,
        unit=entry.unit,
        ours=ours,
        ratio=ratio,
        level=level,
        remark=remark,
    )


def _called(entry: Published) -> str:
    where = entry.parameters.get("placement", "")
    return f"{entry.benchmark} {entry.metric}".replace("_", " ") + (f", {where}".replace("_", " ") if where else "")


def _ours(evaluation: Evaluation, entry: Published) -> tuple[Value | None, Level, str]:
    if entry.benchmark == THEORETICAL:
        return _peak(evaluation, entry), "CLEAN", ""
    if (entry.benchmark, entry.metric) == ("stream", "triad_bandwidth"):
        return *_best(_triad(evaluation, str(entry.parameters.get("placement", ""))), "bandwidth"), ""
    if (entry.benchmark, entry.metric) == ("apexmap", "cycles_per_access"):
        return *_best(_corner(evaluation, entry), "cost"), ""
    if entry.benchmark == published_power.PRINTED:
        drawn = published_power.find_ours(evaluation, entry)
        return drawn.value, drawn.level, drawn.remark
    return _of_cluster(evaluation, entry)


def _peak(evaluation: Evaluation, entry: Published) -> Value | None:
    """Returns the limit of this machine's processors. The limit of a device is unknown."""
    limit = evaluation.run.machine.limits.get(PEAKS.get(entry.metric, ""))
    if limit is None or entry.parameters.get("unit") == "gpu":
        return None
    return Value(limit.value, limit.unit, None, None, "higher")


def _of_cluster(evaluation: Evaluation, entry: Published) -> tuple[Value | None, Level, str]:
    ours = clusters.find_ours(evaluation, entry)
    if ours is None:
        return None, "CLEAN", ""
    if ours.value is not None:
        return ours.value, cases.doubt(*ours.results), ours.remark
    return *_best(ours.results, ours.metric), ours.remark


def _triad(evaluation: Evaluation, placement: str) -> list[Result]:
    """Returns results of Triad in one of the five placements. The full system may also be one without a placement."""
    whole = [(name, role.kernel) for name, role in playing(evaluation, Placed) if role.whole]
    placed = [r for name, kernel in whole for r in cases.of(evaluation.results, name, kernel)]
    same_name = [p for p in placements(evaluation.run.machine) if p.name == placement]
    matching = [r for p in same_name for r in cases.where(placed, pinning=p.pinning, memory_policy=p.memory_policy)]
    if matching or placement not in ("", "full_system"):
        return matching
    triad = cases.select_greatest(cases.usable(clusters.find_alike(evaluation, "stream")), "elements")
    return [
        r
        for r in cases.where(triad, page_size="default", pinning="compact")
        if cases.number(r, "threads") == len(evaluation.run.machine.cpus)
    ]


def _corner(evaluation: Evaluation, entry: Published) -> list[Result]:
    corner = results_at_point(evaluation, str(entry.parameters.get("point", "")))
    wanted = entry.parameters.get("threads", 1)
    results = [r for r in corner if cases.number(r, "threads") == wanted and cases.number(r, "accumulators") == 1]
    # "All sockets" interleaved the memory; a machine with one node has only its own.
    several = entry.parameters.get("memory") == "all_sockets" and len(memory_nodes(evaluation.run.machine)) > 1
    return cases.where(results, page_size="default", memory_policy="interleave" if several else "local")


def _best(results: Sequence[Result], metric: str) -> tuple[Value | None, Level]:
    """Returns the best value of the most trusted results, and their verdict."""
    used = trust.most_trusted([r for r in results if metric in r.metrics])
    values: Iterable[Value] = (r.metrics[metric] for r in used)
    best = max(values, key=lambda v: -v.value if v.better == "lower" else v.value, default=None)
    return best, cases.doubt(*used)
