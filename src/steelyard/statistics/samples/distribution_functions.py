"""SciPy's distribution functions, and those of gamma, without the rest of scipy.special.

That package also prepares for other array libraries, which takes eight times as long as these functions.
"""

import importlib
import math
import sys
from importlib.util import find_spec
from types import ModuleType
from typing import Any

_PACKAGE = "scipy.special"


def _load_functions() -> ModuleType:
    """Returns the compiled functions. Their package is imported itself if it is in use, or built in another way."""
    spec = find_spec(_PACKAGE)
    if _PACKAGE in sys.modules or not spec:
        return importlib.import_module(_PACKAGE)
    # While an empty package has its place, Python finds the module inside without running the package.
    package = sys.modules[_PACKAGE] = ModuleType(_PACKAGE)
    package.__path__ = list(spec.submodule_search_locations or ())
    try:
        return importlib.import_module(f"{_PACKAGE}._ufuncs")
    except ImportError:
        pass
    finally:
        del sys.modules[_PACKAGE]
    return importlib.import_module(_PACKAGE)


_functions = _load_functions()
betaincinv, ndtr, ndtri, psi = _functions.betaincinv, _functions.ndtr, _functions.ndtri, _functions.psi
stdtr, stdtrit = _functions.stdtr, _functions.stdtrit
_zeta = _functions._zeta if hasattr(_functions, "_zeta") else _functions.zeta


def polygamma(n: int, x: Any) -> Any:
    """Returns the n-th derivative (n ≥ 1) of `psi`: (−1)^(n+1) · n! · ζ(n + 1, x), as SciPy computes it in Python."""
    return (-1.0) ** (n + 1) * math.factorial(n) * _zeta(n + 1, x)
