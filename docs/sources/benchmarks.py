"""Pages of the benchmarks and of the findings, made from their docstrings and declarations."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from sources.tables import table
from steelyard.judge import findings
from steelyard.measure import plan
from steelyard.model import Axes, Benchmark, Cache, Core, Device, Library, Machine, NumaNode, Scalar, Setting
from steelyard.model.units import binary_size, duration

MOST_VALUES = 12  # longest list of values of an axis; a longer one is shown by its ends and its count
EXAMPLE = "two sockets of four cores, each with a 32 MiB third-level cache and 32 GiB of memory; transparent huge pages"

GPUS = {1: "; a GPU of NVIDIA with its compiler and cuBLAS", 2: "; two GPUs of NVIDIA with its compiler and NCCL"}


def example_machine() -> Machine:
    """Returns the machine for which the pages list cases. The pages must not depend on the machine that writes them."""
    cores = tuple(Core(i, i // 4, i // 4, (i,)) for i in range(8))
    own = [Cache(1, "data", 32 << 10, 64, (i,)) for i in range(8)]
    own += [Cache(2, "unified", 1 << 20, 64, (i,)) for i in range(8)]
    shared = [Cache(3, "unified", 32 << 20, 64, tuple(range(s * 4, s * 4 + 4))) for s in range(2)]
    distances = ((10, 21), (21, 10))
    nodes = tuple(NumaNode(s, tuple(range(s * 4, s * 4 + 4)), 32 << 30, distances[s]) for s in range(2))
    return Machine(
        system="example", host="example", processor="example", vendor="example", architecture="x86_64",
        cores=cores, nodes=nodes, caches=(*own, *shared), cpus=tuple(range(8)), cpu_quota=None,
        memory=64 << 30, memory_available=60 << 30, modules=(), fma_width=8, fma_units=2,
        settings=(Setting("transparent_huge_pages", "madvise", "example"),), compilers=(), mpis=(),
        libraries=(Library("blas", "example", True), Library("fftw", "example", True)),
    )  # fmt: skip


def _add_gpus(machine: Machine, count: int) -> Machine:
    """Returns the machine with GPUs, for the benchmarks of devices."""
    facts: dict[str, Scalar] = {
        "capability": "9.0",
        "compiler": "example",
        "library": "example",
        "collectives": "example",
        "last_cache": 50 << 20,
    }
    gpus = (Device(n, "example", "GPU", 80 << 30, False, door="cuda", facts=facts) for n in range(count))
    return replace(machine, devices=tuple(gpus))


def index(benchmarks: Mapping[str, Benchmark], note: str) -> str:
    """Returns the list of the benchmarks."""
    rows = [
        (f"[{name}]({name}.md)", b.title, ", ".join(f"`{m.name}`" for m in b.metrics)) for name, b in benchmarks.items()
    ]
    return "\n".join(["# The benchmarks\n", note, table(("name", "content", "metrics"), rows)])


def page(b: Benchmark, note: str) -> str:
    """Returns the page of a benchmark."""
    of_devices = b.name.startswith("device.")
    gpus = 2 if b.name == "device.collectives" else 1
    machine = _add_gpus(example_machine(), gpus) if of_devices else example_machine()
    parameters = _merged(b.axes(machine, plan.EFFORTS["full"]))
    return "\n".join(
        [
            f"# {b.title}\n",
            note,
            f"`steelyard run --only {b.name}` runs this benchmark alone.\n",
            f"{b.summary}\n",
            f"## Reading\n\n{b.reading}\n",
            f"## Caution\n\n{b.caution}\n",
            "## Metrics\n",
            table(
                ("metric", "unit", "better", "meaning"),
                [(f"`{m.name}`", m.unit, m.better, m.title) for m in b.metrics],
            ),
            f"## Cases\n\nThe presets plan these cases on an example machine ({EXAMPLE}{GPUS[gpus] if of_devices else ''}):\n",
            table(
                ("preset", "cases", "launches", "expected time"),
                [_cases(b, machine, p) for p in plan.EFFORTS],
            ),
            "The preset `full` uses these values on that machine. Not every combination is a case.\n",
            table(("parameter", "values"), [(f"`{n}`", _values(n, values)) for n, values in parameters.items()]),
            # Captions describe measured values, and nothing is measured here.
            "## Figures\n",
            "".join(f"- {title}\n" for title in dict.fromkeys(f.title for f in b.figures((), machine))),
            f"## Source\n\n{b.source}\n",
        ]
    )


def _cases(b: Benchmark, machine: Machine, preset: str) -> tuple[str, str, str, str]:
    made = plan.make({b.name: b}, machine, plan.EFFORTS[preset], {}, ["any"], mpis=["any"])
    return f"`{preset}`", str(len(made.launches[0].cases)), str(len(made.launches)), duration(made.seconds)


def _merged(blocks: Iterable[Axes]) -> dict[str, list[Scalar]]:
    merged: dict[str, list[Scalar]] = {}
    for name, values in (item for block in blocks for item in block.values.items()):
        known = merged.setdefault(name, [])
        known += [v for v in values if v not in known]
    return merged


def _values(name: str, values: Sequence[Scalar]) -> str:
    if all(isinstance(v, int | float) for v in values):
        values = sorted(values, key=float)
    words = [_word(name, v) for v in values]
    if len(words) > MOST_VALUES:
        return f"{words[0]} … {words[-1]} ({len(words)} values)"
    return " · ".join(words)


def _word(name: str, value: Scalar) -> str:
    if name == "bytes" and isinstance(value, int):
        return binary_size(value)
    return f"{value:g}" if isinstance(value, float) else str(value)


def findings_page(note: str) -> str:
    """Returns the list of the rules, each with the first line of its file."""
    rows = []
    for name in findings.list_rules():
        told = (findings.load_rule(name).__doc__ or "").strip()
        rows.append((f"`{name}`", told.partition("\n")[0].removeprefix("Rule: ").rstrip(".")))
    text = (
        "A finding has a claim, its evidence, the likely cause, and a remedy. It is *serious*, a *notice*, or *good*. "
        "A serious finding about the machine makes the exit code 1. A serious finding about the measurement, such as too many "
        "disturbed results, does so only with `--strict`. If a rule cannot decide, it gives the reason: the screen only counts "
        "such questions, and the report has their details. A rule without a result says nothing.\n"
    )
    return "\n".join(["# The findings\n", note, text, table(("rule", "subject"), rows)])
