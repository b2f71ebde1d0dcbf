"""Stores long columns of numbers as arrays: a run of a thousand nodes has a hundred million numbers."""

from array import array
from collections.abc import Iterator, MutableMapping, MutableSequence
from typing import Any

from steelyard.model import Record

COLUMNS = ("at", "seconds")  # of the samples: nearly all numbers in them differ
LONG = 256  # minimum length of a list in a kernel's details that becomes an array
DEEP = 4  # levels of details that are searched for lists


def shortened(record: Record) -> Record:
    """Changes the long lists of numbers in the record to arrays of the same values, and returns the record.

    Call it before the record is used elsewhere.
    """
    columns = vars(record.surroundings.samples)
    for name in COLUMNS:
        if column := columns.get(name):
            columns[name] = _column(column)
    if record.surroundings.details:
        _shorten(record.surroundings.details, DEEP)
    return record


def _shorten(within: Any, levels: int) -> None:
    for key, value in _items(within):
        if isinstance(value, list) and len(value) >= LONG:
            within[key] = _column(value)
        elif isinstance(value, dict | list) and levels:
            _shorten(value, levels - 1)


def _items(within: MutableMapping[str, Any] | MutableSequence[Any]) -> Iterator[tuple[Any, Any]]:
    return iter(list(within.items()) if isinstance(within, dict) else list(enumerate(within)))


def _column(numbers: Any) -> Any:
    kinds = set(map(type, numbers))
    try:
        return array("d", numbers) if kinds == {float} else array("q", numbers) if kinds == {int} else numbers
    except OverflowError:
        return numbers
