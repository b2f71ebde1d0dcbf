"""Words of a file that know the line in which they stand."""

from typing import Any


class Word(str):
    """A word of one line of a file; `line` is its number. A part of the word has it too; a text of several words has none."""

    __slots__ = ("line",)
    line: int

    @classmethod
    def of(cls, text: str, line: int) -> "Word":
        """Returns the text as a word of this line."""
        word = cls(text)
        word.line = line
        return word


def find_line(word: object) -> int:
    """Returns the number of the line of a word, 0 if it is unknown."""
    return word.line if isinstance(word, Word) else 0


def _keep_line(name: str) -> Any:
    """Returns a method of texts that gives words of the same line."""
    method = getattr(str, name)

    def keep(word: Word, *given: Any) -> Any:
        parts = method(word, *given)
        return Word.of(parts, word.line) if isinstance(parts, str) else [Word.of(part, word.line) for part in parts]

    return keep


_METHODS = ("__getitem__", "strip", "lstrip", "rstrip", "removeprefix", "removesuffix", "replace", "split", "partition")
for _name in _METHODS:
    setattr(Word, _name, _keep_line(_name))
