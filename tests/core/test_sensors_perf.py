"""RAPL by perf: the kernel's files as they are printed for a server of two sockets, and events that are real or made of pipes."""

import os
import struct
import tempfile
from collections import deque
from collections.abc import Callable, Iterator, Mapping
from itertools import repeat
from pathlib import Path

import pytest
from test_sensors import RAPL, SOCKETS, as_an_ordinary_user, sensors, tree, values

from steelyard.measure.telemetry.sampler import select_summed
from steelyard.measure.telemetry.sensors import Found, find, perf

PMU = perf.FOLDER
SCALE = "2.3283064365386962890625e-10"
# Linux 6 on two sockets: the kernel's own texts of arch/x86/events/rapl.c.
SERVER = {
    f"{PMU}/type": "24",
    f"{PMU}/cpumask": "0,16",
    f"{PMU}/format/event": "config:0-7",
    **{
        f"{PMU}/events/energy-{domain}{suffix}": text
        for domain, event in (("cores", "0x01"), ("pkg", "0x02"), ("ram", "0x03"), ("psys", "0x05"))
        for suffix, text in (("", f"event={event}"), (".scale", SCALE), (".unit", "Joules"))
    },
    **{f"sys/devices/system/cpu/cpu{cpu}/topology/physical_package_id": p for cpu, p in (("0", "0"), ("16", "1"))},
    "proc/sys/kernel/perf_event_paranoid": "2",
}
# What one socket of it is, with the platform's counter left out.
SOCKET = {name: text for name, text in {**SERVER, f"{PMU}/cpumask": "0"}.items() if "psys" not in name}
SOFTWARE = {**SOCKET, f"{PMU}/type": "1", f"{PMU}/events/energy-pkg": "event=0x00"}  # the clock of a processor, in ns

Opener = Callable[[int, int, int], int]


class Counts:
    """Opens what looks like an event: each read gives 8 bytes, the next multiple of the domain's step (0: it never counts)."""

    def __init__(self, still: tuple[int, ...] = ()) -> None:
        self.asked: list[tuple[int, int, int]] = []
        self.still = still
        self.writers: list[int] = []

    def __call__(self, kind: int, config: int, cpu: int) -> int:
        self.asked.append((kind, config, cpu))
        if config in self.still:
            return os.open("/dev/zero", os.O_RDONLY)
        reader, writer = os.pipe()
        step = (100 * config + cpu) << 32  # joules
        os.write(writer, b"".join(struct.pack("<Q", turn * step) for turn in range(1, 500)))
        self.writers.append(writer)
        return reader


@pytest.fixture
def counts() -> Iterator[Counts]:
    made = Counts()
    yield made
    for writer in made.writers:
        os.close(writer)


def found(root: Path, files: Mapping[str, str], opener: Opener) -> Found:
    return perf.find(tree(root, files), opener)


def closed(found: Found) -> None:
    for device in found.devices:
        device.close()


def test_each_domain_of_each_package_is_counted_on_the_processor_that_the_kernel_names(
    counts: Counts, tmp_path: Path
) -> None:
    there = found(tmp_path, SERVER, counts)
    assert there.refused == ()
    assert {*counts.asked} == {(24, event, cpu) for event in (1, 2, 3) for cpu in (0, 16)} | {(24, 5, 0)}
    first, second = values(there), values(there)
    assert {name: second[name] - first[name] for name in first} == {
        "rapl/package-0": 200, "rapl/package-0/core": 100, "rapl/package-0/dram": 300, "rapl/psys": 500,
        "rapl/package-1": 216, "rapl/package-1/core": 116, "rapl/package-1/dram": 316,
    }  # fmt: skip
    package = sensors(there)["rapl/package-0"]
    assert (package.source, package.quantity, package.range) == ("RAPL (perf)", "energy", 2.0**32)
    assert package.resolution == 2**-14
    closed(there)


def test_what_holds_what_is_as_by_powercap(counts: Counts, tmp_path: Path) -> None:
    by_files = find(tree(tmp_path / "files", SOCKETS))
    by_perf = found(tmp_path / "perf", SERVER, counts)
    parts = {name: sensor.part_of for name, sensor in sensors(by_perf).items()}
    assert parts == {name: sensor.part_of for name, sensor in sensors(by_files).items()} | {
        "rapl/package-1/core": "rapl/package-1"
    }
    assert [sensor.name for sensor in select_summed([*sensors(by_perf).values()])] == ["rapl/psys"]
    closed(by_perf)


def test_what_powercap_gives_is_not_counted_again(counts: Counts, tmp_path: Path) -> None:
    tree(tmp_path, SOCKETS)
    there = found(tmp_path, SERVER, counts)
    assert [*sensors(there)] == ["rapl/package-1/core"]  # the files have all else
    assert sensors(there)["rapl/package-1/core"].part_of == "rapl/package-1"  # which is one of theirs
    closed(there)
    both = [*sensors(find(tmp_path)).values(), *sensors(there).values()]
    assert len({sensor.name for sensor in both}) == len(both)
    assert [sensor.name for sensor in select_summed(both)] == ["rapl/psys"]


