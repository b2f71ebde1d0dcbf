"""The parts of a program, and its place in the cache: under a hash of all parts."""

import hashlib
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from pathlib import Path

from steelyard.measure.build.openmp import MODEL, with_openmp
from steelyard.measure.build.toolchain import compiler_flags, mpi_name
from steelyard.model import Benchmark, Tool, Toolchain
from steelyard.system.user_cache import cache

NATIVE = Path(__file__).parents[1] / "native"
# Of a library that every process of a command loads: it needs no other one (not that of C++ either), exports MPI's calls
# only, and looks for what it calls when it calls it.
PRELOADED = "-fPIC -shared -fno-exceptions -fno-rtti -fvisibility=hidden -Wl,--as-needed,-z,lazy"
LIBRARIES = ("-pthread", "-ldl")  # threads; OpenCL and the site's BLAS are looked for when a case asks for them


def program_name(benchmark: str, model: str = "") -> str:
    """Returns the name of the program of a benchmark: with the programming model if it has several."""
    return f"{benchmark}.{model}" if model else benchmark


@dataclass(frozen=True)
class Object:
    """One source compiled; `mpi` None: without an MPI's headers."""

    name: str
    source: Path
    toolchain: Toolchain
    mpi: Tool | None = None

    @cached_property
    def key(self) -> str:
        """Returns the hash of the compiler, its flags, the MPI, the source and all our headers that it includes."""
        digest = hashlib.sha256(_describe_surroundings(self.toolchain, self.mpi).encode())
        for path in sorted(find_headers(self.source)):
            digest.update(path.name.encode() + b"\0" + path.read_bytes())
        return digest.hexdigest()[:20]

    @property
    def path(self) -> Path:
        """Returns the path of the file in the cache."""
        return cache() / "build" / self.key / f"{self.name}.o"

    @property
    def effort(self) -> float:
        """Returns the relative time of compilation: the standard headers plus our own text."""
        # Bytes; with GCC 12 the standard headers and the harness's own take as long as some 20 kB of kernels.
        paths = (path for path in find_headers(self.source) if path.parent != NATIVE or self.source.parent == NATIVE)
        return 20_000.0 + sum(path.stat().st_size for path in paths)


@dataclass(frozen=True, kw_only=True)
class Program:
    """One executable: a benchmark's own object, and the harness."""

    name: str
    source: Path
    toolchain: Toolchain
    mpi: Tool | None = None
    alone: bool = False  # without the harness, and linked with no MPI: a library for other programs
    model: str = ""

    @cached_property
    def objects(self) -> tuple[Object, ...]:
        """Returns the object files of the program itself, and then those of the harness."""
        # An object of the harness gives an OpenMP program the threads of the runtime. Its kernel is the same object as
        # with our own threads, unless the program has a source of its own for OpenMP.
        by_openmp = with_openmp(self.toolchain)
        main_object = Object(
            self.source.stem, self.source, by_openmp if self.source.stem == MODEL else self.toolchain, self.mpi
        )
        if self.alone:
            return (main_object,)
        team = (Object("team_openmp", NATIVE / "team_openmp.cpp", by_openmp),) * (self.model == MODEL)
        return (main_object, *harness_objects(self.toolchain, self.mpi), *team, *self._list_shared_objects())

    def _list_shared_objects(self) -> Iterator[Object]:
        """The parts of included headers that are compiled once for all programs: x.once.cpp beside x.h. They are not timed."""
        for path in sorted(header.with_suffix(".once.cpp") for header in find_headers(self.source)):
            if path.is_file():
                mpi = self.mpi if NATIVE / "ranks.h" in find_headers(path) else None
                yield Object(path.stem, path, _without_loops(self.toolchain), mpi)

    @property
    def linking(self) -> tuple[str, ...]:
        """Returns the flags that it is linked with."""
        return compiler_flags(with_openmp(self.toolchain) if self.model == MODEL else self.toolchain)

    @cached_property
    def key(self) -> str:
        """Returns the hash of the objects and of the libraries that are linked."""
        parts = (
            "".join(obj.key for obj in self.objects)
            + " ".join((*self.linking, *self.libraries))
            + " alone" * self.alone
        )
        return hashlib.sha256(parts.encode()).hexdigest()[:20]

    @property
    def path(self) -> Path:
        """Returns the path of the file in the cache."""
        return cache() / "build" / self.key / self.name

    @property
    def libraries(self) -> tuple[str, ...]:
        """Returns the libraries that are linked besides MPI. OpenSHMEM comes with the MPI, as a library of its own beside it."""
        if self.alone:
            return ()
        return (*LIBRARIES, "-loshmem") if self.name.endswith(".shmem") else LIBRARIES


