"""The kernels of the node, each with the modes in which it was measured: by threads, ours or OpenMP's, by an OpenCL device, by
threads and device together.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from steelyard.model import Machine, Record, Result
from steelyard.model.words import in_words, plural
from steelyard.statistics.results import cases
from steelyard.statistics.results.identity import Identity, identity

Mode = tuple[int, int, int]  # kind, threads, device: the order of the columns, too


@dataclass(frozen=True)
class Measured:
    """A kernel with one problem, and its result in each mode."""

    name: str
    benchmark: str
    modes: Mapping[Mode, Result]


def mode_of(result: Result | Record) -> Mode:
    """That of a result or record with the parameter `mode`."""
    mode = str(result.parameters["mode"])
    threads, device = (int(cases.number(result, name) or 0) for name in ("threads", "device"))
    if mode == "threads":
        return (1 if "model" in result.parameters else 0, threads, 0)
    return (2, 0, device) if mode == "opencl" else (3, threads, device)


def called(mode: Mode, machine: Machine) -> str:
    """'4 threads', '4 OpenMP threads', 'GPU 0 (OpenCL)', '4 threads and GPU 0 (OpenCL)'."""
    kind, threads, number = mode
    words = in_words("threads", threads)
    device = next((d.kind for d in machine.devices if d.number == number), "device")
    named = f"{device} {number} (OpenCL)"
    return (words, plural(threads, "OpenMP thread"), named, f"{words} and {named}")[kind]


def measured(results: Iterable[Result]) -> list[Measured]:
    """The modes of each case; a kernel with several sizes has them in its name."""
    parameters = ("mode", "model", "threads", "device", "toolchain", "pinning")
    groups: dict[Identity, dict[Mode, Result]] = {}
    for r in results:
        usual = ("wait_policy",) if r.parameters.get("wait_policy") == "default" else ()
        groups.setdefault(identity(r, *parameters, *usual), {})[mode_of(r)] = r
    plain = [key[:2] for key in groups]
    kernels = []
    for key, modes in sorted(groups.items(), key=lambda item: str(item[0])):
        some = next(iter(modes.values()))
        name = some.kernel if plain.count(key[:2]) == 1 else cases.describe(some, but=parameters)
        kernels.append(Measured(name, some.benchmark, modes))
    return kernels
