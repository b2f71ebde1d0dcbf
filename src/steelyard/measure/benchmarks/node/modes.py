"""Common parts of the benchmarks of a node: the three modes, the metrics, and the figure that compares the modes."""

from collections.abc import Callable, Sequence
from dataclasses import replace

from steelyard.measure.benchmarks.axes import thread_counts, with_openmp
from steelyard.measure.benchmarks.device.shared import limit_of
from steelyard.measure.benchmarks.figures import draw_values
from steelyard.measure.benchmarks.rates import elapsed, per_second
from steelyard.model import Axes, Effort, Limit, Machine, Metric, Result, Sampling, Scalar
from steelyard.model.devices import name_device, on_device
from steelyard.model.figure import Axis, Figure
from steelyard.model.machine import DOORS, Device
from steelyard.model.words import in_words, plural

# Steelyard's own threads, also in records without a model; or OpenMP threads, if a setting names them.
MODEL: dict[str, tuple[Scalar, ...]] = {"model": ("threads",)}
openmp = True


def make_axes(
    kernels: tuple[str, ...], size: str, quick: int, usual: int, setup: float, weak: bool = False, filling: int = 0
) -> Callable[[Machine, Effort], tuple[Axes, ...]]:
    """Returns axes of kernels with the size parameter `size`: all numbers of threads, each device, both together.

    `quick` and `usual` are the sizes in a quick run and in others; `setup` is the set-up time of the usual size, in seconds.
    `weak`: the work is proportional to the size. `filling`: a size that keeps a GPU busy for about a millisecond or more, which
    is measured there, too (0: the usual one does).
    """

    def axes(machine: Machine, effort: Effort) -> tuple[Axes, ...]:
        fast = effort.name == "quick"
        counts = thread_counts(machine)
        counts = tuple(sorted({1, counts[-1]})) if fast else counts
        sizes: dict[str, tuple[Scalar, ...]] = {size: (quick if fast else usual,)}
        sampling = Sampling(effort.sampling.width, 0.15 if fast else 1.0, 5, 200)
        seconds = setup * (quick / usual if fast else 1)
        common: dict[str, tuple[Scalar, ...]] = {"kernel": kernels, "pinning": ("compact",), **sizes}
        grows = size if weak else None

        def block(mode: str, threads: tuple[int, ...], longer: int, devices: Sequence[Device] = ()) -> Axes:
            device: dict[str, tuple[Scalar, ...]] = {"device": tuple(d.number for d in devices)} if devices else {}
            if mode == "mixed" and devices[0].door != "opencl":
                device["door"] = (devices[0].door,)
            fixed = {"mode": (mode,), **device}
            bounds: dict[str, tuple[float, float]] = {"threads": (1, 1)} if mode in DOORS else {}
            values = {**common, **fixed, "threads": threads}
            return Axes(values, sampling, longer * seconds, choices={**MODEL, **fixed}, bounds=bounds)

        blocks = with_openmp(replace(block("threads", counts, 1), weak=grows))
        for door in DOORS:
            if devices := [d for d in machine.devices if d.door == door]:
                blocks += [block(door, (1,), 2, devices), block("mixed", counts[-1:], 3, devices)]
            if filling and (gpus := [d for d in devices if d.kind == "GPU"]):
                large = block(door, (1,), 2, gpus)
                values = {**large.values, size: (filling,)}
                blocks.append(replace(large, values=values, setup_seconds=2 * setup * filling / usual))
        return tuple(blocks)

    return axes


rate = per_second("items", optional=True)  # others of an iteration: keys, updates, steps
TIME = Metric("time", "s", "lower", "time of an iteration", elapsed)  # as in the Mont-Blanc papers
FLOPS = Metric("flops", "flop/s", "higher", "speed", per_second("flops", optional=True))
BANDWIDTH = Metric(
    "bandwidth", "B/s", "higher", "bandwidth (bytes that must be moved)", per_second("bytes", optional=True)
)


def limit(metric: str, result: Result, machine: Machine) -> Limit | None:
    """Returns the node's peaks if all processors work, or those of a device by its data if it alone works."""
    if on_device(result.parameters):
        return limit_of(metric)(result, machine) if metric in ("flops", "bandwidth") and _fills(result) else None
    if result.parameters.get("mode") != "threads" or result.parameters.get("threads") != len(machine.cpus):
        return None
    return machine.limits.get({"flops": "flops", "bandwidth": "memory_bandwidth"}.get(metric, ""))


def _fills(result: Result) -> bool:
    """Returns whether an operation takes so long that no cache of a device holds its data, nor the start of the kernel counts."""
    time = result.metrics.get("time")
    return time is not None and time.value > 5e-4


def describe_mode(result: Result, machine: Machine) -> str:
    """Returns the mode in words: "2 threads", the device's kind, or both."""
    mode, threads = result.parameters.get("mode"), int(result.parameters.get("threads", 1))
    words = plural(threads, "OpenMP thread" if "model" in result.parameters else "thread")
    if (policy := result.parameters.get("wait_policy", "default")) != "default":
        words += f", {in_words('wait_policy', policy)}"
    if mode == "threads":
        return words
    name = name_device(machine, result.parameters)
    return name if on_device(result.parameters) else f"{words} and {name}"


def figures_of(name: str) -> Callable[[tuple[Result, ...], Machine], tuple[Figure, ...]]:
    """Returns the function of the figure: time of an iteration in each mode, for each kernel and toolchain."""

    def figures(results: tuple[Result, ...], machine: Machine) -> tuple[Figure, ...]:
        several = len({str(r.parameters.get("toolchain")) for r in results}) > 1
        groups: dict[str, list[Result]] = {}
        for r in results:
            if "time" in r.metrics:
                label = f"{r.kernel}, {r.parameters.get('toolchain')}" if several else r.kernel
                groups.setdefault(label, []).append(r)
        series = tuple(
            draw_values(label, [describe_mode(r, machine) for r in members], [r.metrics["time"] for r in members])
            for label, members in sorted(groups.items())
        )
        return (
            Figure(
                name=f"{name}-modes",
                title="Time of an iteration in each mode",
                kind="bars",
                x=Axis("mode"),
                y=Axis("time of an iteration", "s"),
                series=series,
                caption="Shorter bars are better. The data are on the device before the measurement starts: the "
                "transfers are timed separately.",
            ),
        )

    return figures
