"""A sequence that is read when its first element is asked for."""

from collections.abc import Callable, Sequence
from functools import cached_property
from typing import Generic, TypeVar, overload

T = TypeVar("T")


class Deferred(Sequence[T], Generic[T]):
    """The sequence that `load` returns, with `length` elements. It equals any sequence with equal elements."""

    def __init__(self, length: int, load: Callable[[], Sequence[T]]) -> None:
        self._length, self._load = length, load

    @cached_property
    def _elements(self) -> tuple[T, ...]:
        return tuple(self._load())

    def __len__(self) -> int:
        return self._length

    @overload
    def __getitem__(self, place: int) -> T: ...
    @overload
    def __getitem__(self, place: slice) -> tuple[T, ...]: ...
    def __getitem__(self, place: int | slice) -> T | tuple[T, ...]:
        return self._elements[place]

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Sequence) and len(self) == len(other) and self._elements == tuple(other)

    def __hash__(self) -> int:
        return hash(self._elements)
