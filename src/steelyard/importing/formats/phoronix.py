"""Phoronix Test Suite 4 to 10: the XML file of a result (composite.xml), also of several systems. From 5 on also the screen,
with the runs of each test and their mean.

https://www.phoronix-test-suite.com
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from math import isclose
from xml.etree import ElementTree

from steelyard.importing.text import Text
from steelyard.importing.values import UNITS, Given, Values, make_printed, number, spell
from steelyard.model import Better

TOOL = "Phoronix Test Suite"
DIRECTIONS: dict[str, Better] = {"HIB": "higher", "Higher": "higher", "LIB": "lower", "Lower": "lower"}
METRICS = {"s": "time", "B/s": "bandwidth", "flop/s": "flops"}


def _make_results(
    test: str, description: str, scale: str, runs: Sequence[str], value: str, more: Given, better: Better | None
) -> Values:  # fmt: skip
    """Yields the result of each run of a test such as "pts/stream", and what they amount to, if it has a value.

    The fields of the description, "Type: Copy - Threads: 4", are parameters. Without a direction, the unit says what is better.
    """
    name = test.rpartition("/")[2] or "unknown"
    metric = METRICS.get(UNITS.get(spell(scale) or "", (1.0, ""))[1], "result")
    fields = [field.partition(": ") for field in description.split(" - ") if field]
    about: Given = {**{k if v else "options": v or k for k, _, v in fields}, **more}
    words = [(number(word), "one run") for word in runs]
    if value:
        mean = words and isclose(sum(w for w, _ in words) / len(words), number(value), rel_tol=0.01)
        words.append((number(value), "mean" if mean else "as printed"))
    for word, statistic in words:
        yield make_printed(f"phoronix.{name}", name, metric, word, scale, statistic, about, better=better)


def read_xml(text: Text) -> Values:
    """Yields the result of each test on each system, and the runs that it is the mean of. Each value has host and date."""
    for tree in _read_trees(text.whole):
        dates = {system.findtext("Identifier", ""): system.findtext("TimeStamp", "") for system in tree.iter("System")}
        for result in tree.iter("Result"):
            yield from _read_result(result, dates)


def _read_trees(content: str) -> Iterator[ElementTree.Element]:
    """Yields the results in XML. ValueError if one is incomplete or damaged, or declares entities."""
    begin, end = "<PhoronixTestSuite>", "</PhoronixTestSuite>"
    for element in content.split(begin)[1:]:
        if end not in element or "<!ENTITY" in content:
            raise ValueError("its XML is incomplete")
        try:
            yield ElementTree.fromstring(f"{begin}{element.partition(end)[0]}{end}")
        except ElementTree.ParseError as error:
            raise ValueError(f"its XML is damaged: {error}") from error


def _read_result(result: ElementTree.Element, dates: Mapping[str, str]) -> Values:
    test = re.sub(r"-\d[\d.]*$", "", result.findtext("Identifier", ""))
    better = DIRECTIONS.get(result.findtext("Proportion", ""), "none")
    description, scale = result.findtext("Description", ""), result.findtext("Scale", "")
    version = {"version": result.findtext("AppVersion")}
    for entry in result.iter("Entry") if "LINE_GRAPH" not in result.findtext("DisplayFormat", "") else ():
        host, value = entry.findtext("Identifier", ""), entry.findtext("Value", "").strip()
        runs = [word for word in entry.findtext("RawString", "").split(":") if word]
        for made in _make_results(test, description, scale, runs, value, version, better):
            yield replace(made, host=host, started=dates.get(host, ""))


TEST = r"\s*(?P<test>[a-z][\w-]*/[\w.-]+?)-\d[\d.]*(?: \[.*\])?\s*$"
LINE = r"\s*(?:(?P<run>\d[\d.]*)|Average: (?P<mean>\S+) (?P<scale>\S.*?)|(?P<description>\S.*):)\s*$"


def read_screen(text: Text) -> Values:
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
                    yield from _make_results(head["test"], description, line["scale"], runs, line["mean"], {}, better)
                description, runs = "", []


READERS = {
    read_xml: ("<PhoronixTestSuite>",),
    read_screen: ("Started Run 1 @",),
}
