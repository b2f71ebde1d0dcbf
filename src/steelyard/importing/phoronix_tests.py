"""Results of the tests of the Phoronix Test Suite, as its files and its screen have them."""

from collections.abc import Iterator, Sequence
from math import isclose

from steelyard.importing.values import UNITS, Given, make_printed, number, spell
from steelyard.model import Better
from steelyard.model.foreign import ForeignValue

_METRICS = {"s": "time", "B/s": "bandwidth", "flop/s": "flops"}


def make_results(
    test: str, description: str, scale: str, runs: Sequence[str], value: str, more: Given, better: Better | None
) -> Iterator[ForeignValue]:  # fmt: skip
    """Yields the result of each run of a test such as "pts/stream", and what they amount to, if it has a value.

    The fields of the description, "Type: Copy - Threads: 4", are parameters. Without a direction, the unit says what is better.
    """
    name = test.rpartition("/")[2] or "unknown"
    metric = _METRICS.get(UNITS.get(spell(scale) or "", (1.0, ""))[1], "result")
    fields = [field.partition(": ") for field in description.split(" - ") if field]
    about: Given = {**{k if v else "options": v or k for k, _, v in fields}, **more}
    words = [(number(word), "one run") for word in runs]
    if value:
        mean = words and isclose(sum(w for w, _ in words) / len(words), number(value), rel_tol=0.01)
        words.append((number(value), "mean" if mean else "as printed"))
    for word, statistic in words:
        yield make_printed(f"phoronix.{name}", name, metric, word, scale, statistic, about, better=better)
