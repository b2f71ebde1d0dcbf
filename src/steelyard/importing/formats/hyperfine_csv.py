"""hyperfine 1.0 to 1.19, --export-csv: the figures of each command.

https://github.com/sharkdp/hyperfine
"""

from collections.abc import Iterator

from steelyard.importing.grids import read_separated
from steelyard.importing.text import Text
from steelyard.importing.values import make, make_spread
from steelyard.model.foreign import ForeignValue

TOOL = "hyperfine"
MARKS = ("command,mean,stddev,",)


def read(text: Text) -> Iterator[ForeignValue]:
    """Yields mean, median, least and greatest time of each command, and the mean times of the CPU in user and system mode."""
    for row in read_separated(text, r"\s*command,mean,stddev,"):
        with text.row(row.line):
            if "\ufffd" in row["command"]:
                raise ValueError("its command is damaged")
            parameters = {name.removeprefix("parameter_"): row[name] for name in row if name.startswith("parameter_")}
            about = {"command": row["command"], **parameters}
            ends = [row[name] for name in ("max", "min", "mean")]
            yield from make_spread("hyperfine.command", "command", "time", ends, "s", about)
            if row.get("median"):  # from version 1.10 on
                yield make("hyperfine.command", "command", "time", row["median"], "s", "median", about)
            for name in ("user", "system"):
                yield make("hyperfine.command", "command", f"{name}_time", row[name], "s", "mean", about)
