"""Other people's programs: one file each says how a program is run, and is made a benchmark like all others."""

from importlib.resources import files as package_files
from pathlib import Path

from steelyard.applications.benchmark import benchmark, prepared
from steelyard.applications.description import Description, read
from steelyard.errors import UsageError, nearest
from steelyard.files import is_file

__all__ = ["Description", "benchmark", "described", "find", "prepared", "read", "shipped"]

SUFFIX = ".toml"


def shipped() -> dict[str, Path]:
    """The files that come with Steelyard, by name."""
    folder = Path(str(package_files("steelyard") / "applications"))
    return {path.stem: path for path in sorted(folder.glob(f"*{SUFFIX}"))}


def find(name: str) -> Path:
    """The path that `name` is, or the shipped file of that name. UsageError when there is neither."""
    path, known = Path(name), shipped()
    if name in known:
        return known[name]
    if is_file(path) and path.suffix == SUFFIX:
        return path.resolve()
    raise UsageError(
        f"There is no application '{name}' (given by --app). {nearest(name, known)} Or give the path of a file NAME{SUFFIX}."
    )


def described(path: Path) -> bool:
    """Whether a program is one that a file describes, and that is not built."""
    return path.suffix == SUFFIX
