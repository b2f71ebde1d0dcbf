"""The machines that the tests visit, and what is brought back from each: runs that were made in the guest."""

import compileall
import os
import sys
import tempfile
import traceback
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import guest
from guest import MEBIBYTE, OUTSIDE, Shape
from kernel import Kernel, MissingError, kernel, prepare

import steelyard
from steelyard.judge import evaluation
from steelyard.measure import build, records
from steelyard.measure.machine import describe
from steelyard.measure.plan import catalogue
from steelyard.model import Evaluation, Machine

# A guest needs one to two minutes on two quiet cores; this is for crowded ones.
LIMIT_SECONDS = 400
# Ordinary pages, so that shares of nodes are exact: a large page is on one node as a whole.
SIZES = ("elements=1m", "bytes=2m", "page_size=4k")
POLICIES = ("local", "interleave", "bind:0", "bind:1")  # and, by measure.py, one that is not there
# Processors of "two sockets", and where memory that they touch first must be.
PINNINGS = {"0,1": {0: 1.0}, "2,3": {1: 1.0}, "0,2": {0: 0.5, 1: 0.5}}


def _distances(nodes_of_socket: int) -> tuple[tuple[int, ...], ...]:
    """As firmware states them: 10 to itself, 12 within a socket, 21 between sockets."""
    nodes = range(2 * nodes_of_socket)
    socket = [node // nodes_of_socket for node in nodes]
    return tuple(tuple(10 if i == j else 12 if socket[i] == socket[j] else 21 for j in nodes) for i in nodes)


SHAPES = (
    Shape("two sockets", 2, 1, 2, 768 * MEBIBYTE, _distances(1)),
    Shape("two sockets of two nodes", 2, 2, 2, 448 * MEBIBYTE, _distances(2)),
)


@dataclass(frozen=True)
class Visit:
    """What came back from a guest."""

    shape: Shape
    codes: Mapping[str, int]
    told: str
    placement: Evaluation
    stream: Evaluation | None
    command: Evaluation | None  # the run of the command line

    @property
    def machine(self) -> Machine:
        return self.placement.run.machine


def _jobs(shape: Shape, toolchain: str) -> list[list[str]]:
    """Every guest measures the placements; the first also each memory policy, and runs the command line."""
    measuring = [sys.executable, str(Path(__file__).with_name("measure.py")), toolchain, f"{OUTSIDE}/runs"]
    measuring += ["memory.placement", *SIZES]
    if shape is not SHAPES[0]:
        return [["measure", *measuring]]
    triad = ["kernel=triad", "stores=ordinary", *SIZES[::2]]
    measuring += [",", "memory.stream", *triad, "threads=2", "pinning=" + ";".join(PINNINGS)]
    measuring += ["memory_policy=" + ",".join(POLICIES)]
    command = [sys.executable, "-c", "from steelyard.__main__ import main; main()"]
    command += ["run", "--only", "memory.stream"]
    for setting in (*triad, "threads=4", "pinning=compact", "memory_policy=interleave"):
        command += ["--set", setting]
    command += ["--toolchain", toolchain, "--runs", f"{OUTSIDE}/command", "--quiet"]
    return [["measure", *measuring], ["command", *command]]


@cache
def visited(shape: Shape) -> Visit | str:
    """The one visit to a guest of this shape that all tests look at, or why there is none."""
    try:
        prepare()
        started = kernel()
        with tempfile.TemporaryDirectory(prefix="steelyard-guest-") as folder:
            return _visit(shape, started, Path(folder))
    except (MissingError, guest.GuestError) as failure:
        return str(failure)
    except Exception:
        return traceback.format_exc()  # told by every test, but the guest is not started anew for each


def _visit(shape: Shape, started: Kernel, outside: Path) -> Visit:
    here = describe()
    # The emulated processor is a plain one: nothing is compiled for the host's own.
    toolchain = f"{build.default(here)} -O2 -march=x86-64"
    chosen = catalogue.choose(catalogue.find(()), ["memory.placement", "memory.stream"])
    build.build(chosen.values(), build.resolve(toolchain, here))
    source = Path(steelyard.__file__).parent
    compileall.compile_dir(source, quiet=2)  # once here, not slowly in each guest
    # What decides which compiler is found must be the same in the guest, or it looks for other programs.
    environment = {
        name: os.environ[name] for name in ("PATH", "LD_LIBRARY_PATH", "LANG", "LC_ALL") if name in os.environ
    }
    environment |= {"HOME": "/run", "TMPDIR": "/run", "PYTHONPATH": str(source.parent)}
    environment |= {"PYTHONFAULTHANDLER": "1"}  # an interpreter that crashes there says where
    environment |= {"STEELYARD_CACHE": str(build.cache().resolve())}
    codes = guest.visit(
        shape,
        started,
        _jobs(shape, toolchain),
        environment=environment,
        outside=outside,
        seconds=LIMIT_SECONDS,
    )
    told = guest.told(outside)
    if codes["measure"] != 0:
        raise guest.GuestError(f"The measurement in the guest '{shape.name}' failed:\n{told}")
    placement, stream = (_judged(outside / "runs" / name) for name in ("memory.placement", "memory.stream"))
    assert placement, "the measurement has ended well"
    return Visit(shape, codes, told, placement, stream, _judged(outside / "command"))


def _judged(runs: Path) -> Evaluation | None:
    """The one run below `runs`; None where this guest had none to make."""
    found = records.all_runs(runs)
    if not found:
        return None
    judged = evaluation.evaluate(found[0])
    len([*judged.run.records])  # read before the folder goes
    return judged
