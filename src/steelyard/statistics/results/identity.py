"""Identity of the case of a result or record, with or without some parameters."""

from steelyard.model import Record, Result

Identity = tuple[object, ...]


def identity(measured: Record | Result, *but: str) -> Identity:
    """Returns benchmark, kernel and all parameters but those named: equal for cases that differ only in these."""
    rest = sorted((name, str(value)) for name, value in measured.parameters.items() if name not in but)
    return (measured.benchmark, measured.kernel, *rest)
