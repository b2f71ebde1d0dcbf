"""Changes the axes of a benchmark into a sweep over threads, ranks or nodes, which is an ordinary run. Pure."""

import contextlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import get_args

from steelyard.errors import UsageError, nearest
from steelyard.measure.plan import EFFORTS, Shape, catalogue
from steelyard.measure.plan.possible import Settings, expected, refusal
from steelyard.model import Axes, Benchmark, Effort, Machine, Scalar, numbers
from steelyard.statistics.results.sweeps import WITHOUT, Over

OVERS: tuple[Over, ...] = get_args(Over)
ALL_VALUES = ("kernel", "model")  # axes whose values are all swept; all other axes keep one value
CHOICES = (*ALL_VALUES, "mode")  # axes that distinguish the blocks of a benchmark
GREATEST = ("class",)  # these axes, and sizes, keep the last value: the largest problem of the preset


@dataclass(frozen=True)
class Wanted:
    """A request for a sweep. `over` is one of `OVERS` (None: threads and ranks, if the benchmark has them); `counts` is empty
    for the counts that suit the machine; `weak`: the work grows with the count."""

    benchmark: str
    over: Over | None
    counts: tuple[int, ...]
    weak: bool


def wanted(name: str, over: str | None, counts: str | None, weak: bool, paths: Iterable[Path]) -> Wanted:
    """Reads the options of the command line. UsageError for an unknown benchmark, a wrong --over, or wrong counts."""
    names = [n for n in catalogue.find(paths) if not n.startswith(WITHOUT)]
    if name.startswith(WITHOUT):
        raise UsageError(
            f"The benchmark '{name}' cannot be used here, because it does not divide work among its ranks or threads. "
            f"Benchmarks that scale: {', '.join(names)}."
        )
    if name not in names:
        raise UsageError(f"There is no benchmark '{name}'. {nearest(name, names)}")
    if over is not None and over not in OVERS:
        raise UsageError(f"Steelyard cannot increase '{over}' (given by --over). {nearest(over, OVERS)}")
    if weak and over == "ranks_per_node":
        raise UsageError(
            "--weak cannot be used with --over ranks_per_node. Use --over ranks: the work then grows with the ranks."
        )
    chosen = next((o for o in OVERS if o == over), None)
    return Wanted(name, chosen, _counts(counts) if counts is not None else (), weak)


def _counts(words: str) -> tuple[int, ...]:
    numbers_of_threads = {numbers.whole(word, f"in --counts {words}") for word in words.split(",")}
    if len(numbers_of_threads) < 2:
        raise UsageError(
            f"--counts {words} has only one count. Give at least two different counts, such as --counts 1,2,4"
        )
    return tuple(sorted(numbers_of_threads))


def shape(asked: Wanted, paths: Sequence[Path] = ()) -> Shape:
    """Returns the function that gives the benchmark the axes of a sweep, and returns the remaining settings."""

    def shaped(
        chosen: Mapping[str, Benchmark], machine: Machine, effort: Effort, settings: Settings
    ) -> tuple[Mapping[str, Benchmark], Settings]:
        benchmark = chosen[asked.benchmark]
        blocks = _blocks(benchmark, asked, machine, effort, settings, paths)
        # The blocks already set these, each in its own way.
        done = {block.weak for block in blocks} if asked.weak else set()
        done |= {"ranks_per_node"} if asked.over == "nodes" else set()
        rest = {name: values for name, values in settings.items() if name not in done}
        _expect_possible(benchmark, blocks, asked, machine)
        return {asked.benchmark: replace(benchmark, axes=lambda machine, effort: blocks)}, rest

    return shaped


def _expect_possible(benchmark: Benchmark, blocks: Iterable[Axes], asked: Wanted, machine: Machine) -> None:
    """Raises UsageError for a count of the user that the benchmark cannot measure."""
    for block in blocks if asked.counts else ():
        counts = {name: block.values[name] for name in ("ranks", "threads") if name in block.values}
        if reason := refusal(benchmark, block, counts, machine):
            words = ", ".join(f"{name}={_join(values)}" for name, values in counts.items())
            raise UsageError(f"{benchmark.name} cannot be measured with {words} (given by --counts): {reason}.")


