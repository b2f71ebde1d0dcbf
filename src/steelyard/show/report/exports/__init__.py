"""Runs in the forms of other tools. A form is a module of this folder; its function `parts(evaluation)` yields the text.

The name of the form is that of the module, with "-" instead of "_". Modules whose name begins with "_" are shared.
"""

import importlib
from collections.abc import Iterator
from pathlib import Path

from steelyard.model import Evaluation

FORMS = tuple(sorted(file.stem.replace("_", "-") for file in Path(__file__).parent.glob("[!_]*.py")))


def parts(evaluation: Evaluation, form: str) -> Iterator[str]:
    """Yields the run in one of FORMS, piece by piece."""
    module = importlib.import_module(f"{__name__}.{form.replace('-', '_')}")
    written: Iterator[str] = module.parts(evaluation)
    return written
