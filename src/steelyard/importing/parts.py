"""The parts of names that count. A part that differs between experiments of one system is a parameter on all systems."""

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from steelyard.importing.file_places import Kind
from steelyard.model import Scalar

FILE, FOLDER = "file", "folder"  # parameters with the parts of names that have no known meaning
POWERS = (2, 3)  # the number of points of a grid by that of one side
SMALLEST = 16  # a side of a grid; smaller numbers are powers of each other by chance
GRIDS = ("points", "elements", "cells", "zones", "size")
Stated = Mapping[str, Scalar | None]
Values = Sequence[Scalar | None]


@dataclass(frozen=True, slots=True)
class Part:
    """A part of the names that differs: its folder (counted from the outermost; None: the file), its meaning, and its values.

    Parts that mean "date", "job", "host" or "repetition" make no other experiment. `FILE` and `FOLDER` are not certain, and
    neither is one that is `guessed`.
    """

    folder: int | None
    meaning: str
    values: tuple[Scalar, ...]
    guessed: bool = False

    @classmethod
    def of(cls, folder: int | None, meaning: str, values: Values) -> "Part":
        """Returns the part with its different values."""
        return cls(folder, meaning, tuple(dict.fromkeys(value for value in values if value is not None)))


@dataclass(frozen=True, slots=True, kw_only=True)
class NamedPart:
    """A part of the names of a system's files with values of a benchmark. `stated` is what each file says itself.

    A certain part differs between files with the same case. Another one counts if it is certain on another system. Its text
    is then cut to one of that system's texts.
    """

    files: Sequence[int]
    kind: Kind
    part: Part
    values: Values
    stated: Sequence[Stated]
    certain: bool

    @property
    def column(self) -> tuple[Kind, int | None, str]:
        """The same for the same part of names on other systems."""
        return self.kind, self.part.folder, self.part.meaning

    def rename(self, meaning: str, values: Values) -> "NamedPart":
        return replace(self, part=Part.of(self.part.folder, meaning, values), values=values)


def choose_parts(named: Sequence[NamedPart]) -> Iterator[NamedPart]:
    """Yields the parts that count, with what the files do not state themselves."""
    powers = _find_powers(named)
    parts = [_fill(_raise(one, powers)) for one in named]
    certain = {one.column for one in parts if one.certain}
    own = {(one.files[0], one.column) for one in parts if one.certain}
    texts = _list_texts(parts)
    for one in parts:
        if one.certain:
            yield one
        elif one.part.meaning not in (FILE, FOLDER):
            if one.column in certain and one.part.values:
                yield one
        elif one.column in texts and (one.files[0], one.column) not in own:
            values = [_find_text(str(value), texts[one.column]) if value else None for value in one.values]
            yield one.rename(one.part.meaning, values)


def _find_powers(named: Sequence[NamedPart]) -> dict[tuple[Kind, int | None, str], tuple[str, int]]:
    """Returns the parts that are the side of a grid whose number of points all files state which state one."""
    pairs: dict[tuple[Kind, int | None, str], list[tuple[int, Stated]]] = defaultdict(list)
    for one in named:
        pairs[one.column] += [
            (value, of) for value, of in zip(one.values, one.stated, strict=True) if isinstance(value, int)
        ]
    found: dict[tuple[Kind, int | None, str], tuple[str, int]] = {}
    for column, stating in pairs.items():
        for name in GRIDS:
            stated = [(value, of[name]) for value, of in stating if of.get(name) is not None]
            for power in POWERS:
                if stated and all(value >= SMALLEST and value**power == points for value, points in stated):
                    found[column] = name, power
    return found


def _raise(one: NamedPart, powers: Mapping[tuple[Kind, int | None, str], tuple[str, int]]) -> NamedPart:
    if one.column not in powers:
        return one
    name, power = powers[one.column]
    return one.rename(name, [value**power if isinstance(value, int) else None for value in one.values])


def _fill(one: NamedPart) -> NamedPart:
    """Returns the part without values for the files that state the same parameter."""
    if not any(one.part.meaning in of for of in one.stated):
        return one
    values = [None if one.part.meaning in of else value for value, of in zip(one.values, one.stated, strict=True)]
    return one.rename(one.part.meaning, values)


def _list_texts(parts: Sequence[NamedPart]) -> Mapping[tuple[Kind, int | None, str], Sequence[str]]:
    """Returns the texts with a letter of certain parts, the longest ones first. A number alone means little."""
    joined: dict[tuple[object, int], list[str]] = defaultdict(list)
    texts: dict[tuple[Kind, int | None, str], set[str]] = defaultdict(set)
    for one in parts:
        if one.certain and one.part.meaning in (FILE, FOLDER):
            for at, value in zip(one.files, one.values, strict=True):
                if value is not None:
                    joined[one.column, at].append(str(value))
    for (column, _), words in joined.items():
        if any(character.isalpha() for word in words for character in word):
            texts[column].add("-".join(words))  # type: ignore[index]
    return {column: sorted(found, key=lambda text: (-len(text), text)) for column, found in texts.items()}


def _find_text(whole: str, texts: Sequence[str]) -> str | None:
    """Returns the first text whose words are all among those of the whole one, in the same order."""
    return next((text for text in texts if _is_within(text.split("-"), whole.split("-"))), None)


def _is_within(words: Sequence[str], whole: Sequence[str]) -> bool:
    rest = iter(whole)
    return all(word in rest for word in words)