def _blocks(
    benchmark: Benchmark, asked: Wanted, machine: Machine, effort: Effort, settings: Settings, paths: Sequence[Path]
) -> tuple[Axes, ...]:
    every = [b for b in benchmark.axes(machine, effort) if not b.when or b.when in settings]
    declared = [b for b in every if _is_requested(b, settings)]
    if not declared:
        raise UsageError(_explain_unknown(benchmark, every, settings))
    usual = [b for b in benchmark.axes(machine, EFFORTS["standard"]) if _is_requested(b, settings)]
    made: list[Axes] = []
    overs: tuple[Over, ...] = (asked.over,) if asked.over else ("threads", "ranks")
    for over in overs:
        axis = "threads" if over == "threads" else "ranks"
        fixed = next((n for n in (axis, over) if n in settings), None)
        if fixed and asked.over:
            raise UsageError(
                f"--set {fixed}= is not possible in a sweep over {over}. List the counts with --counts {_join(settings[fixed])}"
            )
        if fixed:
            continue
        for block in _choose_blocks(declared, axis):
            alike = [b for b in usual if axis in b.values and _key(b) == _key(block)]
            made += _sweep(block, alike, Wanted(asked.benchmark, over, asked.counts, asked.weak), machine, settings)
    if not made:
        raise UsageError(_explain_nothing(benchmark, asked, declared, machine))
    if asked.weak and (lost := [b for b in made if b.weak is None]):
        if len(lost) == len(made):
            raise UsageError(
                f"Weak scaling (--weak) is not defined for the benchmark {benchmark.name}: it has no size in proportion to its "
                f"work. Benchmarks with weak scaling: {', '.join(growing(machine, paths))}."
            )
        made = [b for b in made if b.weak is not None]
    return tuple(made)


def growing(machine: Machine, paths: Iterable[Path] = ()) -> list[str]:
    """Returns the names of the benchmarks with weak scaling, whose axes name the size that grows."""
    names = []
    for name, benchmark in catalogue.find(paths).items():
        with contextlib.suppress(UsageError):  # a benchmark that this machine cannot run
            if any(b.weak is not None for b in benchmark.axes(machine, EFFORTS["quick"])):
                names.append(name)
    return names


def _explain_nothing(benchmark: Benchmark, asked: Wanted, blocks: Sequence[Axes], machine: Machine) -> str:
    if asked.over == "nodes" and len(machine.hosts) < 2:
        return "Scaling over nodes needs at least two nodes, but there is only one. Name them with --hosts a:4,b:4"
    axes = {"threads": ("threads",), None: ("threads", "ranks")}.get(asked.over, ("ranks",))
    if any(axis in block.values for axis in axes for block in blocks):
        return (
            f"{benchmark.name} would be measured with one count only, because --set gives this count or there is only one "
            "processor. Name the "
            "counts with --counts 1,2,4 (more ranks than processors are possible, but no scaling law is fitted to them)."
        )
    names = dict.fromkeys(name for block in blocks for name in block.values)
    return (
        f"The scaling of {benchmark.name} cannot be measured: with these settings its cases have no {' and no '.join(axes)}. "
        f"Its parameters are {', '.join(names)}."
    )


def _explain_unknown(benchmark: Benchmark, blocks: Sequence[Axes], settings: Settings) -> str:
    """Returns a sentence on the chosen values that no block of the benchmark has."""
    for name in (n for n in CHOICES if n in settings):
        allowed = {str(v) for block in blocks for v in block.values.get(name, ())}
        for value in settings[name]:
            if str(value) not in allowed:
                hint = nearest(str(value), allowed)
                return f"{benchmark.name} has no case with {name} '{value}' (given by --set {name}=). {hint}"
    asked = ", ".join(f"{name}={_join(settings[name])}" for name in CHOICES if name in settings)
    return f"{benchmark.name} has no case with this combination: {asked}."


