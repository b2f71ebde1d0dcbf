"""Where messages are compared: each MPI with our programs and their peer, IMB or a plain loop; how both are run and read.

IMB's binaries come with Intel MPI's wheel and speak the ABI of MPICH, so that they run on both. Open MPI has another ABI:
there the peer is loop.cpp, which counts as IMB does.
"""

import os
import re
import resource
import shlex
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from subprocess import DEVNULL, PIPE, STDOUT, Popen

from contenders import LIMIT
from hpcc import MissingError
from hpcc import run as run_tool

from steelyard.errors import MachineFailed, ProgramFailed
from steelyard.measure import build
from steelyard.measure.launch.command_text import format_command
from steelyard.measure.launch.start import start as start_ranks
from steelyard.measure.machine.rank_placement import place_ranks
from steelyard.model import Case, Launch, Machine, Site, Tool

LOOP = Path(__file__).with_name("loop.cpp")
# By the environment that gets them. impi-rt holds IMB and Intel MPI, impi-devel the wrapper by which that is known.
WHEELS = {"impi": ("impi-rt", "impi-devel"), "mpich": ("mpich>=5",)}
SIZES = (0, *(1 << k for k in range(23)))  # bytes: IMB's own
PATTERNS = {"pingpong": "PingPong", "sendrecv": "Sendrecv"}  # our kernels and IMB's names for them
MEBIBYTE, GIBIBYTE = 1 << 20, 1 << 30


@dataclass(frozen=True)
class Start:
    """How a program is started: the launcher's words before it, and the environment."""

    launcher: tuple[str, ...]
    environment: Mapping[str, str]
    program: Path

    def command(self, *words: str) -> list[str]:
        """The whole command line."""
        return [*self.launcher, str(self.program), *words]


@dataclass(frozen=True)
class Ground:
    """An MPI on which both run, on the same processors; `peer` is "imb" or "loop", `libmpi` what both load."""

    mpi: str
    cpus: tuple[int, ...]
    ours: Mapping[str, Start]  # by pattern
    peer: str
    theirs: Start
    libmpi: str = ""


@dataclass(frozen=True)
class Row:
    """A line of IMB's table: the mean time in seconds (of the slowest rank), known to ± `resolution`."""

    repetitions: int
    seconds: float
    resolution: float


# --------------------------------------------------------------------------- what they print


def rows(output: str) -> dict[int, Row]:
    """Bytes → row, from the one table in IMB's output (or the loop's). ValueError where there is none, or two."""
    found: dict[int, Row] = {}
    column = None
    for line in output.splitlines():
        words = line.split()
        if words[:2] == ["#bytes", "#repetitions"]:
            if found:
                raise ValueError("the output has two tables")
            column = next((i for i, w in enumerate(words) if w in ("t[usec]", "t_max[usec]")), None)
        elif column and len(words) > column and re.fullmatch(r"[\d.\s]+", line):
            time_of = words[column]
            digits = len(time_of.partition(".")[2])
            found[int(words[0])] = Row(int(words[1]), float(time_of) * 1e-6, 0.5e-6 * 10.0**-digits)
    if not found:
        raise ValueError(f"the output has no table: {output.strip()[-300:] or '(nothing)'}")
    return found


def off_cache(caches: int) -> list[str]:
    """IMB's words for a walk through twice these caches (bytes), and for the memory that its two buffers then need."""
    memory = max(2.0, 4.4 * caches / GIBIBYTE)  # twice twice the caches and a tenth more; IMB counts in GiB
    return ["-off_cache", f"{caches / MEBIBYTE:g},64", "-mem", f"{memory:.1f}"]


def last_level_caches(machine: Machine) -> int:
    """Bytes of all instances of the last level together, as our kernels count them."""
    data = [c for c in machine.caches if c.kind != "instruction"]
    last = max((c.level for c in data), default=0)
    # The kernels' own assumption where the system does not tell.
    return sum(c.size for c in data if c.level == last) or 32 * MEBIBYTE


# --------------------------------------------------------------------------- what is needed


