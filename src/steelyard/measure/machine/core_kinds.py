"""The kinds of cores of a hybrid processor: processors whose full speed is the same."""

from collections.abc import Sequence

from steelyard.measure.machine.cpulist import readable_cpu_list
from steelyard.measure.machine.files import KernelFiles

# Linux has a device for the counters of each kind of core of an Intel processor, and for others their capacity.
_DEVICES = ("cpu_core", "cpu_atom", "cpu_lowpower")


def read_core_kinds(files: KernelFiles, cpus: Sequence[int]) -> tuple[tuple[int, ...], ...]:
    """Returns the processors of each kind of core among `cpus`, ascending; () if all are of one kind."""
    lists = [readable_cpu_list(files.text(f"/sys/devices/{device}/cpus")) or () for device in _DEVICES]
    if not any(lists):
        of_capacity: dict[int, list[int]] = {}
        for cpu in cpus:
            if (capacity := files.number(f"/sys/devices/system/cpu/cpu{cpu}/cpu_capacity")) is not None:
                of_capacity.setdefault(capacity, []).append(cpu)
        lists = [tuple(members) for members in of_capacity.values()]
    kinds = sorted(filter(None, (tuple(cpu for cpu in members if cpu in cpus) for members in lists)))
    return tuple(kinds) if len(kinds) > 1 else ()
