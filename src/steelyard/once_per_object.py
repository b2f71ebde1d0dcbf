"""Computes a value that follows from an immutable object once."""

import weakref
from collections.abc import Callable
from functools import update_wrapper
from typing import Generic, TypeVar

Of = TypeVar("Of")
Found = TypeVar("Found")


class once(Generic[Of, Found]):  # noqa: N801  # a decorator
    """`work`, whose answer for an object is kept as long as that object lives. Who asks must not change the answer.

    By identity: to compare two results, or to hash one, would take longer than most of the work.
    """

    def __init__(self, work: Callable[[Of], Found]) -> None:
        self._work, self._known = work, dict[int, Found]()
        update_wrapper(self, work)

    def __call__(self, of: Of) -> Found:
        key = id(of)
        if key not in self._known:
            self.keep(of, self._work(of))
        return self._known[key]

    def keep(self, of: Of, found: Found) -> None:
        """Notes the answer for an object, where it was worked out together with others."""
        self._known[id(of)] = found
        weakref.finalize(of, self._known.pop, id(of), None).atexit = False
