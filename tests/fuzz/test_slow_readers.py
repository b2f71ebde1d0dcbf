"""No reader of foreign bytes takes more than linear time for the texts that it takes, repeated in many ways.

STEELYARD_ATTACK=50 tries fifty times as many texts.
"""

import os
import random
import string
from collections.abc import Iterator

import pytest
from readers import READERS, tried

from slow_texts import SHAPES, UNITS, processor_seconds
from steelyard.system.signals import TimeOver, time_limit

pytestmark = pytest.mark.attack

TIMES = int(os.environ.get("STEELYARD_ATTACK") or 1)
TEXTS = 40 * TIMES  # for each reader
SMALL, LARGE = 32 << 10, 128 << 10  # bytes
TOLERANCE, FLOOR, TRIES, MOST = 1.3, 0.1, 4, 20.0  # as in test_slow_texts.py
OTHERS = (
    "outputs_of_tools",
    "archives_of_outputs",
)  # the former are in test_slow_texts.py; the latter have a limit of bytes


def seconds(name: str, data: bytes) -> float:
    def read() -> None:
        with time_limit(MOST):
            tried(name, data)

    try:
        return processor_seconds(read)
    except TimeOver:
        return MOST * 100


def recipes(name: str) -> Iterator[tuple[str, int, str, str, str]]:
    """Yields the begin of a text, the number of a shape, two parts of a text, and a kind of characters."""
    chance = random.Random(name)
    for _ in range(TEXTS):
        text = chance.choice(READERS[name][1]).decode("latin-1") or string.printable
        begins = [chance.randrange(len(text)) for _ in range(2)]
        first, second = (text[begin : begin + chance.randint(1, 40)] for begin in begins)
        head = text[: chance.choice((0, len(text), chance.randrange(len(text))))]
        yield head, chance.randrange(len(SHAPES)), first, second, chance.choice(UNITS)


def made(recipe: tuple[str, int, str, str, str], size: int) -> bytes:
    head, shape, first, second, unit = recipe
    return (head + SHAPES[shape](first, second, unit, size)).encode("latin-1", "replace")


@pytest.mark.parametrize("name", [name for name in READERS if name not in OTHERS])
def test_the_time_of_a_reader_grows_with_the_size_of_its_text(name: str) -> None:
    slowest = max(recipes(name), key=lambda recipe: seconds(name, made(recipe, SMALL)))
    least = float("inf")
    for _ in range(TRIES):
        proportional = min(seconds(name, made(slowest, SMALL)) for _ in range(2)) * LARGE / SMALL
        least = min(least, (seconds(name, made(slowest, LARGE)) - FLOOR) / proportional)
        if least <= TOLERANCE:
            break
    assert least <= TOLERANCE, f"{least:.1f} times: {slowest}"
