"""What follows from one object that never changes is worked out once."""

import weakref
from collections.abc import Callable
from functools import wraps
from typing import TypeVar

Of = TypeVar("Of")
Found = TypeVar("Found")


def once(work: Callable[[Of], Found]) -> Callable[[Of], Found]:
    """`work`, whose answer for an object is kept as long as that object lives. Who asks must not change the answer.

    By identity: to compare two results, or to hash one, would take longer than most of the work.
    """
    known: dict[int, Found] = {}

    @wraps(work)
    def found(of: Of) -> Found:
        key = id(of)
        if key not in known:
            known[key] = work(of)
            weakref.finalize(of, known.pop, key, None).atexit = False
        return known[key]

    return found
