"""External programs: one file describes each, and Steelyard makes it a benchmark."""

from pathlib import Path

from steelyard.applications.foreign.benchmark import make_benchmark, prepare_case
from steelyard.applications.foreign.description import Description, read

__all__ = ["Description", "make_benchmark", "prepare_case", "read", "shipped"]


def shipped() -> dict[str, Path]:
    """Returns the files that come with Steelyard, by name."""
    return {path.stem: path for path in sorted(Path(__file__).parent.glob("*.toml"))}
