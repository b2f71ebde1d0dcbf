"""Lines that grep found in logs of GROMACS 4.6 to 2025. They are read only if ns/day times hour/ns is 24.

https://www.gromacs.org
"""

from steelyard.importing.text import Text
from steelyard.importing.values import Values, expect_near, make, number

TOOL = "GROMACS"
MARKS = (":Performance:  ",)
LINE = r"\s*(?P<file>\S*[./]\S*?):(?:\d+:)?Performance: +(?P<days>\d+\.\d+) +(?P<hours>\d+\.\d+)(?: +[\d.]+){0,2}$"
DIGIT = 0.0005  # half of the last digit of both numbers


def read(text: Text) -> Values:
    """Yields the simulated time of each line, with the name of the file in which grep found it."""
    if text.find(r"\(ns/day\)"):  # the heading, so this is a whole log with a label
        return
    for line, place in text.ended().match(LINE):
        with text.row(place):
            days, hours = number(line["days"]), number(line["hours"])
            expect_near(days * hours, 24, (days + hours) * DIGIT, f"{days:g} and {hours:g} are not ns/day and hour/ns")
            yield make("gromacs.run", "gromacs", "simulated", days, "ns/day", "one run", {"file": line["file"]})
