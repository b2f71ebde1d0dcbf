"""The axes of a benchmark made into a sweep over threads, ranks or nodes, which is then an ordinary run. Pure."""

import contextlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import get_args

from steelyard import numbers
from steelyard.errors import UsageError, nearest
from steelyard.model import Axes, Benchmark, Effort, Machine, Scalar
from steelyard.plan import EFFORTS, Settings, Shape, catalogue
from steelyard.statistics.results.sweeps import WITHOUT, Over

OVERS: tuple[Over, ...] = get_args(Over)
ALL_VALUES = ("kernel", "model")  # axes of which every value is a line; of all others one is taken
CHOICES = (*ALL_VALUES, "mode")  # by which the blocks of a benchmark are distinguished
GREATEST = ("class",)  # of these, and of sizes, the last value: the greatest problem that the preset has


@dataclass(frozen=True)
class Wanted:
    """What shall be swept: over one of `OVERS` (None: threads and ranks, as far as there are both), which counts (none: those
    that suit the machine), the same work for all or (`weak`) work that grows."""

    benchmark: str
    over: Over | None
    counts: tuple[int, ...]
    weak: bool


def wanted(name: str, over: str | None, counts: str | None, weak: bool, paths: Iterable[Path]) -> Wanted:
    """The words of the command line, understood. UsageError for an unknown benchmark, what cannot be swept, bad counts."""
    known = [n for n in catalogue.find(paths) if not n.startswith(WITHOUT)]
    if name.startswith(WITHOUT):
        raise UsageError(
            f"The benchmark '{name}' does not scale: its messages have a partner, or its noise a quantum for each processor, and "
            f"no work is shared out. Those that do: {', '.join(known)}."
        )
    if name not in known:
        raise UsageError(f"There is no benchmark '{name}'. {nearest(name, known)}")
    if over is not None and over not in OVERS:
        raise UsageError(f"Nothing can be swept over '{over}' (given by --over). {nearest(over, OVERS)}")
    if weak and over == "ranks_per_node":
        raise UsageError(
            "--weak is not possible over ranks_per_node: sweep over ranks, whose work then grows with them."
        )
    chosen = next((o for o in OVERS if o == over), None)
    return Wanted(name, chosen, _counts(counts) if counts is not None else (), weak)


def _counts(words: str) -> tuple[int, ...]:
    found = {numbers.whole(word, f"in --counts {words}") for word in words.split(",")}
    if len(found) < 2:
        raise UsageError(f"--counts {words}: scaling compares at least two different counts, as in --counts 1,2,4")
    return tuple(sorted(found))


def shape(asked: Wanted, paths: Sequence[Path] = ()) -> Shape:
    """Changes the plan of an ordinary run into that of a sweep: the benchmark with other axes, and the remaining settings."""

    def shaped(
        chosen: Mapping[str, Benchmark], machine: Machine, effort: Effort, settings: Settings
    ) -> tuple[Mapping[str, Benchmark], Settings]:
        benchmark = chosen[asked.benchmark]
        blocks = _blocks(benchmark, asked, machine, effort, settings, paths)
        # What is set in the blocks already must not be set again for all of them alike.
        done = {block.weak for block in blocks} if asked.weak else set()
        done |= {"ranks_per_node"} if asked.over == "nodes" else set()
        rest = {name: values for name, values in settings.items() if name not in done}
        return {asked.benchmark: replace(benchmark, axes=lambda machine, effort: blocks)}, rest

    return shaped