def test_where_powercap_may_not_be_read_perf_is_found_in_its_place(counts: Counts) -> None:
    with tempfile.TemporaryDirectory() as folder:
        root = tree(Path(folder), {**SOCKETS, **SERVER})
        root.chmod(0o755)
        for counter in (root / RAPL).glob("*/energy_uj"):
            counter.chmod(0)
        with as_an_ordinary_user():
            there = perf.find(root, counts)
    assert [sensor.name for sensor in select_summed([*sensors(there).values()])] == ["rapl/psys"]
    assert len(sensors(there)) == 7
    closed(there)


def test_a_counter_that_is_connected_to_nothing_holds_nothing(counts: Counts, tmp_path: Path) -> None:
    """As the psys of a hypervisor, which stands at 0."""
    counts.still = (5,)
    there = found(tmp_path, SERVER, counts)
    assert "rapl/psys" not in sensors(there)
    assert sensors(there)["rapl/package-0"].part_of == ""
    assert "rapl/psys of perf is left out: it counted nothing within 50 ms" in there.refused[0]
    closed(there)
    counts.still = (1, 2, 3, 5)
    nothing = found(tmp_path, SERVER, counts)
    assert nothing.devices == ()
    assert len(nothing.refused) == 1


def test_two_dies_of_a_package_are_two_domains(counts: Counts, tmp_path: Path) -> None:
    dies = {f"sys/devices/system/cpu/cpu{cpu}/topology/{file}": text for cpu, file, text in (
        (0, "physical_package_id", "0"), (0, "die_id", "0"), (16, "physical_package_id", "0"), (16, "die_id", "1"),
    )}  # fmt: skip
    there = found(tmp_path, {**SERVER, **dies}, counts)
    assert {"rapl/package-0-die-0", "rapl/package-0-die-1/dram"} <= {*sensors(there)}
    closed(there)


@pytest.mark.parametrize(
    ("file", "text"),
    [
        (f"{PMU}/type", "many"),
        (f"{PMU}/cpumask", ""),
        (f"{PMU}/events/energy-pkg", "event=two"),
        (f"{PMU}/events/energy-pkg.scale", "0"),
        (f"{PMU}/events/energy-pkg.unit", "Watts"),
    ],
)
def test_files_that_say_nothing_of_an_energy_are_no_sensors(
    counts: Counts, tmp_path: Path, file: str, text: str
) -> None:
    there = found(tmp_path, {**SOCKET, file: text}, counts)
    assert "rapl/package-0" not in sensors(there)
    closed(there)


def test_events_that_may_not_be_opened_are_a_sentence_that_says_what_allows_it(tmp_path: Path) -> None:
    def refuses(kind: int, config: int, cpu: int) -> int:
        raise PermissionError(13, "Permission denied")

    (sentence,) = found(tmp_path, SOCKET, refuses).refused
    assert "kernel.perf_event_paranoid is 2" in sentence
    assert "sysctl kernel.perf_event_paranoid=0" in sentence


def test_an_event_that_the_kernel_does_not_know_leaves_none_open(counts: Counts, tmp_path: Path) -> None:
    def opener(kind: int, config: int, cpu: int) -> int:
        if config == 3:
            raise OSError(22, "Invalid argument")
        return counts(kind, config, cpu)

    before = len(os.listdir("/proc/self/fd"))
    (sentence,) = found(tmp_path, SOCKET, opener).refused
    assert "cannot be opened: Invalid argument" in sentence
    assert len(os.listdir("/proc/self/fd")) == before + len(counts.writers)


def test_an_event_that_ends_is_an_error_and_no_reading(tmp_path: Path, counts: Counts) -> None:
    there = found(tmp_path, SOCKET, counts)
    while counts.writers:
        os.close(counts.writers.pop())
    with pytest.raises(OSError, match="has stopped counting"):
        deque(map(values, repeat(there)), 0)
    closed(there)


# The kernel's own events: of software, since a virtual machine has none of RAPL


def real(kind: int, config: int, cpu: int) -> int:
    try:
        return perf.open_event(kind, config, cpu)
    except PermissionError:
        pytest.skip("needs the right to open perf events of all processes")


@pytest.mark.site
def test_the_kernel_opens_an_event_of_a_processor_and_counts_it(tmp_path: Path) -> None:
    only = {name: text for name, text in SOFTWARE.items() if "cores" not in name and "ram" not in name}
    there = found(tmp_path, {**only, f"{PMU}/events/energy-pkg.scale": "1e-9"}, real)
    first, second = there.devices[0].read()[0], there.devices[0].read()[0]
    assert second.value - first.value > 0  # s of that processor's clock
    assert second.value - first.value == pytest.approx((second.at - first.at) * 1e-9, rel=0.5)
    closed(there)


def test_who_has_no_right_to_it_is_refused_by_the_kernel(tmp_path: Path) -> None:
    level = int(Path("/proc/sys/kernel/perf_event_paranoid").read_text())
    if level < 1:
        pytest.skip("this kernel lets everybody open events of all processes")

    def as_nobody(kind: int, config: int, cpu: int) -> int:
        with as_an_ordinary_user():
            return perf.open_event(kind, config, cpu)

    there = found(tmp_path, SOFTWARE, as_nobody)
    assert there.devices == ()
    assert "you may not open its events" in there.refused[0]
