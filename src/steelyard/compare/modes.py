"""Pairs the modes in which two systems run the kernels of the node."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from steelyard import records
from steelyard.compare import published_figures
from steelyard.errors import UsageError
from steelyard.model import Evaluation, Machine, Result
from steelyard.statistics.results import cases, messages
from steelyard.statistics.results.identity import Identity, identity
from steelyard.words import in_words

OWN = ("mode", "threads", "device", "toolchain", "pinning")  # parameters that belong to a system, not to the problem

Role = tuple[int, float, str, int]  # threads, OpenCL, both; threads (∞: all); kind of device; its number among these


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


def find_base(runs: Path, name: str) -> Path:
    """Returns the folder of the run that --against names. UsageError if there is no such run."""
    try:
        return records.find(runs, name)
    except UsageError as error:
        if (system := published_figures.find(name)) is None:
            raise UsageError(f"{error} (It was given by --against.)") from None
        raise UsageError(
            f"'{system}' (given by --against) is a published system, which has no times of the node's kernels. "
            f'Give a run, or compare the published numbers: steelyard compare RUN "{system}"'
        ) from None


def pair_modes(a: Evaluation, b: Evaluation) -> tuple[Together, ...]:
    """Returns the kernels and modes that both systems have, for each toolchain that both have; () if there are none.

    Without a common toolchain, the first one of each system is used. Modes are paired by their part of the system: one thread,
    the same number of threads, all processors, the OpenCL device of the same kind, and both together. INVALID results are
    omitted.
    """
    of_a, of_b = _usable(a), _usable(b)
    named = [dict.fromkeys(str(r.parameters.get("toolchain", "")) for r in side) for side in (of_a, of_b)]
    pairs = [(name, name) for name in named[0] if name in named[1]] or list(zip(*named, strict=False))[:1]
    tables = []
    for toolchain_a, toolchain_b in pairs:
        cases_a, cases_b = _cases(of_a, toolchain_a, a.run.machine), _cases(of_b, toolchain_b, b.run.machine)
        if kernels := _paired(cases_a, cases_b, a.run.machine, b.run.machine):
            tables.append(Together((toolchain_a, toolchain_b), *kernels))
    return tuple(tables)


def list_unpaired(a: Evaluation, b: Evaluation, tables: Iterable[Together]) -> tuple[str, ...]:
    """Returns the sorted names of the kernels that only one system has, or that have different problems."""
    common = {(k.benchmark, pair[0].kernel) for one in tables for k in one.kernels for pair in k.modes.values()}
    every = {(r.benchmark, r.kernel) for e in (a, b) for r in _usable(e)}
    return tuple(sorted(kernel for name, kernel in every - common))


def _usable(evaluation: Evaluation) -> list[Result]:
    results = (r for r in evaluation.results if r.benchmark.startswith("node.") and "mode" in r.parameters)
    return [r for r in results if "model" not in r.parameters and r.verdict.level != "INVALID" and messages.seconds(r)]


def _cases(results: Iterable[Result], toolchain: str, machine: Machine) -> dict[Identity, dict[Role, Result]]:
    by_case: dict[Identity, dict[Role, Result]] = {}
    for r in results:
        if str(r.parameters.get("toolchain", "")) != toolchain:
            continue
        roles = by_case.setdefault(identity(r, *OWN), {})
        roles.update(dict.fromkeys(_roles(r, machine), r))
    return by_case


def _roles(result: Result, machine: Machine) -> list[Role]:
    """Returns the roles of a result. All processors may be one thread."""
    mode = str(result.parameters["mode"])
    threads = int(cases.number(result, "threads") or 0)
    counts = [float(threads), *([float("inf")] if threads == len(machine.cpus) else [])]
    if mode == "threads":
        return [(0, count, "", 0) for count in counts]
    device = int(cases.number(result, "device") or 0)
    kind = next((d.kind for d in machine.devices if d.number == device), "device")
    among = [d.number for d in machine.devices if d.kind == kind]
    number = among.index(device) if device in among else device
    if mode == "opencl":
        return [(1, 0.0, kind, number)]
    return [(2, count, kind, number) for count in counts]


def _paired(
    a: dict[Identity, dict[Role, Result]], b: dict[Identity, dict[Role, Result]], of_a: Machine, of_b: Machine
) -> tuple[tuple[str, ...], tuple[Kernel, ...]] | None:
    common = {case: sorted(set(a[case]) & set(b[case])) for case in a if case in b}
    # If both systems have the same number of processors, that number is the only name of the mode.
    equal = len(of_a.cpus) == len(of_b.cpus)
    roles = sorted(
        {role for case_roles in common.values() for role in case_roles if not (equal and role[1] == float("inf"))}
    )
    words = {role: _called(role, len(of_a.cpus), len(of_b.cpus)) for role in roles}
    plain = [case[:2] for case in common]
    kernels = []
    for case, case_roles in sorted(common.items(), key=lambda item: str(item[0])):
        modes = {words[role]: (a[case][role], b[case][role]) for role in case_roles if role in words}
        if modes:
            some = next(iter(modes.values()))[0]
            name = some.kernel if plain.count(case[:2]) == 1 else cases.describe(some, but=OWN)
            kernels.append(Kernel(some.benchmark, name, modes))
    return (tuple(words.values()), tuple(kernels)) if kernels else None


def _called(role: Role, of_a: int, of_b: int) -> str:
    """Returns 'all threads (2 against 16)', 'GPU (OpenCL)', or '4 threads and GPU 1 (OpenCL)'."""
    sort, count, kind, number = role
    threads = in_words("threads", int(count)) if count != float("inf") else f"all threads ({of_a} against {of_b})"
    device = f"{kind} {number} (OpenCL)" if number else f"{kind} (OpenCL)"
    return (threads, device, f"{threads} and {device}")[sort]
