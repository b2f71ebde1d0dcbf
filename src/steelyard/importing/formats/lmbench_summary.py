"""LMbench 2 and 3: the tables of `make see` and `make summary`.

https://lmbench.sourceforge.net
"""

import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace

from steelyard.importing.grids import read_aligned
from steelyard.importing.lmbench_tables import name_columns
from steelyard.importing.text import Text
from steelyard.importing.values import make, make_name, number
from steelyard.model.foreign import ForeignValue

TOOL = "LMbench"
MARKS = ("L M B E N C H",)
UNITS = {"microseconds": ("latency", "us"), "nanoseconds": ("latency", "ns"), "MB/s": ("bandwidth", "MB/s")}
HEAD = r"(?P<name>[*A-Z].*?)(?: - times)? in (?P<unit>microseconds|nanoseconds|MB/s) - (?:smaller|bigger) is better\s*$"


def read(text: Text) -> Iterator[ForeignValue]:
    """Yields the entries of the tables for each host; an entry may be missing."""
    for head, part in text.parts(HEAD):
        (metric, unit), columns = UNITS[head["unit"]], name_columns(head["name"], part)
        table = next((table for _, table in part.parts("Host +OS ")), part)  # a second one has lost its title
        rows = list(read_aligned(table, r"-{3,} +-{3,} +-[- ]*$", 2))
        systems = Counter(host for host, _ in {(row[0], row[1]) for row in rows})
        for host, system, *entries in rows:
            # A heading that is repeated, or the row of another table.
            if not any(map(str.isdigit, system)) or not re.fullmatch(r"[\w.-]+", host):
                text.problems.extend([f"the row of '{host}' names no system"] * (host != "Host"))
                continue
            if not len(columns) - 1 <= len(entries) <= len(columns):
                known = f"are {len(entries)} instead of {len(columns)}" if columns else "have unknown names"
                text.problems.append(f"the columns of the table '{head['name']}' {known}")
                break
            for name, entry in zip(columns, entries, strict=False):
                if entry and name != "-":
                    amount = number(entry.removesuffix("K")) * (1000 if entry.endswith("K") else 1)
                    about = {"system": system} if systems[host] > 1 else {}
                    value = make(f"lmbench.{make_name(head['name'])}", name, metric, amount, unit, "as printed", about)
                    yield replace(value, host=host)
