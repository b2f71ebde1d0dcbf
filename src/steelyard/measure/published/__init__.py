"""Published systems as data: what others measured and printed, in SI units, to be set beside a run."""

import csv
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from steelyard.errors import MachineFailed
from steelyard.model import Scalar
from steelyard.model.plain import scalar

DATA = Path(__file__).with_name("published.csv")
FURTHER = Path(__file__).with_name("further.csv")  # numbers of the same sources that stand in their texts and drawings

# The titles of the sources, by their numbers in the file's first column.
SOURCES = {
    "000": "NICEVT 2008: nodes and clusters on AMD Barcelona and Shanghai",
    "001": "An educational cluster of eight Celeron servers",
    "002": "Firmware settings of a two-socket Xeon E5 v3 server (Cluster-on-Die)",
    "003": "The Mont-Blanc prototype against MareNostrum III",
    "004": "MPI inside a node of the HA8000",
}

YEARS = {"000": 2008, "002": 2014, "003": 2016}  # the other two do not print theirs

# The cores of a node, from the names and texts of the sources.
CORES = {
    "4x AMD 8350 Barcelona": 16, "4x AMD 8380 Shanghai": 16, "2x AMD 2382 Shanghai": 8, "PowerEdge R730xd 2x E5-2697 v3": 28,
    "Core 2 Duo E4600": 2, "Celeron educational cluster": 1, "Mont-Blanc node": 2, "Mont-Blanc system": 2, "Mont-Blanc blade": 2,
    "Mont-Blanc chassis": 2, "MareNostrum III node": 16, "MareNostrum III": 16, "MVS-100K node, 2x Clovertown 3.0 GHz": 8,
}  # fmt: skip

MOST = 1e24  # magnitude of a published number: a greater one is a mistake in the table

# Factor to SI and the SI unit. Prefixes of rates are decimal (1 MB = 10^6 B); a watt-hour is 3600 J.
SI: Mapping[str, tuple[float, str]] = {
    "cycle": (1.0, "cycle"),
    "x": (1.0, "x"),  # a ratio of two systems or cases
    "programs": (1.0, "programs"),
    "s": (1.0, "s"),
    "ms": (1e-3, "s"),
    "us": (1e-6, "s"),
    "ns": (1e-9, "s"),
    "W": (1.0, "W"),
    "kW": (1e3, "W"),
    "Wh": (3600.0, "J"),
    "KiB": (1024.0, "B"),
    "MiB": (1048576.0, "B"),
    "MB/s": (1e6, "B/s"),
    "GB/s": (1e9, "B/s"),
    "Gbit/s": (0.125e9, "B/s"),
    "Mflop/s": (1e6, "flop/s"),
    "Gflop/s": (1e9, "flop/s"),
    "Tflop/s": (1e12, "flop/s"),
    "Pflop/s": (1e15, "flop/s"),
    "%": (0.01, "%"),  # a share: 1.0 is 100 %
}


# Parameters that were measured, or say what could be reached at most: no condition of the figure.
BESIDE = ("theoretical", "calculation_time_s")

# The sources' words for what has a name of its own here.
_OURS = {("direction", "bidirectional"): "two-way", ("direction", "unidirectional"): "one-way"}


@dataclass(frozen=True, kw_only=True)
class Published:
    """One printed number: `value` in the SI `unit`, and `printed` as the source prints it; `benchmark` as "stream".

    `place` is the table, figure or section of the source, "" if the data do not say it.
    """

    source: str
    system: str
    benchmark: str
    metric: str
    value: float
    unit: str
    parameters: Mapping[str, Scalar]
    note: str
    scale: float = 1.0  # the printed unit in the SI unit
    printed: str = ""
    place: str = ""


def read(path: Path = DATA) -> tuple[Published, ...]:
    """Returns all numbers in the file's order. MachineFailed if it cannot be read or a line is malformed."""
    try:
        with path.open(encoding="utf-8", newline="") as lines:
            rows = enumerate(csv.DictReader(lines), 2)
            return tuple(_entry(row, path, number) for number, row in rows)
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        raise MachineFailed(f"The published systems cannot be read: {error}. Reinstall Steelyard.") from error


@cache
def shipped() -> tuple[Published, ...]:
    """Returns the numbers that come with this package, read once."""
    return (*read(DATA), *read(FURTHER))


def select(benchmark: str, metric: str | None = None, **where: Scalar) -> tuple[Published, ...]:
    """Returns the shipped numbers of a benchmark ("memory.stream" or "stream") with the parameters `where`."""
    bare = benchmark.rsplit(".", 1)[-1]
    return tuple(
        entry
        for entry in shipped()
        if entry.benchmark == bare
        and metric in {None, entry.metric}
        and all(entry.parameters.get(name) == value for name, value in where.items())
    )


def theoretical(entry: Published) -> float | None:
    """Returns the limit that was printed beside the number, in its SI unit; None if there was none."""
    given = entry.parameters.get("theoretical")
    return float(given) * entry.scale if isinstance(given, int | float) else None


def _entry(row: Mapping[str, str], path: Path, line: int) -> Published:
    try:
        factor, unit = SI[row["unit"]]
        pairs = (pair.split("=", 1) for pair in row["parameters"].split(";") if pair)
        parameters = {name: scalar(_OURS.get((name, text), text)) for name, text in pairs}
        value = float(row["value"]) * factor
        numbers = [x for x in (value, *parameters.values()) if isinstance(x, int | float)]
        if row["source"] not in SOURCES or not all(abs(x) <= MOST for x in numbers):
            raise ValueError(f"the source '{row['source']}', the numbers {numbers}")
        names = {name: row[name] for name in ("source", "system", "benchmark", "metric")}
        texts = {"note": row["note"] or "", "place": row.get("place") or "", "printed": f"{row['value']} {row['unit']}"}
        return Published(**names, **texts, value=value, unit=unit, parameters=parameters, scale=factor)
    except (KeyError, ValueError, TypeError, AttributeError) as error:
        raise MachineFailed(
            f"'{path}', line {line}, is not a published number: {error!r}. The file needs the columns source "
            f"(one of {', '.join(SOURCES)}), system, benchmark, metric, unit (one of {', '.join(SI)}), value, "
            "parameters (name=value;…) and note."
        ) from error
