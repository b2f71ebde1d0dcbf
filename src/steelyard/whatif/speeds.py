"""The speed of all cores, and of the cores of some ranks, nodes or regions."""

import itertools
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal, get_args

from steelyard.whatif import wording
from steelyard.whatif.wording import Named

Of = Literal["rank", "node", "region"]
LAST = (1 << 53) - 1  # the greatest number that the engine reads exactly


@dataclass(frozen=True)
class Speed:
    """A factor of the speed of the cores of some ranks or nodes, or of all cores in some regions."""

    factor: float
    of: Of
    first: int
    last: int

    def __str__(self) -> str:
        return f"× {self.factor:g} {self.of} {format_span((self.first, self.last))}"


@dataclass(frozen=True)
class Cores:
    """The speed of all cores as a multiple of those of the trace, and further factors of some cores."""

    all: float = 1.0
    some: tuple[Speed, ...] = ()


def parse_span(text: str) -> tuple[int, int]:
    """Returns the first and the last number of '3', '3-7' or '3-'. ValueError if the text is none of these."""
    first, dash, last = (part.strip() for part in text.partition("-"))
    numbers = [int(x) for x in (first, last) if x.isascii() and x.isdigit() and len(x) < 17]
    if len(numbers) < 1 + bool(last) or not first or numbers[0] > numbers[-1] or numbers[-1] > LAST:
        raise ValueError(f"'{text}' is neither a number from 0 on, such as 3, nor a range such as 3-7 or 3-")
    return numbers[0], LAST if dash and not last else numbers[-1]


def format_span(span: tuple[int, int]) -> str:
    """Returns the text that `parse_span` reads."""
    first, last = span
    return str(first) if first == last else f"{first}-{'' if last == LAST else last}"


CORE = {"all": wording.FACTOR} | {of: Named(parse_span, wording.FACTOR) for of in get_args(Of)}


def make_cores(table: Mapping[str, Any]) -> list[Cores]:
    """Returns each combination of the values of a table with the keys in `CORE`, the last list fastest; factors of 1 are none."""
    lists = [
        [Speed(factor, of, *places) for factor in factors]
        for of in get_args(Of)
        for places, factors in table.get(of, {}).items()
    ]
    combinations = [tuple(speed for speed in some if speed.factor != 1) for some in itertools.product(*lists)]
    return [Cores(x, some) for x in table.get("all", [1.0]) for some in combinations]
