"""Different names for runs of the same name, such as those that several hosts began in the same second."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class Named:
    """Three names of a side: the usual one, which two sides may share, the one with the host, and the path."""

    name: str
    with_host: str
    path: str


def name_run(run: str, host: str, path: str) -> Named:
    """Returns the names of a run."""
    return Named(run, f"{run} on {host}" if host else run, path)


def tell_apart(sides: Sequence[Named]) -> list[str]:
    """Returns a name for each side: the usual one where no other side has it."""
    names = [side.name for side in sides]
    for further in ([side.with_host for side in sides], [side.path for side in sides]):
        numbers = Counter(names)
        names = [more if numbers[name] > 1 else name for name, more in zip(names, further, strict=True)]
    return names
