"""Phoronix Test Suite 5 to 10 on the screen: the runs of each test, and their mean.

https://www.phoronix-test-suite.com
"""

import re
from collections.abc import Iterator

from steelyard.importing.phoronix_tests import make_results
from steelyard.importing.text import Text
from steelyard.model import Better
from steelyard.model.foreign import ForeignValue

TOOL = "Phoronix Test Suite"
MARKS = ("Started Run 1 @",)
TEST = r"\s*(?P<test>[a-z][\w-]*/[\w.-]+?)-\d[\d.]*(?: \[.*\])?\s*$"
LINE = r"\s*(?:(?P<run>\d[\d.]*)|Average: (?P<mean>\S+) (?P<scale>\S.*?)|(?P<description>\S.*):)\s*$"

DIRECTIONS: dict[str, Better] = {"Lower": "lower", "Higher": "higher"}


def read(text: Text) -> Iterator[ForeignValue]:
    """Yields the results of each run, and the average. A test may have several results, each below its description."""
    for head, part in text.ended().parts(TEST):
        description, runs = "", list[str]()
        for line, at in part.match(LINE):
            if line["run"]:
                runs.append(line["run"])
            elif line["description"]:
                description, runs = line["description"], []
            else:
                graph = part.find(rf"{re.escape(line['scale'])} [<>] (Lower|Higher) Is Better")
                better = DIRECTIONS.get(graph)
                with text.row(at):
                    yield from make_results(head["test"], description, line["scale"], runs, line["mean"], {}, better)
                description, runs = "", []
