"""Damaged outputs of other tools: truncated, spliced, with other numbers, units, columns and lines.

`python tests/helpers/mutants.py NUMBER [SEED]` reads so many, and writes those that gave a wrong value (see printed_values.py).
"""

import random
import re
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from foreign_outputs import OUTPUTS
from printed_values import Learned, find_wrong, learn
from steelyard.importing.reading import find_formats, read

SHORT, LONG = 4 << 10, 16 << 10  # bytes to which outputs are cut for speed


def cases(most: int) -> dict[str, bytes]:
    """The undamaged outputs, cut to that many bytes at the end of a line."""
    files = {path.name: path.read_bytes() for path in sorted(OUTPUTS.iterdir()) if path.suffix != ".csv"}
    return {name: data[: data.rfind(b"\n", 0, most) + 1] if len(data) > most else data for name, data in files.items()}


def damage(chance: random.Random, files: Sequence[bytes]) -> bytes:
    """One or two kinds of damage to one of the files."""
    data = chance.choice(files)
    for _ in range(chance.choice((1, 1, 1, 2))):
        data = chance.choice(DAMAGES)(chance, data, files)
    return data


def _truncate(chance: random.Random, data: bytes, _: Sequence[bytes]) -> bytes:
    return data[: chance.randrange(len(data) + 1)]


def _splice(chance: random.Random, data: bytes, files: Sequence[bytes]) -> bytes:
    first, second = data.splitlines(True), chance.choice(files).splitlines(True)
    return b"".join(first[: chance.randrange(len(first) + 1)] + second[chance.randrange(len(second) + 1) :])


def _binary(chance: random.Random, data: bytes, _: Sequence[bytes]) -> bytes:
    at = chance.randrange(len(data) + 1)
    return data[:at] + chance.randbytes(chance.choice((1, 2, 8, 300))) + data[at + chance.choice((0, 1, 20)) :]


def _of_lines(change: Callable[[random.Random, list[bytes], int], None]) -> Callable[..., bytes]:
    def damaged(chance: random.Random, data: bytes, _: Sequence[bytes]) -> bytes:
        lines = data.splitlines(True)
        if lines:
            change(chance, lines, chance.randrange(len(lines)))
        return b"".join(lines)

    return damaged


def _of_numbers(change: Callable[[random.Random, bytes], bytes]) -> Callable[..., bytes]:
    """Changes one number, those of one line, or all of them."""

    def damaged(chance: random.Random, data: bytes, _: Sequence[bytes]) -> bytes:
        numbers = list(re.finditer(rb"\d+\.?\d*", data))
        if not numbers:
            return data
        scale, one = chance.random(), chance.choice(numbers)
        low, high = one.span()
        if scale > 0.5:
            low, high = data.rfind(b"\n", 0, low) + 1, data.find(b"\n", high) % (len(data) + 1)
        if scale > 0.9:
            low, high = 0, len(data)
        return data[:low] + re.sub(rb"\d+\.?\d*", lambda m: change(chance, m[0]), data[low:high]) + data[high:]

    return damaged


def _double(chance: random.Random, lines: list[bytes], at: int) -> None:
    lines[at:at] = lines[at : at + chance.choice((1, 1, 5, 40))]


def _drop(chance: random.Random, lines: list[bytes], at: int) -> None:
    del lines[at : at + chance.choice((1, 1, 5))]


def _swap_lines(chance: random.Random, lines: list[bytes], at: int) -> None:
    other = chance.randrange(len(lines))
    lines[at], lines[other] = lines[other], lines[at]


def _remove_word(chance: random.Random, lines: list[bytes], at: int) -> None:
    """Removes a word of a line, or the same column of several lines."""
    column = chance.randrange(len(lines[at].split()) or 1)
    for i in range(at, min(len(lines), at + chance.choice((1, 1, 30)))):
        words = re.split(rb"(\s+)", lines[i])
        places = [n for n, word in enumerate(words) if word.strip()]
        if column < len(places):
            words[places[column]] = b""
        lines[i] = b"".join(words)


