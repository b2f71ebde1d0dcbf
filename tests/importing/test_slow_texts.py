"""No output of a tool takes more than linear time to read, whatever its format's own literals and patterns are repeated into.

STEELYARD_ATTACK=50 tries fifty times as many texts, and measures up to 4 MB.
"""

import os
import random
import time
from collections.abc import Callable
from functools import cache, partial
from itertools import pairwise

import pytest

from foreign_outputs import OUTPUTS
from slow_texts import Recipe, processor_seconds
from steelyard.importing import reading
from steelyard.system.signals import TimeOver, time_limit

pytestmark = pytest.mark.attack

TIMES = int(os.environ.get("STEELYARD_ATTACK") or 1)
TEXTS = 5 * TIMES  # for each format
FIRST = 24 << 10  # bytes, at which the slowest text is chosen
SIZES = [32 << 10, 128 << 10, *((1 << 20, 4 << 20) if TIMES > 1 else ())]
REPEATED = (32 << 10, 128 << 10)  # bytes of a sample whose lines are repeated
TOLERANCE, FLOOR = 1.3, 0.05  # of the growth, and seconds that other programs on this machine can add
WAITS = (0, 0, 0, *((5, 30, 120, 300) if TIMES > 1 else ()))  # seconds before another try: other programs end
MOST = 100.0  # seconds of a processor for a reading; `import` itself ends one after 10 s a MiB
FORMATS = {f"{form.name}.{getattr(form.read, '__name__', 'log')}": form for form in reading.find_formats()}


@cache
def samples() -> dict[str, list[str]]:
    """Returns the texts of the samples by the formats that find values in them."""
    texts: dict[str, list[str]] = {}
    for path in sorted(OUTPUTS.iterdir()):
        text = path.read_text(encoding="utf-8", errors="replace")
        for name, form in FORMATS.items():
            marked = len(text) < FIRST and any(mark in text for mark in form.marks)
            if marked and reading.read(text.encode(), [form]).values:
                texts.setdefault(name, []).append(text)
    return texts


def seconds(data: bytes) -> float:
    def read() -> None:
        with time_limit(MOST):
            reading.read(data, list(FORMATS.values()))

    try:
        return processor_seconds(read)
    except TimeOver:
        return MOST * 100


def excess(text: Callable[[int], bytes], small: int, large: int) -> float:
    """Returns the time of the large text, in times of the small one in proportion to their sizes: the least of several tries."""
    first, second, least = text(small), text(large), float("inf")
    for wait in (0, *WAITS):
        time.sleep(wait)
        proportional = min(seconds(first) for _ in range(2)) * len(second) / len(first)
        least = min(least, (seconds(second) - FLOOR) / proportional)
        if least <= TOLERANCE:
            break
    return least


@pytest.mark.parametrize("name", FORMATS)
def test_the_time_of_a_text_grows_with_its_size(name: str) -> None:
    chance = random.Random(name)
    recipes = [Recipe(FORMATS[name], chance.choice(samples()[name]), chance) for _ in range(TEXTS)]
    slowest = max(recipes, key=lambda recipe: seconds(recipe.text(FIRST)))
    for small, large in pairwise(SIZES):
        assert (times := excess(slowest.text, small, large)) <= TOLERANCE, (
            f"{times:.1f} times from {small} to {large}: {slowest}"
        )


def repeat(lines: list[bytes], size: int) -> bytes:
    """Returns each line as often as a text of this size can have it."""
    return b"".join(line * (1 + size // sum(map(len, lines))) for line in lines)


@pytest.mark.parametrize("name", FORMATS)
def test_the_time_of_a_sample_with_repeated_lines_grows_with_its_size(name: str) -> None:
    for sample in samples()[name] if TIMES > 1 else samples()[name][-1:]:
        lines = [f"{line}\n".encode() for line in sample.splitlines()]
        times = excess(partial(repeat, lines), *REPEATED)
        assert times <= TOLERANCE, f"{times:.1f} times: {sample[:200]}"
