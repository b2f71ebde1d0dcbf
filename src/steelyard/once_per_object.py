"""Computes a value that follows from an immutable object only once."""

import weakref
from collections.abc import Callable
from functools import update_wrapper
from typing import Generic, TypeVar

Of = TypeVar("Of")
Found = TypeVar("Found")


class once(Generic[Of, Found]):  # noqa: N801  # a decorator
    """The function `work`, whose result for an object is kept as long as that object lives. Callers must not change the result.

    Objects are told apart by identity, since comparing or hashing two results takes longer than most of the work.
    """

    def __init__(self, work: Callable[[Of], Found]) -> None:
        self._work, self._known = work, dict[int, Found]()
        update_wrapper(self, work)

    def __call__(self, item: Of) -> Found:
        key = id(item)
        if key not in self._known:
            self.keep(item, self._work(item))
        return self._known[key]

    def keep(self, item: Of, result: Found) -> None:
        """Stores the result for an object, if it was computed together with others."""
        self._known[id(item)] = result
        weakref.finalize(item, self._known.pop, id(item), None).atexit = False
