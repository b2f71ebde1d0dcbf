"""Identity of the case of a result or record, with or without some parameters."""

from typing import Protocol

from steelyard.model import UNCHANGED, Parameters

Identity = tuple[object, ...]


class Case(Protocol):
    """A measured or planned case: a record, a result, or what is kept of one."""

    @property
    def benchmark(self) -> str: ...

    @property
    def kernel(self) -> str: ...

    @property
    def parameters(self) -> Parameters: ...


def identity(measured: Case, *but: str) -> Identity:
    """Returns benchmark, kernel and all parameters but those named: equal for cases that differ only in these.

    A case of a run with variants that none of them changes is the same as that of a run without variants.
    """
    rest = sorted(
        (name, str(value))
        for name, value in measured.parameters.items()
        if name not in but and (name, value) != ("variant", UNCHANGED)
    )
    return (measured.benchmark, measured.kernel, *rest)
