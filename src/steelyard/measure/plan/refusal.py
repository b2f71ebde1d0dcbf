"""Refuses settings that no chosen benchmark has, and values that none of them can measure. Pure.

`plan`, `run`, `scale` and `submit` refuse the same. The plan does not check facts that only a program can find out, such as a
missing library or occupied memory. These become a record with the reason.
"""

from collections.abc import Iterable, Mapping, Sequence

from steelyard.errors import UsageError, nearest
from steelyard.measure.machine.rank_placement import count_ranks_here, ranks_here
from steelyard.measure.plan import variants as variation
from steelyard.measure.plan.possible import CHOSEN, expected
from steelyard.model import Axes, Benchmark, Effort, Machine, Parameters, Plan, Scalar, Variant
from steelyard.model.units import binary_size, duration
from steelyard.model.words import few, joined

# Parameters of every kernel, which may be set even if a benchmark's axes do not name them.
GENERAL = ("threads", "pinning", "page_size", "memory_policy", "plant")
# Parameters of a parallel program; cases that differ in one of these need separate starts.
STARTED = ("mpi", "variant", "ranks", "ranks_per_node", "mapping", "placement", "transport")
PARALLEL = (*STARTED, "start", "plant")  # parameters of every parallel kernel

# Words that the harness understands, for all kernels (native/buffers.h, rank_sampling.h, sampling.h; mpi/__init__.py).
WORDS: Mapping[str, tuple[str, ...]] = {
    "page_size": ("default", "4k", "transparent", "huge"),
    "mapping": ("block", "cyclic"),
    "transport": ("default", "no shared memory", "tcp"),
    "start": ("barrier", "clock"),
}
PLANTS = (
    "none", "skip", "delay", "turns", "work", "clock", "faults", "slow", "shared", "visits", "memory", "wrong", "unread",
)  # fmt: skip
# Bytes of memory for each; an element has 4 or 8, often in several arrays.
LEAST_BYTES = {"bytes": 1, "message_bytes": 1, "elements": 4}
OF_MACHINE = ("mode", "door", "device", "vector_width")  # their values depend on the devices and vectors of the machine
CROWDED = 4  # ranks per processor from which a warning is given


def refuse(
    benchmarks: Mapping[str, Benchmark],
    machine: Machine,
    effort: Effort,
    settings: Mapping[str, Sequence[Scalar]],
    mpis: Sequence[str] = (),
    anywhere: bool = False,
    variants: Sequence[Variant] = (),
) -> None:
    """Raises UsageError for the first invalid setting.

    `anywhere`: the run goes to another machine (a job), so the processors and memory of this one are not checked.
    """
    if anywhere:
        settings = {name: wanted for name, wanted in settings.items() if name not in OF_MACHINE}
    if not settings:
        return
    blocks = {name: b.axes(machine, effort) for name, b in benchmarks.items()}
    names = {name for of_one in blocks.values() for block in of_one for name in (*block.values, *block.further)}
    for b in benchmarks.values():
        names |= {n for s in b.sources for n in (PARALLEL if s.parallel else GENERAL) if n not in b.unread}
    for name, wanted in settings.items():
        if name not in names:
            raise UsageError(
                f"None of the chosen benchmarks has a parameter '{name}' (given by --set). {nearest(name, names)}"
            )
        if name == "variant" and not variants:
            raise UsageError(
                f"--set variant={wanted[0]} selects among variants, but the command has none. {variation.FORM}."
            )
        having = [of_one for of_one in blocks.values() if any(name in b.values or name in b.choices for b in of_one)]
        for value in wanted:
            _choose(name, value, having, {"mpi": mpis, "variant": variation.names(variants)}, machine)
            _refuse_impossible(name, value, machine, anywhere)
            reasons = [expected(name, value, of_one) for of_one in having]
            if reasons and all(reasons):
                raise UsageError(f"{name}={value} (given by --set) is not valid: expected {reasons[0]}.")


