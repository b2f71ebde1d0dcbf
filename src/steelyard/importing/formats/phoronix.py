"""Phoronix Test Suite 4 to 10: the XML file of a result (composite.xml), also of several systems.

https://www.phoronix-test-suite.com
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import replace
from xml.etree import ElementTree

from steelyard.importing.phoronix_tests import make_results
from steelyard.importing.text import Text
from steelyard.model import Better
from steelyard.model.foreign import ForeignValue

TOOL = "Phoronix Test Suite"
MARKS = ("<PhoronixTestSuite>",)
DIRECTIONS: dict[str, Better] = {"HIB": "higher", "LIB": "lower"}


def read(text: Text) -> Iterator[ForeignValue]:
    """Yields the result of each test on each system, and the runs that it is the mean of. Each value has host and date."""
    for tree in text.xml("PhoronixTestSuite"):
        dates = {system.findtext("Identifier", ""): system.findtext("TimeStamp", "") for system in tree.iter("System")}
        for result in tree.iter("Result"):
            yield from _values(result, dates)


def _values(result: ElementTree.Element, dates: Mapping[str, str]) -> Iterator[ForeignValue]:
    test = re.sub(r"-\d[\d.]*$", "", result.findtext("Identifier", ""))
    better = DIRECTIONS.get(result.findtext("Proportion", ""), "none")
    description, scale = result.findtext("Description", ""), result.findtext("Scale", "")
    for entry in result.iter("Entry") if "LINE_GRAPH" not in result.findtext("DisplayFormat", "") else ():
        host, value = entry.findtext("Identifier", ""), entry.findtext("Value", "").strip()
        runs = [word for word in entry.findtext("RawString", "").split(":") if word]
        for made in make_results(
            test, description, scale, runs, value, {"version": result.findtext("AppVersion")}, better
        ):
            yield replace(made, host=host, started=dates.get(host, ""))
