"""Steelyard measures computers honestly, from a laptop to a cluster, and explains what it measured.

`steelyard.open(run)` returns the results of a run, or of all runs in a folder, as `steelyard.Results`. `steelyard.run()`
measures, and `steelyard.compare(a, b)` compares.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from steelyard.interface import Results as Results
    from steelyard.interface import compare_runs as compare
    from steelyard.interface import open_runs as open
    from steelyard.interface import run as run

__version__ = "0.1.0"
__all__ = ["Results", "__version__", "compare", "open", "run"]
_NAMES = {"open": "open_runs", "compare": "compare_runs"}  # within the interface


def __getattr__(name: str) -> Any:
    """Imports what is asked for: the command line starts without it."""
    if name in __all__:
        return getattr(import_module("steelyard.interface"), _NAMES.get(name, name))
    raise AttributeError(f"module 'steelyard' has no attribute '{name}'")
