"""A run that was read and evaluated for a command."""

import sys
from collections.abc import Sequence
from pathlib import Path

from steelyard import evaluation
from steelyard.model import Evaluation
from steelyard.records import remembered


def read(path: Path, paths: Sequence[Path]) -> Evaluation:
    """Returns the evaluation of a run. Prints a note for each part that is left out because it would start a foreign program."""
    evaluated = evaluation.evaluate(path, paths)
    for note in remembered.unread(evaluated.run, paths):
        print(f"steelyard: {note}", file=sys.stderr)
    return evaluated
