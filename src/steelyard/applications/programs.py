"""Door: programs that Steelyard does not build. A file NAME.toml describes each."""

from pathlib import Path
from typing import TYPE_CHECKING

from steelyard.applications.foreign import make_benchmark, read, shipped

if TYPE_CHECKING:
    from steelyard.measure.launch.program import Conversation
    from steelyard.model import Benchmark, Launch, Machine, Site

__all__ = ["SUFFIX", "benchmark_of", "is_described", "shipped", "start"]

SUFFIX = ".toml"


def is_described(path: Path) -> bool:
    """Returns whether the file describes a program of this kind."""
    return path.suffix == SUFFIX


def benchmark_of(path: Path) -> "Benchmark":
    """Returns the described program as a benchmark. UsageError for a file that breaks the schema."""
    return make_benchmark(read(path), path)


def start(path: Path, site: "Site", machine: "Machine", launch: "Launch", pace_reader: Path | None) -> "Conversation":
    """A conversation with the described program. `pace_reader` is a kernel program that reads the pace between its runs."""
    from steelyard.applications.foreign.application import Application

    return Application(path, site, machine, launch, pace_reader)
