"""SciPy's special functions without its package `scipy.special`, whose import takes ten times as long as theirs."""

import importlib
import importlib.util
import sys
import threading
from functools import cache
from types import ModuleType
from typing import Any

from steelyard.statistics.samples.interval import Array

PACKAGE, FUNCTIONS = "scipy.special", "scipy.special._ufuncs"
NAMES = ("stdtr", "stdtrit", "ndtr")
_LOCK = threading.Lock()


def stdtr(freedom: float, t: float | Array) -> Any:
    """The probability that Student's t with so many degrees of freedom is at most `t`, of each."""
    return _functions().stdtr(freedom, t)


def stdtrit(freedom: float, p: float) -> Any:
    """The t that Student's t with so many degrees of freedom does not exceed with probability `p`."""
    return _functions().stdtrit(freedom, p)


def ndtr(x: float) -> Any:
    """The probability that a standard normal value is at most `x`."""
    return _functions().ndtr(x)


@cache
def _functions() -> Any:
    """The compiled functions; those of the whole package where that is imported already, or where they lie elsewhere."""
    with _LOCK:
        if PACKAGE not in sys.modules:
            try:
                return _compiled()
            except (ImportError, AttributeError):
                pass
    return importlib.import_module(PACKAGE)


def _compiled() -> Any:
    """They are imported beside an empty package: who imports the true one later finds them in it."""
    spec = importlib.util.find_spec(PACKAGE)
    if spec is None:
        raise ImportError(f"there is no {PACKAGE}")
    empty = ModuleType(PACKAGE)
    empty.__spec__, empty.__path__ = spec, list(spec.submodule_search_locations or ())
    sys.modules[PACKAGE] = empty
    try:
        found = importlib.import_module(FUNCTIONS)
        for name in NAMES:
            getattr(found, name)  # AttributeError where it is missing
        return found
    finally:
        del sys.modules[PACKAGE]
