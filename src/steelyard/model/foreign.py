"""Values that other tools measured and that were imported as a run."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from steelyard.model.scalars import Better, Count, Parameters

MOST_WORKERS = 1024  # ranks times threads on one node: two processors of 192 cores with two threads each have 768


@dataclass(frozen=True, slots=True, kw_only=True)
class ForeignValue:
    """A value that another tool printed, in SI units.

    `benchmark` and `kernel` are those of Steelyard where the meaning is the same, else the tool's, such as "osu.multi_lat".
    `statistic` says how the tool made the value: "mean", "median", "least", "greatest", "best of 9", "one run", "p99" …
    Values that differ in `repetition` alone are samples of one case. `note` says what differs in meaning from the benchmark of
    Steelyard, or what a reader must know. `tool`, `file` and `line` say where the value comes from; the line is 0 if it is
    unknown, and equal values may stand in different lines. `host` and `started` (as printed) are "" unless the file holds runs
    of several hosts or dates.
    """

    benchmark: str
    kernel: str
    metric: str
    value: float
    unit: str
    better: Better
    statistic: str
    parameters: Parameters = field(default_factory=dict)
    repetition: Count = 0
    note: str = ""
    tool: str = ""
    file: str = ""
    line: Count = field(default=0, compare=False)
    host: str = ""
    started: str = ""

    def read_from(self, tool: str, file: str, repetition: int) -> "ForeignValue":
        """Returns the value with these facts; `dataclasses.replace` takes nearly twice as long."""
        return ForeignValue(
            benchmark=self.benchmark, kernel=self.kernel, metric=self.metric, value=self.value, unit=self.unit,
            better=self.better, statistic=self.statistic, parameters=self.parameters, note=self.note, host=self.host,
            started=self.started, tool=tool, file=file, line=self.line, repetition=repetition,
        )  # fmt: skip

    @property
    def source(self) -> str:
        """Returns the file and, if it is known, the line, as FILE:LINE."""
        return f"{self.file}:{self.line}" if self.line else self.file

    @property
    def case(self) -> tuple[object, ...]:
        """Returns what all repetitions of a value have in common: benchmark, kernel, metric, statistic and parameters."""
        return (self.benchmark, self.kernel, self.metric, self.statistic, *sorted(self.parameters.items()))


def list_tools(values: Iterable[ForeignValue]) -> dict[str, tuple[str, ...]]:
    """Returns the tools that measured the values, by benchmark, in their order."""
    tools: dict[str, dict[str, None]] = {}
    for value in values:
        tools.setdefault(value.benchmark, {})[value.tool] = None
    return {benchmark: tuple(found) for benchmark, found in tools.items()}


def uses_several_nodes(parameters: Parameters) -> bool:
    """Returns whether a case ran on several nodes: then its host is only one of them."""
    given = {name: number for name, number in parameters.items() if isinstance(number, int)}
    workers = given.get("ranks", 1) * given.get("threads", 1)
    return given.get("nodes", 1) > 1 or workers > MOST_WORKERS or spreads_ranks(parameters)


def spreads_ranks(parameters: Parameters) -> bool:
    """Returns whether a case has more ranks than it starts on a node. Several names for one machine count as nodes, too."""
    ranks, each = (parameters.get(name) for name in ("ranks", "ranks_per_node"))
    return isinstance(ranks, int) and isinstance(each, int) and 0 < each < ranks


@dataclass(frozen=True, slots=True, kw_only=True)
class Imported:
    """The content of an imported run: values, the number of files by tool, and the names of the files by a hash of each.

    `layout` is what the user said about the names of the files, see `importing.layout`.
    """

    tools: Mapping[str, Count]
    files: Mapping[str, str] = field(default_factory=dict)
    layout: str = ""
    values: Sequence[ForeignValue] = ()  # in the file values.jsonl of the run