def _choose(
    name: str, value: Scalar, having: Iterable[Sequence[Axes]], given: Mapping[str, Sequence[str]], machine: Machine
) -> None:
    """Raises UsageError if neither the benchmarks nor the harness allow the value. `given` has the values of other options."""
    possible = {*given.get(name, WORDS.get(name, ()))}
    for blocks in having:
        stated = [(*b.choices.get(name, ()), *(b.values.get(name, ()) if name in CHOSEN else ())) for b in blocks]
        values_stated = {str(v) for values in stated for v in values}
        if not values_stated and name not in WORDS and name not in given:
            return  # a benchmark that takes any
        possible |= values_stated
    if possible and str(value) not in possible:
        lacking = "" if machine.devices or name != "mode" else " Steelyard found no OpenCL device on this machine."
        raise UsageError(
            f"None of the chosen benchmarks has a case with {name} '{value}' (given by --set {name}=). "
            f"{nearest(str(value), possible)}{lacking}"
        )


def _refuse_impossible(name: str, value: Scalar, machine: Machine, anywhere: bool) -> None:
    """Raises UsageError for a value that no kernel allows."""
    if name == "plant" and str(value).partition(":")[0] not in PLANTS:
        raise UsageError(
            f"There is no plant '{value}' (given by --set; a plant disturbs a measurement on purpose). "
            f"{nearest(str(value).partition(':')[0], PLANTS)}"
        )
    if name == "memory_policy":
        _memory_policy(str(value), machine, anywhere)
    if anywhere or not isinstance(value, int):
        return
    if name in LEAST_BYTES and 0 < machine.memory < value * LEAST_BYTES[name]:
        raise UsageError(
            f"{name}={value} (given by --set) is more than the memory of this machine ({binary_size(machine.memory)})."
        )
    if name == "ranks":
        ranks_here(machine, value, None)


def _memory_policy(value: str, machine: Machine, anywhere: bool) -> None:
    word, colon, node = value.partition(":")
    numbers = [str(n.number) for n in machine.nodes]
    if (word in ("local", "interleave") and not colon) or (word == "bind" and (node in numbers or anywhere)):
        return
    raise UsageError(
        f"memory_policy='{value}' (given by --set) is not valid: expected local, interleave, or bind:NODE with one of the memory "
        f"nodes {', '.join(numbers) or '(none known)'}."
    )


def turns(machine: Machine, parameters: Parameters) -> float:
    """Returns how many ranks share a processor of the first host: 1 if each has its own, or if the case has no ranks."""
    if "ranks" not in parameters or not machine.cpus:
        return 1.0
    per_node = int(parameters.get("ranks_per_node", 0)) or None
    return max(1.0, count_ranks_here(machine, int(parameters["ranks"]), per_node) / len(machine.cpus))


def warnings(made: Plan, machine: Machine) -> list[str]:
    """Returns notes for the user before the plan is carried out, one or two sentences each."""
    cases = [c for launch in made.launches for c in launch.cases if "ranks" in c.parameters]
    worst = max(cases, key=lambda c: turns(machine, c.parameters), default=None)
    if worst is None or turns(machine, worst.parameters) < CROWDED:
        return []
    ranks = int(worst.parameters["ranks"])
    where = f"{len(machine.cpus)} processors" + (" of each host" if machine.hosts else "")
    return [
        f"{ranks} ranks share {where}. The results mostly show the scheduler of the operating system, and the run takes about "
        f"{duration(made.seconds)}."
    ]


def unused(made: Plan, settings: Mapping[str, Sequence[Scalar]], named: str) -> str:
    """Returns a note on the settings that no case of the plan has and that no sentence has `named`; "" if there is none."""
    cases = [(launch, case) for launch in made.launches for case in launch.cases]
    used = {(name, str(value)) for _, case in cases for name, value in case.parameters.items()}
    used |= {("kernel", case.kernel) for _, case in cases} | {("model", launch.model) for launch, _ in cases}
    idle = {
        name: [str(v) for v in values if (name, str(v)) not in used and f"{name}={v} " not in named]
        for name, values in settings.items()
    }
    texts = [f"{name}={','.join(values)}" for name, values in idle.items() if values]
    return f"No case that fits the other settings has {joined(few(texts, 'setting'))}." if texts else ""