def _blocks(
    benchmark: Benchmark, asked: Wanted, machine: Machine, effort: Effort, settings: Settings, paths: Sequence[Path]
) -> tuple[Axes, ...]:
    every = [b for b in benchmark.axes(machine, effort) if not b.when or b.when in settings]
    declared = [b for b in every if _agrees(b, settings)]
    if not declared:
        raise UsageError(_unknown(benchmark, every, settings))
    usual = [b for b in benchmark.axes(machine, EFFORTS["standard"]) if _agrees(b, settings)]
    made: list[Axes] = []
    overs: tuple[Over, ...] = (asked.over,) if asked.over else ("threads", "ranks")
    for over in overs:
        axis = "threads" if over == "threads" else "ranks"
        fixed = next((n for n in (axis, over) if n in settings), None)
        if fixed and asked.over:
            raise UsageError(
                f"--set {fixed}= is what is swept over {over}: name the counts with --counts {_listed(settings[fixed])}"
            )
        if fixed:
            continue
        for block in _chosen(declared, axis):
            alike = [b for b in usual if axis in b.values and _key(b) == _key(block)]
            made += _swept(block, alike, Wanted(asked.benchmark, over, asked.counts, asked.weak), machine, settings)
    if not made:
        raise UsageError(_nothing(benchmark, asked, declared, machine))
    if asked.weak and (lost := [b for b in made if b.weak is None]):
        if len(lost) == len(made):
            raise UsageError(
                f"The benchmark {benchmark.name} has no size to which its work is in proportion: weak scaling (--weak) is not "
                f"defined for it. Those that have one: {', '.join(growing(machine, paths))}."
            )
        made = [b for b in made if b.weak is not None]
    return tuple(made)


def growing(machine: Machine, paths: Iterable[Path] = ()) -> list[str]:
    """The benchmarks that can be scaled weakly: whose axes name the size that grows."""
    found = []
    for name, benchmark in catalogue.find(paths).items():
        with contextlib.suppress(UsageError):  # a benchmark that this machine cannot run
            if any(b.weak is not None for b in benchmark.axes(machine, EFFORTS["quick"])):
                found.append(name)
    return found


def _nothing(benchmark: Benchmark, asked: Wanted, blocks: Sequence[Axes], machine: Machine) -> str:
    if asked.over == "nodes" and len(machine.hosts) < 2:
        return "There is one node: a sweep over nodes needs two or more, named with --hosts a:4,b:4"
    axes = {"threads": ("threads",), None: ("threads", "ranks")}.get(asked.over, ("ranks",))
    if any(axis in block.values for axis in axes for block in blocks):
        return (
            f"Nothing is left to sweep {benchmark.name} over: --set gives the number itself, or there is one processor. Name "
            "counts with --counts 1,2,4 instead (more ranks than processors are possible, but no law rests on them)."
        )
    names = dict.fromkeys(name for block in blocks for name in block.values)
    return (
        f"The benchmark {benchmark.name} cannot be swept: with these settings its cases have no {' and no '.join(axes)}. "
        f"Its parameters are {', '.join(names)}."
    )


def _unknown(benchmark: Benchmark, blocks: Sequence[Axes], settings: Settings) -> str:
    """Which of the chosen values no block of the benchmark has."""
    for name in (n for n in CHOICES if n in settings):
        known = {str(v) for block in blocks for v in block.values.get(name, ())}
        for value in settings[name]:
            if str(value) not in known:
                return (
                    f"{benchmark.name} has no {name} '{value}' (given by --set {name}=). {nearest(str(value), known)}"
                )
    asked = ", ".join(f"{name}={_listed(settings[name])}" for name in CHOICES if name in settings)
    return f"{benchmark.name} has no case with {asked} together."


def _agrees(block: Axes, settings: Settings) -> bool:
    """Whether the block has one of the kernels, models and modes that were asked for."""
    names = [n for n in CHOICES if n in settings and n in block.values]
    return all(set(map(str, block.values[n])) & set(map(str, settings[n])) for n in names)


def _key(block: Axes) -> tuple[frozenset[Scalar], ...]:
    return tuple(frozenset(block.values.get(n, ())) for n in CHOICES)


