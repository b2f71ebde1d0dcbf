"""Pairs the modes in which two systems run the kernels of the node."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from steelyard.measure.telemetry.watched import is_modelled
from steelyard.model import Evaluation, Machine, Result
from steelyard.model.devices import find_device, on_device
from steelyard.model.words import in_words
from steelyard.statistics.results import cases, messages
from steelyard.statistics.results.identity import Identity, identity

OWN = ("mode", "threads", "device", "toolchain", "pinning")  # parameters that belong to a system, not to the problem

Role = tuple[int, float, str, int]  # 0: threads, 1: OpenCL, 2: both; threads (∞: all); device kind; device number
ALL = float("inf")
WHOLE: Role = (0, ALL, "", 0)  # all processors without a device


@dataclass(frozen=True)
class Kernel:
    """A kernel with the same problem on both systems: for each mode, in words, the results of both."""

    benchmark: str
    name: str
    modes: Mapping[str, tuple[Result, Result]]


@dataclass(frozen=True)
class Together:
    """The kernels that both systems have, compiled with one toolchain on each, and all their modes in order."""

    toolchains: tuple[str, str]
    modes: tuple[str, ...]
    kernels: tuple[Kernel, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeRun:
    """The results of a run for the kernels of the node, with their samples. `modelled_power`: its power was calculated."""

    run: str
    machine: Machine
    results: tuple[Result, ...]
    modelled_power: bool


def select_node(evaluation: Evaluation) -> NodeRun:
    """Returns the results of the kernels of the node in modes of ours. INVALID results are omitted."""
    results = (r for r in evaluation.results if r.benchmark.startswith("node.") and "mode" in r.parameters)
    return NodeRun(
        run=evaluation.run.id,
        machine=evaluation.run.machine,
        results=tuple(
            r
            for r in results
            if "model" not in r.parameters and r.verdict.level != "INVALID" and messages.launch_seconds(r)
        ),
        modelled_power=evaluation.power is not None and is_modelled(evaluation.power.traces),
    )


def pair_modes(a: NodeRun, b: NodeRun) -> tuple[Together, ...]:
    """Returns the kernels and modes that both systems have, for each toolchain that both have; () if there are none.

    Without a common toolchain, the first one of each system is used. Modes are paired by their part of the system: one thread,
    the same number of threads, all processors, the OpenCL device of the same kind, and both together. A mode with a device that
    the other system lacks is paired with all processors of that system.
    """
    named = [dict.fromkeys(str(r.parameters.get("toolchain", "")) for r in side.results) for side in (a, b)]
    pairs = [(name, name) for name in named[0] if name in named[1]] or list(zip(*named, strict=False))[:1]
    tables = []
    for toolchain_a, toolchain_b in pairs:
        cases_a, cases_b = _cases(a, toolchain_a), _cases(b, toolchain_b)
        if kernels := _pair_modes(cases_a, cases_b, a.machine, b.machine):
            tables.append(Together((toolchain_a, toolchain_b), *kernels))
    return tuple(tables)


def list_unpaired(a: NodeRun, b: NodeRun, tables: Iterable[Together]) -> tuple[str, ...]:
    """Returns the sorted names of the kernels that only one system has, or that have different problems."""
    common = {(k.benchmark, pair[0].kernel) for one in tables for k in one.kernels for pair in k.modes.values()}
    every = {(r.benchmark, r.kernel) for side in (a, b) for r in side.results}
    return tuple(sorted(kernel for name, kernel in every - common))


def _cases(side: NodeRun, toolchain: str) -> dict[Identity, dict[Role, Result]]:
    by_case: dict[Identity, dict[Role, Result]] = {}
    for r in side.results:
        if str(r.parameters.get("toolchain", "")) != toolchain:
            continue
        roles = by_case.setdefault(identity(r, *OWN), {})
        roles.update(dict.fromkeys(_roles(r, side.machine), r))
    return by_case


def _roles(result: Result, machine: Machine) -> list[Role]:
    """Returns the roles of a result. All processors may be one thread."""
    mode = str(result.parameters["mode"])
    threads = int(cases.number(result, "threads") or 0)
    counts = [float(threads), *([ALL] if threads == len(machine.cpus) else [])]
    if mode == "threads":
        return [(0, count, "", 0) for count in counts]
    device = int(cases.number(result, "device") or 0)
    found = find_device(machine, result.parameters)
    kind = found.kind if found else "device"
    among = [d.number for d in machine.devices if d.kind == kind]
    number = among.index(device) if device in among else device
    if on_device(result.parameters):
        return [(1, 0.0, kind, number)]
    return [(2, count, kind, number) for count in counts]


def _pair_modes(
    a: dict[Identity, dict[Role, Result]], b: dict[Identity, dict[Role, Result]], of_a: Machine, of_b: Machine
) -> tuple[tuple[str, ...], tuple[Kernel, ...]] | None:
    cpus = len(of_a.cpus), len(of_b.cpus)
    equal = cpus[0] == cpus[1]
    devices = [{_device(role) for roles in side.values() for role in roles if role[0]} for side in (a, b)]
    common = [case for case in a if case in b]
    pairs = {case: _pair_roles(a[case], b[case], devices, equal) for case in common}
    every = sorted({pair for of_case in pairs.values() for pair in of_case})
    words = {pair: _name_pair(pair, *cpus) for pair in every}
    plain = [case[:2] for case in common]
    kernels = []
    for case, of_case in sorted(pairs.items(), key=lambda item: str(item[0])):
        modes = {words[pair]: (a[case][pair[0]], b[case][pair[1]]) for pair in of_case}
        if modes:
            some = next(iter(modes.values()))[0]
            name = some.kernel if plain.count(case[:2]) == 1 else cases.describe(some, but=OWN)
            kernels.append(Kernel(some.benchmark, name, modes))
    return (tuple(words.values()), tuple(kernels)) if kernels else None


def _pair_roles(
    a: Mapping[Role, Result], b: Mapping[Role, Result], devices: Sequence[set[tuple[int, str, int]]], equal: bool
) -> list[tuple[Role, Role]]:
    """Returns the roles that both have, then those with a device that the other system lacks, against all its processors.

    If both systems have the same number of processors (`equal`), that number is the only name of the mode.
    """
    both = [(role, role) for role in sorted(set(a) & set(b)) if not (equal and role[1] == ALL)]
    lone_a = [(role, WHOLE) for role in _select_lone(a, devices[1], equal)] if WHOLE in b else []
    lone_b = [(WHOLE, role) for role in _select_lone(b, devices[0], equal)] if WHOLE in a else []
    return [*both, *lone_a, *lone_b]


def _select_lone(roles: Iterable[Role], others: set[tuple[int, str, int]], equal: bool) -> list[Role]:
    """Returns the roles with a device that is not among `others`; of several numbers of threads beside it, the greatest."""
    greatest: dict[tuple[int, str, int], Role] = {}
    for role in sorted(roles):
        if role[0] and _device(role) not in others and not (equal and role[1] == ALL):
            greatest[_device(role)] = role
    return list(greatest.values())


def _device(role: Role) -> tuple[int, str, int]:
    return role[0], role[2], role[3]


def _name_pair(pair: tuple[Role, Role], of_a: int, of_b: int) -> str:
    """Returns 'all threads (2 against 16)', or of different modes '2 threads and GPU (OpenCL) against 16 threads'."""
    if pair[0] == pair[1]:
        return _name_role(pair[0], f"all threads ({of_a} against {of_b})")
    return " against ".join(
        _name_role(role, in_words("threads", count)) for role, count in zip(pair, (of_a, of_b), strict=True)
    )


def _name_role(role: Role, whole: str) -> str:
    """Returns 'GPU (OpenCL)', or '4 threads and GPU 1 (OpenCL)'; `whole` is the name of all threads."""
    sort, count, kind, number = role
    threads = in_words("threads", int(count)) if count != ALL else whole
    device = f"{kind} {number} (OpenCL)" if number else f"{kind} (OpenCL)"
    return (threads, device, f"{threads} and {device}")[sort]
