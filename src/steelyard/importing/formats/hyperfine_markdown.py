"""hyperfine 1.0 to 1.19, --export-markdown: mean, least and greatest time of each command.

https://github.com/sharkdp/hyperfine
"""

import re
from collections.abc import Iterator

from steelyard.importing.grids import find_title
from steelyard.importing.text import Text
from steelyard.importing.values import make_spread
from steelyard.model.foreign import ForeignValue

TOOL = "hyperfine"
MARKS = ("| Mean [ms] | Min", "| Mean [s] | Min", "| Mean [µs] | Min")
HEADING = r"\s*\| *Command *\| *Mean \[(?P<unit>ms|s|µs)\] *\| *Min(?: \[(?P=unit)\] *\| *Max| ?… ?Max) \[(?P=unit)\]"
TIMES = r"(?P<mean>[\d.]+)(?: ± [\d.]+)? *\| *(?P<least>[\d.]+) *[|…] *(?P<greatest>[\d.]+)"
ROW = rf"\s*\| *`(?P<command>(?:[^|\\]|\\.)+)` *\| *{TIMES} *\|"  # a bar in a command has a backslash before it


def read(text: Text) -> Iterator[ForeignValue]:
    """Yields the times of each command. Of several tables, the title of its section says which one a command is of."""
    tables = list(text.ended().parts(HEADING))
    for head, part in tables:
        section = find_title(text.lines[: part.first - text.first]) if len(tables) > 1 else None
        for at, line in enumerate(part.lines[1:], part.first + 1):
            if not line.lstrip().startswith("|"):
                break
            if row := re.match(ROW, line):
                with text.row(at):
                    about = {"command": re.sub(r"\\([|\\])", r"\1", row["command"]), "section": section}
                    words, unit = row.group("greatest", "least", "mean"), head["unit"].replace("µ", "u")
                    yield from make_spread("hyperfine.command", "command", "time", words, unit, about)
            elif not re.fullmatch(r"[\s|:-]+", line):
                text.problems.append(f"line {at} is no row of a table of hyperfine")