def _chosen(blocks: Sequence[Axes], axis: str) -> list[Axes]:
    """Returns the block with the most counts of each kernel, model and mode; if equal, the one with the greatest counts."""
    having = [b for b in blocks if axis in b.values]
    # Threads beside an OpenCL device stand aside where there are threads alone.
    having = [b for b in having if "device" not in b.values] or having
    best: dict[tuple[frozenset[Scalar], ...], Axes] = {}
    for block in having:
        if _rank(block, axis) > _rank(best.get(_key(block)), axis):
            best[_key(block)] = block
    # A kernel that a block names with others needs none of its own.
    return [b for b in best.values() if not any(_within(b, other) for other in best.values())]


def _within(block: Axes, other: Axes) -> bool:
    return all(a <= b for a, b in zip(_key(block), _key(other), strict=True)) and _key(block) != _key(other)


def _rank(block: Axes | None, axis: str) -> tuple[int, int]:
    if block is None:
        return (0, 0)
    return len(block.values[axis]), max(int(v) for v in block.values[axis])


def _swept(block: Axes, usual: Sequence[Axes], asked: Wanted, machine: Machine, settings: Settings) -> list[Axes]:
    """A block for each count, with one value of each other axis; none where there is one count alone."""
    sizes = (*GREATEST, block.weak or "elements")
    values: dict[str, tuple[Scalar, ...]] = {}
    for name, declared in block.values.items():
        if name in ALL_VALUES:
            values[name] = declared
        elif name in settings:  # it replaces the values anyway; a size that shall grow must be known here
            values[name] = tuple(settings[name])
        else:
            values[name] = declared[-1:] if name in sizes else declared[:1]
    made = []
    for count, point in _points(values, usual, asked, machine, settings):
        own: dict[str, tuple[Scalar, ...]] = {name: (value,) for name, value in point.items()}
        if asked.weak and block.weak:
            least = values.get(block.weak) or settings.get(
                block.weak, (1,)
            )  # one that is not declared counts times a class
            own[block.weak] = tuple(_times(block.weak, v, count) for v in least)
        made.append(replace(block, values={**values, **own}))
    return made if len(made) > 1 else []


def _times(name: str, size: Scalar, count: int) -> int:
    if isinstance(size, bool) or not isinstance(size, int) or size < 1:
        raise UsageError(
            f"--set {name}={size}: weak scaling multiplies it by the count; expected a whole number from 1."
        )
    return size * count


def _points(
    values: dict[str, tuple[Scalar, ...]], usual: Sequence[Axes], asked: Wanted, machine: Machine, settings: Settings
) -> list[tuple[int, dict[str, Scalar]]]:
    """Each count with the parameters that make it; `values` loses what these replace."""
    hosts = machine.hosts
    if asked.over in ("threads", "ranks") or not hosts:
        if asked.over == "nodes":
            return []
        axis = "threads" if asked.over == "threads" else "ranks"
        if "ranks_per_node" not in settings:
            values.pop("ranks_per_node", None)
        counts = asked.counts or sorted({1, *(int(v) for b in usual for v in b.values[axis])})
        return [(count, {axis: count}) for count in counts]
    slots = min(host.slots for host in hosts)
    loads = sorted({int(v) for b in usual for v in b.values.get("ranks_per_node", ())}) or list(doubled(slots))
    if asked.over == "ranks_per_node":
        loads = (
            loads if len(loads) > 1 else list(doubled(slots))
        )  # one load is no sweep: it was declared for another purpose
        return [(c, {"ranks": c * len(hosts), "ranks_per_node": c}) for c in asked.counts or sorted({1, *loads})]
    given = [int(v) for v in settings.get("ranks_per_node", loads[-1:])]
    counts = asked.counts or doubled(len(hosts))
    return [(c, {"ranks": c * load, "ranks_per_node": load}) for load in given for c in counts]


def doubled(most: int) -> tuple[int, ...]:
    """1, 2, 4 … and `most`."""
    return tuple(sorted({*(1 << k for k in range(most.bit_length())), most}))


def _listed(values: Iterable[Scalar]) -> str:
    return ",".join(map(str, values))
