"""Findings: one rule a file, `find(evaluation) -> list[Finding]`. The folder is the registry."""

import importlib
import pkgutil
from dataclasses import replace

from steelyard.model import Evaluation, Finding

ORDER = {"serious": 0, "notice": 1, "good": 2}


def judge(evaluation: Evaluation) -> Evaluation:
    """The evaluation with the findings of all rules, the serious ones first."""
    found: list[Finding] = []
    for module in sorted(m.name for m in pkgutil.iter_modules(__path__)):
        found += importlib.import_module(f"{__name__}.{module}").find(evaluation)
    return replace(evaluation, findings=tuple(sorted(found, key=lambda f: ORDER[f.level])))
