"""A run read and judged for a command, with a sentence for what was left out of it."""

import sys
from collections.abc import Sequence
from pathlib import Path

from steelyard import evaluation
from steelyard.model import Evaluation
from steelyard.records import remembered


def read(path: Path, paths: Sequence[Path]) -> Evaluation:
    """The run's evaluation. What cannot be shown of it because it would be someone else's program is said."""
    found = evaluation.evaluate(path, paths)
    for note in remembered.unread(found.run, paths):
        print(f"steelyard: {note}", file=sys.stderr)
    return found