def environment(name: str, install: bool) -> Path:
    """A virtual environment with its wheels from PyPI; MissingError where it cannot be had."""
    folder, wheels = build.cache() / "bench" / name, " and ".join(WHEELS[name])
    done = folder / ".done"
    if done.exists():
        return folder
    if not install:
        raise MissingError(f"{wheels} would have to be installed into {folder}")
    run_tool([sys.executable, "-m", "venv", "--without-pip", str(folder)], f"make the environment {folder}")
    # The Python at hand may have no pip of its own: then that which it comes from.
    python = next((p for p in (sys.executable, str(Path(sys.base_prefix) / "bin/python3")) if _has_pip(p)), "python3")
    pip = [python, "-m", "pip", "--python", str(folder / "bin/python"), "install", "-q", *WHEELS[name]]
    run_tool(pip, f"install {wheels} from PyPI")
    done.touch()
    return folder


def _has_pip(python: str) -> bool:
    return subprocess.run([python, "-m", "pip", "--version"], capture_output=True, check=False).returncode == 0


Programs = Callable[[Tool], Mapping[str, Path]]  # our programs by pattern, compiled against an MPI


def on_mpich(machine: Machine, programs: Programs, install: bool) -> Ground:
    """IMB on MPICH's wheel by MPICH's ABI; ours compiled against that wheel."""
    impi, mpich, compiled_with = _wheels(machine, install)
    cpus = processors(machine)
    own = {name: our_start(machine, compiled_with, program) for name, program in programs(compiled_with).items()}
    launcher = (str(mpich / "bin/mpiexec"), "-n", "2", "-bind-to", "user:" + ",".join(map(str, cpus)))
    theirs = Start(launcher, {**os.environ, "LD_LIBRARY_PATH": str(mpich / "lib")}, impi / "bin/IMB-MPI1")
    return same_library(Ground(build.mpi_name(compiled_with), cpus, own, "imb", theirs))


def on_intel(machine: Machine, programs: Programs, install: bool) -> Ground:
    """IMB on Intel MPI; ours compiled against MPICH, and started with Intel's launcher and library."""
    impi, _, compiled_with = _wheels(machine, install)
    cpus = processors(machine)
    release = re.search(r"impi_rt-([\d.]+)\.", " ".join(map(str, impi.glob("lib/python*/site-packages/impi_rt-*"))))
    tool = Tool("intelmpi", str(impi / "bin/mpicxx"), release[1] if release else "unknown")
    library = {"LD_LIBRARY_PATH": str(impi / "lib"), "I_MPI_ROOT": str(impi)}
    own = {name: our_start(machine, tool, program, library) for name, program in programs(compiled_with).items()}
    pinned = {**os.environ, **library, "I_MPI_PIN_PROCESSOR_LIST": ",".join(map(str, cpus))}
    theirs = Start((str(impi / "bin/mpiexec"), "-n", "2"), pinned, impi / "bin/IMB-MPI1")
    return same_library(Ground(build.mpi_name(tool), cpus, own, "imb", theirs))


def _wheels(machine: Machine, install: bool) -> tuple[Path, Path, Tool]:
    """Intel MPI's environment, MPICH's, and MPICH itself."""
    impi, mpich = environment("impi", install), environment("mpich", install)
    return impi, mpich, build.resolve_mpi(str(mpich / "bin/mpicxx"), machine)


def on_site(machine: Machine, programs: Programs, compiler: str, folder: Path) -> Ground:
    """The plain loop on the MPI of this site."""
    tool = build.default_mpi(machine)
    if tool is None:
        raise MissingError("this machine has no MPI of its own; for example: apt-get install libopenmpi-dev")
    return beside_loop(tool, machine, programs, compiler, folder)


def mpis(machine: Machine, install: bool) -> list[Tool]:
    """All that this machine has, and MPICH's wheel where it has no MPICH; MissingError where that cannot be had."""
    if any(tool.name == "mpich" for tool in machine.mpis):
        return list(machine.mpis)
    return [*machine.mpis, build.resolve_mpi(str(environment("mpich", install) / "bin/mpicxx"), machine)]


