"""The speed of cores in words: '1.1' of all, '2@rank=3', '8@region=2', '4@node=0-1'; several with commas between them."""

import itertools
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal, get_args

from steelyard.errors import UsageError
from steelyard.whatif import wording

Of = Literal["rank", "node", "region"]
LAST = (1 << 53) - 1  # a number that the engine's lines hold exactly
OPTION = "--core"


@dataclass(frozen=True)
class Speed:
    """Cores of those ranks or nodes, or of all ranks in those regions, are `factor` times as fast as the others."""

    factor: float
    of: Of
    first: int
    last: int

    def __str__(self) -> str:
        places = str(self.first) if self.first == self.last else f"{self.first}-{self.last}"
        return f"× {self.factor:g} {self.of} {places}"


@dataclass(frozen=True)
class Cores:
    """The speed of all cores, against those of the trace, and of some of them besides: factors multiply."""

    all: float = 1.0
    some: tuple[Speed, ...] = ()


def cores(text: str) -> list[Cores]:
    """Each combination of the values, the last list fastest. UsageError with the word that is wrong."""
    everywhere: list[float] | None = None
    parts: list[list[Speed]] = []
    for word in text.split(","):
        values, at, where = word.partition("@")
        factors = wording.values(values, wording.factor, OPTION)
        if at:
            parts.append([_speed(factor, where) for factor in factors])
        elif everywhere is None:
            everywhere = factors
        else:
            raise UsageError(
                f"{OPTION} '{text}' has two speeds of all cores; a sweep has colons between them, as 1:2:4."
            )
    return [Cores(x, some) for x in everywhere or [1.0] for some in itertools.product(*parts)]


def _speed(factor: float, where: str) -> Speed:
    of, _, text = (part.strip() for part in where.partition("="))
    for known in get_args(Of):
        if of == known:
            return Speed(factor, known, *places(text, f"{OPTION}, {of}"))
    raise UsageError(f"{OPTION}: '@{where}' is neither rank=…, node=… nor region=…, as in 2@rank=3 or 8@region=2-4.")


def places(text: str, option: str) -> tuple[int, int]:
    """The first and the last of '3', '3-7' or '3-'."""
    first, dash, last = text.partition("-")
    numbers = [int(x) for x in _numbers(first, last)]
    if not numbers or (dash and last and len(numbers) < 2) or numbers[0] > numbers[-1] or numbers[-1] > LAST:
        raise UsageError(f"{option}: '{text}' is no number from 0 on, as 3, and no range of them, as 3-7 or 3-.")
    return numbers[0], LAST if dash and not last else numbers[-1]


def _numbers(*words: str) -> Iterator[str]:
    """Those that are whole numbers, as long as they are."""
    return itertools.takewhile(lambda word: word.isascii() and word.isdigit() and len(word) < 17, words)
