"""External programs: one file describes each, and Steelyard makes it a benchmark."""

from pathlib import Path

from steelyard.applications.foreign.benchmark import benchmark, prepared
from steelyard.applications.foreign.description import Description, read

__all__ = ["Description", "benchmark", "prepared", "read", "shipped"]


def shipped() -> dict[str, Path]:
    """The files that come with Steelyard, by name."""
    return {path.stem: path for path in sorted(Path(__file__).parent.glob("*.toml"))}
