"""SciPy's distribution functions `ndtr`, `stdtr` and `stdtrit`, without the rest of scipy.special.

That package also prepares for other array libraries, which takes eight times as long as these functions.
"""

import importlib
import sys
from importlib.util import find_spec
from types import ModuleType

_PACKAGE = "scipy.special"


def _load() -> ModuleType:
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


_functions = _load()
ndtr, stdtr, stdtrit = _functions.ndtr, _functions.stdtr, _functions.stdtrit
