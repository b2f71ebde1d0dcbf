"""Describes the machine: topology, caches, memory modules, settings, tools, and the limits that follow."""

from pathlib import Path

from steelyard.model import Machine


def describe(root: Path = Path("/"), system_file: Path | None = None, whole: bool = True) -> Machine:
    """Returns all facts in the kernel's files below `root`, without root rights; bytes, quota in cores.

    A fact that cannot be read is None or absent, and a note or the setting's reason says why. The size of the memory is 0 if even
    /proc/meminfo does not state it. With a `root` other than / the running system is not queried. `system_file` adds facts from
    the user. Raises UsageError for a wrong system file, nothing else. Without `whole` MPIs, OpenCL devices and libraries are
    left out: finding them takes longest, and a compilation needs only compilers.
    """
    # With all that asks the system, which those do not need who only use a description, or one of the modules here.
    from steelyard.measure.machine.description import read_machine

    return read_machine(root, system_file, whole)
