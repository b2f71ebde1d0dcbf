"""Phoronix Test Suite 4 to 10: the XML file of a result (composite.xml), also of several systems.

https://www.phoronix-test-suite.com
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import replace
from math import isclose
from xml.etree import ElementTree

from steelyard.importing.text import Text
from steelyard.importing.values import UNITS, Given, make_printed, number, spell
from steelyard.model import Better
from steelyard.model.foreign import ForeignValue

TOOL = "Phoronix Test Suite"
MARKS = ("<PhoronixTestSuite>",)
METRICS = {"s": "time", "B/s": "bandwidth", "flop/s": "flops"}
DIRECTIONS: dict[str, Better] = {"HIB": "higher", "LIB": "lower"}


def read(text: Text) -> Iterator[ForeignValue]:
    """Yields the result of each test on each system, and the runs that it is the mean of. Each value has host and date."""
    for tree in text.xml("PhoronixTestSuite"):
        dates = {system.findtext("Identifier", ""): system.findtext("TimeStamp", "") for system in tree.iter("System")}
        for result in tree.iter("Result"):
            yield from _values(result, dates)


def _values(result: ElementTree.Element, dates: Mapping[str, str]) -> Iterator[ForeignValue]:
    name = re.sub(r"-\d[\d.]*$", "", result.findtext("Identifier", "").rpartition("/")[2]) or "unknown"
    scale, better = result.findtext("Scale", ""), DIRECTIONS.get(result.findtext("Proportion", ""), "none")
    fields = [field.partition(": ") for field in result.findtext("Description", "").split(" - ") if field]
    about: Given = {
        **{k if v else "options": v or k for k, _, v in fields},
        "version": result.findtext("AppVersion"),
    }
    metric = METRICS.get(UNITS.get(spell(scale) or "", (1.0, ""))[1], "result")
    for entry in result.iter("Entry") if "LINE_GRAPH" not in result.findtext("DisplayFormat", "") else ():
        host, value = entry.findtext("Identifier", ""), entry.findtext("Value", "").strip()
        words = [(number(word), "one run") for word in entry.findtext("RawString", "").split(":") if word]
        if value:
            mean = words and isclose(sum(w for w, _ in words) / len(words), number(value), rel_tol=0.01)
            words.append((number(value), "mean" if mean else "as printed"))
        for word, statistic in words:
            made = make_printed(f"phoronix.{name}", name, metric, word, scale, statistic, about, better=better)
            yield replace(made, host=host, started=dates.get(host, ""))