def _is_requested(block: Axes, settings: Settings) -> bool:
    """Returns whether the block has one of the requested kernels, models and modes."""
    names = [n for n in CHOICES if n in settings and n in block.values]
    return all(set(map(str, block.values[n])) & set(map(str, settings[n])) for n in names)


def _key(block: Axes) -> tuple[frozenset[Scalar], ...]:
    return tuple(frozenset(block.values.get(n, ())) for n in CHOICES)


def _choose_blocks(blocks: Sequence[Axes], axis: str) -> list[Axes]:
    """Returns the block with the most counts of each kernel, model and mode; if equal, the one with the greatest counts."""
    having = [b for b in blocks if axis in b.values]
    # Prefer blocks without an OpenCL device.
    having = [b for b in having if "device" not in b.values] or having
    best: dict[tuple[frozenset[Scalar], ...], Axes] = {}
    for block in having:
        if _rank(block, axis) > _rank(best.get(_key(block)), axis):
            best[_key(block)] = block
    # Leave out a block whose kernels, models and modes are all in another block.
    return [b for b in best.values() if not any(_is_within(b, other) for other in best.values())]


def _is_within(block: Axes, other: Axes) -> bool:
    return all(a <= b for a, b in zip(_key(block), _key(other), strict=True)) and _key(block) != _key(other)


def _rank(block: Axes | None, axis: str) -> tuple[int, int]:
    if block is None:
        return (0, 0)
    return len(block.values[axis]), max(int(v) for v in block.values[axis])


def _sweep(block: Axes, usual: Sequence[Axes], asked: Wanted, machine: Machine, settings: Settings) -> list[Axes]:
    """Returns a block for each count, with one value of each other axis; none if there is only one count."""
    sizes = (*GREATEST, block.weak or "elements")
    values: dict[str, tuple[Scalar, ...]] = {}
    for name, declared in block.values.items():
        if name in ALL_VALUES:
            values[name] = declared
        elif name in settings:  # a swept size must be able to take this value
            values[name] = tuple(v for v in settings[name] if not expected(name, v, [block]))
        else:
            values[name] = declared[-1:] if name in sizes else declared[:1]
    made = []
    for count, point in _points(values, usual, asked, machine, settings):
        if any(expected(name, value, [block]) for name, value in point.items()):
            continue
        fixed: dict[str, tuple[Scalar, ...]] = {name: (value,) for name, value in point.items()}
        if asked.weak and block.weak:
            # A factor of 1 for a size that is not declared.
            least = values.get(block.weak) or settings.get(block.weak, (1,))
            fixed[block.weak] = tuple(_times(block.weak, v, count) for v in least)
        made.append(replace(block, values={**values, **fixed}))
    return made if len(made) > 1 else []


def _times(name: str, size: Scalar, count: int) -> int:
    if isinstance(size, bool) or not isinstance(size, int) or size < 1:
        raise UsageError(
            f"--set {name}={size} is not valid: weak scaling multiplies this size by the count, so it must be a whole number "
            "of 1 or more."
        )
    return size * count


def _points(
    values: dict[str, tuple[Scalar, ...]], usual: Sequence[Axes], asked: Wanted, machine: Machine, settings: Settings
) -> list[tuple[int, dict[str, Scalar]]]:
    """Returns each count with its parameters, and removes from `values` the axes that these replace."""
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
        # One load is no sweep: it was declared for another purpose.
        loads = loads if len(loads) > 1 else list(doubled(slots))
        return [(c, {"ranks": c * len(hosts), "ranks_per_node": c}) for c in asked.counts or sorted({1, *loads})]
    given = [int(v) for v in settings.get("ranks_per_node", loads[-1:])]
    counts = asked.counts or doubled(len(hosts))
    return [(c, {"ranks": c * load, "ranks_per_node": load}) for load in given for c in counts]


def doubled(most: int) -> tuple[int, ...]:
    """Returns 1, 2, 4 … and `most`."""
    return tuple(sorted({*(1 << k for k in range(most.bit_length())), most}))


def _join(values: Iterable[Scalar]) -> str:
    return ",".join(map(str, values))
