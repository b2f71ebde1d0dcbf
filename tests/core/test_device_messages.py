"""Messages from the memory of devices: a real MPI moves them, up to a driver whose devices have the memory of the host."""

from pathlib import Path

import pytest

import fake_cuda
from mpis import FLAVOURS, mpi
from steelyard.errors import UsageError
from steelyard.measure import build
from steelyard.measure.launch.program import Program
from steelyard.measure.launch.start import start
from steelyard.measure.plan import EFFORTS, catalogue, make
from steelyard.measure.plan.refusal import refuse
from steelyard.model import Case, Launch, Machine, Site

SHORT = "ranks=2 seconds=0.01 least=2 most=3"
CASES = (
    ("network.pingpong", "kernel=pingpong message_bytes=0"),
    ("network.pingpong", "kernel=pingpong message_bytes=5000"),
    ("network.pingpong", "kernel=pingpong message_bytes=3000000"),
    ("network.transfer", "kernel=transfer message_bytes=70001 direction=two-way"),
    ("network.transfer", "kernel=pairs round=0 together=yes message_bytes=129"),
    ("network.sendrecv", "kernel=exchange message_bytes=40000"),
    ("network.rate", "kernel=one_way pairs=1 window=8 message_bytes=64"),
    ("network.bisection", "kernel=head_to_head pairs=1 message_bytes=1000"),
    *(("network.collectives", f"kernel={kernel} message_bytes=4000") for kernel in ("bcast", "allreduce", "ialltoall", "scan")),
)  # fmt: skip


def answer(name: str, words: str, machine: Machine, environment: dict[str, str], flavour: str) -> dict[str, object]:
    """The answer of two ranks to one case."""
    tool = mpi(flavour, machine)
    benchmark = catalogue.find()[name]
    built = build.build([benchmark], build.resolve(build.default(machine), machine), tool)[name]
    case = Case(name, words.split(maxsplit=1)[0].removeprefix("kernel="), {"ranks": 2, "mpi": "any"})
    with pytest.MonkeyPatch.context() as patch:
        for variable, value in environment.items():
            patch.setenv(variable, value)
        program = Program(*start(Site({"any": tool}), machine, Launch(1, name, "any", 1, (case,)), built), 5)
        try:
            return program.ask(f"case=0 {words} {SHORT}", 120)
        finally:
            program.close()


@pytest.mark.sampled(5)
@pytest.mark.parametrize("door", ["cuda", "hip"])
@pytest.mark.parametrize("flavour", FLAVOURS)
@pytest.mark.parametrize(("name", "words"), CASES)
def test_messages_from_devices_arrive_and_the_check_finds_what_is_wrong(
    name: str, words: str, flavour: str, door: str, here: Machine, tmp_path: Path
) -> None:
    given = fake_cuda.environment(tmp_path, door, devices=2) | {"STEELYARD_DEVICE_MPI": "1"}
    found = [answer(name, f"{words} buffers=device{plant}", here, given, flavour) for plant in ("", " plant=wrong")]
    assert [a.get("error") for a in found] == [None] * 2
    assert [a["check"]["passed"] for a in found] == [True, False]  # type: ignore[index]


def test_an_mpi_that_cannot_send_memory_of_devices_is_refused(here: Machine, tmp_path: Path) -> None:
    name, words = CASES[1]
    without = answer(name, f"{words} buffers=device", here, fake_cuda.environment(tmp_path), "default")
    assert "needs an MPI that sends memory of CUDA, and this one says no (MPIX_Query_cuda_support)" in str(
        without["error"]
    )
    assert "STEELYARD_DEVICE_MPI=1" in str(without["error"])
    nothing = {"STEELYARD_CUDA": "/nonexistent.so", "STEELYARD_HIP": "/nonexistent.so"}
    assert "no driver of this machine (CUDA, HIP) has a device" in str(
        answer(name, f"{words} buffers=device", here, nothing, "default")["error"]
    )


def test_a_device_that_fails_while_messages_are_filled_ends_in_a_sentence(here: Machine, tmp_path: Path) -> None:
    given = fake_cuda.environment(tmp_path, fail="cuMemcpyHtoDAsync_v2:1:700") | {"STEELYARD_DEVICE_MPI": "1"}
    found = answer("network.pingpong", "kernel=pingpong message_bytes=64 buffers=device", here, given, "default")
    assert "failed to take data: a kernel used memory that is not its own (error 700)" in str(found["error"])


def test_buffers_of_devices_are_planned_on_request_only(here: Machine) -> None:
    names = {name for name, _ in CASES}
    chosen = {name: b for name, b in catalogue.find().items() if name in names}
    usual = make(chosen, here, EFFORTS["quick"], {}, ("gcc",), mpis=("any",))
    assert not [c for launch in usual.launches for c in launch.cases if c.parameters.get("buffers") == "device"]
    asked = make(chosen, here, EFFORTS["quick"], {"buffers": ("device",), "ranks": (2,)}, ("gcc",), mpis=("any",))
    planned = {
        c.benchmark for launch in asked.launches for c in launch.cases if c.parameters.get("buffers") == "device"
    }
    assert planned == names
    onesided = {"network.onesided": catalogue.find()["network.onesided"]}
    with pytest.raises(UsageError, match="buffers"):
        refuse(onesided, here, EFFORTS["quick"], {"buffers": ("device",)})
