"""The kernels of the node, each with the modes in which it was measured: by threads, ours or OpenMP's, by a device, by
threads and device together.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from steelyard.model import Machine, Record, Result
from steelyard.model.devices import name_device, on_device
from steelyard.model.words import in_words, plural
from steelyard.statistics.results import cases
from steelyard.statistics.results.identity import Identity, identity

Mode = tuple[int, int, int, str]  # kind, threads, device, its door: the order of the columns, too


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
        return (1 if "model" in result.parameters else 0, threads, 0, "")
    if on_device(result.parameters):
        return (2, 0, device, mode)
    return (3, threads, device, str(result.parameters.get("door", "opencl")))


def called(mode: Mode, machine: Machine) -> str:
    """'4 threads', '4 OpenMP threads', 'GPU 0 (OpenCL)', '4 threads and GPU 0 (OpenCL)'."""
    kind, threads, number, door = mode
    words, named = in_words("threads", threads), name_device(machine, {"door": door, "device": number})
    return (words, plural(threads, "OpenMP thread"), named, f"{words} and {named}")[kind]


def measured(results: Iterable[Result]) -> list[Measured]:
    """The modes of each case; a kernel with several sizes has them in its name."""
    parameters = ("mode", "model", "threads", "device", "door", "toolchain", "pinning")
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
