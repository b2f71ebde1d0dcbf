"""The four weighted speeds of the eight modules of `core.flops`: each with another share of divisions."""

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True)
class Operations:
    """The operations of one pass of a module: additions, subtractions, multiplications, divisions."""

    add: int
    sub: int
    mul: int
    div: int

    @property
    def total(self) -> int:
        return self.add + self.sub + self.mul + self.div


# By module. Source: the table of A. Aburto's flops.c, version 2.0 (1992).
MODULES: dict[int, Operations] = {
    1: Operations(7, 0, 6, 1),
    2: Operations(3, 2, 1, 1),
    3: Operations(6, 2, 9, 0),
    4: Operations(7, 0, 8, 0),
    5: Operations(13, 0, 15, 1),
    6: Operations(13, 0, 16, 0),
    7: Operations(3, 3, 3, 3),
    8: Operations(13, 0, 17, 0),
}
# By mix: how many passes of which module it takes. Source: as above.
MIXES: dict[int, dict[int, int]] = {
    1: {2: 5, 3: 1},
    2: {1: 1, 3: 1, 4: 1, 5: 1, 6: 1, 7: 4},
    3: {1: 1, 3: 1, 4: 1, 5: 1, 6: 1, 7: 1, 8: 1},
    4: {3: 1, 4: 1, 6: 1, 8: 1},
}


def operations(mix: int) -> int:
    """Returns the operations of one pass of the mix: 52, 152, 146 and 91."""
    return sum(MODULES[module].total * times for module, times in MIXES[mix].items())


def divisions(mix: int) -> float:
    """Returns the share of divisions in all operations."""
    return sum(MODULES[module].div * times for module, times in MIXES[mix].items()) / operations(mix)


def speeds(seconds: Mapping[int, float]) -> dict[int, float]:
    """Returns the speed (flop/s) of each mix from the seconds of a pass of each module: MFLOPS(1) = 52/(5·m2 + m3) and so on.

    A mix that needs a module without a positive time is left out.
    """
    positive = {module: time for module, time in seconds.items() if time > 0}
    return {
        mix: operations(mix) / sum(positive[module] * times for module, times in needed.items())
        for mix, needed in MIXES.items()
        if needed.keys() <= positive.keys()
    }