def make_preloaded(name: str, source: Path, toolchain: Toolchain, mpi: Tool) -> Program:
    """Returns a library that is loaded into other programs before their MPI."""
    flags = f"{toolchain.flags} {PRELOADED}"
    return Program(name=name, source=source, toolchain=replace(toolchain, flags=flags), mpi=mpi, alone=True)


def programs(benchmarks: Iterable[Benchmark], toolchain: Toolchain, mpi: Tool | None = None) -> list[Program]:
    """Returns the serial programs of the benchmarks, or those of many ranks where an MPI is given and they may use it."""
    label = mpi_name(mpi) if mpi else ""
    return [
        Program(
            name=program_name(b.name, source.model),
            source=Path(source.path).resolve(),
            toolchain=toolchain,
            mpi=mpi,
            model=source.model,
        )
        for b in benchmarks
        for source in b.sources
        if not source.foreign and source.parallel == bool(mpi) and (source.mpis is None or label in source.mpis)
    ]


def harness_objects(toolchain: Toolchain, mpi: Tool | None) -> tuple[Object, ...]:
    """Returns the objects of the harness. The part without MPI is the same for all MPIs."""
    return _harness(toolchain, None) if mpi is None else (*_harness(toolchain, None), *_harness(toolchain, mpi))


@lru_cache
def _harness(toolchain: Toolchain, mpi: Tool | None) -> tuple[Object, ...]:
    quick = _without_loops(toolchain)
    if mpi:
        return (Object("rank_harness", NATIVE / "rank_harness.cpp", quick, mpi),)
    return Object("harness", NATIVE / "harness.cpp", quick), Object("probes", NATIVE / "probes.cpp", toolchain)


def _without_loops(toolchain: Toolchain) -> Toolchain:
    """Returns the toolchain for code whose speed decides no figure: with -O1 a compiler needs two thirds of the time."""
    # Readings that are missing are NaN: the user's fast arithmetic is for the kernels only.
    exact = " -fno-fast-math" if re.search("fast|finite-math", toolchain.flags) else ""
    return replace(toolchain, flags=f"{toolchain.flags.replace('-O3', '-O1')}{exact}")


def find_headers(source: Path) -> set[Path]:
    """Returns the source and all headers of ours that it includes, directly or through others."""
    files: set[Path] = set()
    left = [source]
    while left:
        path = left.pop()
        if path not in files:
            files.add(path)
            left += _list_includes(path, path.stat().st_mtime_ns)
    return files


@lru_cache(maxsize=4096)
def _list_includes(path: Path, _changed: int) -> tuple[Path, ...]:
    """Returns the headers of ours that one file names. Read once as long as it does not change."""
    headers = []
    for name in re.findall(r'^[ \t]*#[ \t]*include[ \t]+"([^"\n]+)"', path.read_text("utf-8", "replace"), re.MULTILINE):
        headers += [c.resolve() for c in (path.parent / name, NATIVE / name) if c.is_file()][:1]
    return tuple(headers)


def _describe_surroundings(toolchain: Toolchain, mpi: Tool | None) -> str:
    """Returns everything but the source that decides about the code. One MPI is one, by whatever path its wrapper was named."""
    parts = [toolchain.compiler, toolchain.version, *compiler_flags(toolchain)]
    if mpi:
        parts += [str(Path(mpi.path).parent.resolve() / Path(mpi.path).name), mpi.version]
    if "native" in toolchain.flags:  # in a home that nodes of different kinds share, each kind needs its own
        parts.append(_name_processor())
    return "\n".join(parts)


@lru_cache
def _name_processor() -> str:
    """Returns the name and the features of the first processor, which the compiler uses; "" if the system does not say."""
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        return ""
    wanted = ("model name", "flags", "Features", "CPU part", "CPU implementer")
    return "\n".join(next((line for line in lines if line.startswith(name)), "") for name in wanted)