def beside_loop(tool: Tool, machine: Machine, programs: Programs, compiler: str, folder: Path) -> Ground:
    """The plain loop on any MPI; both pin themselves."""
    own = {pattern: our_start(machine, tool, program) for pattern, program in programs(tool).items()}
    loop = folder / f"loop-{build.mpi_name(tool)}"
    harness = [str(part) for part in build.harness(build.resolve(compiler, machine), tool)]
    words = [tool.path, "-std=c++20", *build.FLAGS.split(), f"-I{build.NATIVE}", str(LOOP), *harness]
    words += ["-o", str(loop), "-pthread", "-ldl"]
    run_tool(words, "compile the plain loop", {**os.environ, "OMPI_CXX": compiler, "MPICH_CXX": compiler})
    theirs = replace(next(iter(own.values())), program=loop)
    return same_library(Ground(build.mpi_name(tool), processors(machine), own, "loop", theirs))


def processors(machine: Machine) -> tuple[int, ...]:
    """Of the two ranks, as our launcher places them."""
    found = place_ranks(machine, 2, None, "compact")
    if len(set(found)) < 2:
        raise MachineFailed(f"Two ranks need two processors, and this process may use only {list(machine.cpus)}.")
    return found


def our_start(machine: Machine, tool: Tool, program: Path, further: Mapping[str, str] | None = None) -> Start:
    """As `steelyard run` starts two ranks of it."""
    case = Case(program.name, "", {"ranks": 2, "mpi": "it", "placement": "compact"})
    command, variables = start_ranks(Site({"it": tool}), machine, Launch(1, program.name, "any", 1, (case,)), program)
    return Start(tuple(command[:-1]), {**variables, **(further or {})}, program)


def same_library(ground: Ground) -> Ground:
    """Asks the loader, by each side's own launcher. MissingError where they load different MPIs, or IMB is pinned wrong."""
    found = {}
    for name, start in (*ground.ours.items(), (ground.peer, ground.theirs)):
        question = f"grep Cpus_allowed_list: /proc/self/status; ldd {shlex.quote(str(start.program))}"
        said = run_tool([*start.launcher, "sh", "-c", question], f"ask what {name} loads", start.environment)
        found[name] = {os.path.realpath(path) for path in re.findall(r"libmpi\.so\.\d+ => (/\S+)", said)}
        cpus = sorted(int(c) for c in re.findall(r"Cpus_allowed_list:\s+(\d+)$", said, re.MULTILINE))
        if name == "imb" and cpus != sorted(ground.cpus):
            raise MissingError(f"IMB was to run on the processors {ground.cpus}, but its launcher bound it so:\n{said}")
    libraries = set().union(*found.values())
    if len(libraries) != 1 or not all(found.values()):
        raise MissingError(f"on {ground.mpi} both sides do not load one and the same MPI: {found}")
    return replace(ground, libmpi=libraries.pop())


# --------------------------------------------------------------------------- a run of the peer


@dataclass(frozen=True)
class Printed:
    """What a program printed: its table's seconds from head to end, those of the whole start, and page faults in all."""

    rows: Mapping[int, Row]
    sweep: float
    whole: float
    faults: int


def printed(start: Start, *words: str, sizes: Sequence[int] = SIZES) -> Printed:
    """Runs a peer; its lines are timed as they come. ProgramFailed, or ValueError where its table lacks one of the sizes."""
    command, settings = start.command(*words), dict(start.environment)
    pages, began = resource.getrusage(resource.RUSAGE_CHILDREN).ru_minflt, time.monotonic()
    with Popen(command, env=settings, stdin=DEVNULL, stdout=PIPE, stderr=STDOUT, text=True, process_group=0) as process:
        late = threading.Timer(LIMIT, os.killpg, (process.pid, signal.SIGKILL))
        late.start()
        assert process.stdout
        lines = [(time.monotonic(), line) for line in process.stdout]
        process.wait()
        late.cancel()
    whole, output = time.monotonic() - began, "".join(line for _, line in lines)
    pages = resource.getrusage(resource.RUSAGE_CHILDREN).ru_minflt - pages
    if process.returncode != 0:
        raise ProgramFailed(
            f"Running {start.program.name}", format_command(command, settings), process.returncode, output
        )
    table = rows(output)
    if missing := [size for size in sizes if size not in table]:
        raise ValueError(f"{start.program.name} left out the sizes {missing}")
    # They write each line out as soon as it is ready.
    first = next(at for at, line in lines if line.split()[:1] == ["#bytes"])
    last = max(at for at, line in lines if line.split()[:1] == [str(sizes[-1])])
    return Printed(table, last - first, whole, pages)
