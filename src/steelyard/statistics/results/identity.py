"""Which results and records are of the same case, or of the same but for some parameters."""

from steelyard.model import Record, Result

Identity = tuple[object, ...]


def identity(measured: Record | Result, *but: str) -> Identity:
    """Benchmark, kernel and every parameter but those named: equal for all that are the same case but for these."""
    rest = sorted((name, str(value)) for name, value in measured.parameters.items() if name not in but)
    return (measured.benchmark, measured.kernel, *rest)
