"""The start-up tests of the OSU micro-benchmarks: osu_init. (osu_hello prints no figure.)

https://mvapich.cse.ohio-state.edu/benchmarks/
"""

from collections.abc import Iterator

from steelyard.importing.text import Text
from steelyard.importing.values import make
from steelyard.model.foreign import ForeignValue

TOOL = "OSU micro-benchmarks"
MARKS = ("# OSU MPI Init",)
LINE = r"\s*nprocs: (\d+), min: (\S+) ms, max: (\S+) ms, avg: (\S+) ms"
STATISTICS = ("least of the ranks", "greatest of the ranks", "mean")


def read(text: Text) -> Iterator[ForeignValue]:
    """Yields the times of MPI_Init."""
    for found, place in text.match(LINE):
        with text.row(place):
            for word, statistic in zip(found.groups()[1:], STATISTICS, strict=True):
                yield make("osu.init", "init", "time", word, "ms", statistic, {"ranks": int(found[1])})