def _swap_words(chance: random.Random, lines: list[bytes], at: int) -> None:
    words = re.split(rb"(\s+)", lines[at])
    places = [n for n, word in enumerate(words) if word.strip()]
    if len(places) > 1:
        a, b = chance.sample(places, 2)
        words[a], words[b] = words[b], words[a]
        lines[at] = b"".join(words)


_OTHER_UNITS = tuple(
    (a.encode(), b.encode())
    for a, b in (
        ("us", "ms"), ("usec", "msec"), ("ns", "us"), ("MB/s", "GB/s"), ("MB/s", "MiB/s"), ("MiB", "GiB"), ("GB/s", "MB/s"),
        ("Gflop", "Tflop"), ("GFLOP", "TFLOP"), ("MB", "kB"), ("sec", "msec"), ("kIOPS", "IOPS"), ("GiB/s", "MiB/s"), ("%", "ms"),
    )
)  # fmt: skip


def _swap_units(chance: random.Random, data: bytes, _: Sequence[bytes]) -> bytes:
    unit, other = chance.choice([pair for pair in _OTHER_UNITS if pair[0] in data] or [_OTHER_UNITS[0]])
    if chance.random() < 0.5:
        return data.replace(unit, other)
    places = [m.start() for m in re.finditer(re.escape(unit), data)]
    if not places:
        return data
    at = chance.choice(places)
    return data[:at] + other + data[at + len(unit) :]


_HUGE = (
    b"1e400",
    b"9" * 400,
    b"nan",
    b"inf",
    b"-1",
    b"1e30",
    b"0",
    b"0x10",
    b"1e",
    b"12.3.4",
    b"--",
    b"********",
    b"\xd9\xa3",
)
DAMAGES: tuple[Callable[[random.Random, bytes, Sequence[bytes]], bytes], ...] = (
    _truncate, _splice, _binary, _swap_units,
    _of_lines(_double), _of_lines(_drop), _of_lines(_swap_lines), _of_lines(_remove_word), _of_lines(_swap_words),
    _of_numbers(lambda chance, word: chance.choice(_HUGE)),
    _of_numbers(lambda chance, word: word.replace(b".", b",")),
    _of_numbers(lambda chance, word: b"1," + word),
    _of_numbers(lambda chance, word: str(chance.randrange(10 ** chance.randrange(1, 12))).encode()),
)  # fmt: skip


@dataclass
class Tried:
    """The number of damaged files that were read, those that gave values, the slowest seconds, and what was wrong."""

    files: int = 0
    with_values: int = 0
    slowest: float = 0.0
    wrong: list[tuple[str, bytes]] = field(default_factory=list)


def attempt(number: int, seed: int, files: Sequence[bytes], learned: Learned, most: int = 20) -> Tried:
    """Reads so many damaged files. An error of a reader goes through; wrong values are collected, `most` of them."""
    chance, tried = random.Random(seed), Tried()
    while tried.files < number and len(tried.wrong) < most:
        data = damage(chance, files)
        began = time.process_time()
        result = read(data, find_formats())
        tried.slowest = max(tried.slowest, time.process_time() - began)
        tried.files += 1
        tried.with_values += bool(result.values)
        tried.wrong += [(sentence, data) for sentence in find_wrong(data, result, learned)[:1]]
    return tried


def main(number: str, seed: str = "1") -> int:
    files = list(cases(LONG).values())
    learned = learn(files)
    computed = sorted({" ".join(key) for key, of in learned.known.items() if of.computed})
    print(f"{len(files)} outputs, {len(learned.known)} kinds of values; computed and so not checked: {computed}")
    tried = attempt(int(number), int(seed), files, learned)
    print(f"{tried.files} damaged files, {tried.with_values} with values, slowest {tried.slowest:.3f} s")
    for count, (sentence, data) in enumerate(tried.wrong):
        Path(f"wrong-{count}.txt").write_bytes(data)
        print(f"wrong-{count}.txt: {sentence}")
    return bool(tried.wrong)


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
