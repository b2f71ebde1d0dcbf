"""The sides of a report that compares several, with the figures of their runs from the user's cache."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

import msgspec

from steelyard.command_line.evaluated_run import read
from steelyard.command_line.stored_runs import (
    SIDE,
    Content,
    Make,
    find_content,
    find_contents,
    pack_side_run,
    read_content,
    unpack_side_run,
)
from steelyard.command_line.stored_tables import FIGURES, pack_figures, unpack_figures
from steelyard.compare.modes import NodeRun, select_node
from steelyard.compare.side import Side, SideRun
from steelyard.model import Evaluation
from steelyard.model.plain import to_msgpack
from steelyard.report.joined_figures import SideFigures
from steelyard.report.run_figures import RunFigures
from steelyard.report.side_traces import MOST_DRAWN
from steelyard.report.sides_of_report import ReportSides

NODE = "node"
_NODE = msgspec.msgpack.Decoder(NodeRun)


@dataclass
class RunReader:
    """Reads the runs of a report. A run that the cache lacks is evaluated once for all that the report has of it."""

    paths: Sequence[Path]
    _contents: dict[tuple[str, str], Content] = field(default_factory=dict)  # by the folder and the entry
    _first: dict[str, Evaluation] = field(default_factory=dict)  # the last run of the first side, if it was evaluated

    def read(self, path: Path, side: int) -> SideRun:
        """Returns a run of the side of that number, and finds its figures if the side is drawn. SteelyardError."""

        def keeping(make: Make) -> Make:
            def pack(evaluation: Evaluation) -> bytes:
                self._first = {str(path): evaluation}
                return make(evaluation)

            return pack

        makers: dict[str, Make] = {SIDE: pack_side_run}
        makers |= {FIGURES: pack_figures} if side < MOST_DRAWN else {}
        # The page on the kernels of the node compares the first two sides.
        makers |= {NODE: _pack_node} if side < 2 else {}
        makers = makers if side else {entry: keeping(make) for entry, make in makers.items()}
        contents = find_contents(path, self.paths, makers)
        self._contents |= {(str(path), entry): content for entry, content in contents.items() if entry != SIDE}
        return unpack_side_run(contents[SIDE], path)

    def figures(self, run: SideRun) -> RunFigures:
        """Returns the figures of a run by benchmark. SteelyardError."""
        return unpack_figures(self._find(run, FIGURES, pack_figures))

    def node(self, run: SideRun) -> NodeRun:
        """Returns what a run has of the kernels of the node. SteelyardError."""
        return _NODE.decode(read_content(self._find(run, NODE, _pack_node)))

    def _find(self, run: SideRun, entry: str, make: Make) -> Content:
        found = self._contents.get((run.path, entry))
        return found or find_content(Path(run.path), self.paths, entry, make)

    def evaluate(self, run: SideRun) -> Evaluation:
        """Returns the evaluation of a run. SteelyardError."""
        return self._first.pop(run.path, None) or read(Path(run.path), self.paths)


def compare(sides: Sequence[Side], reader: RunReader) -> ReportSides:
    """Returns the sides of a report, the baseline first. The report shows the first one that is not a published system."""
    own = next((n for n, side in enumerate(sides) if side.kind != "published"), None)
    drawn = sides[:MOST_DRAWN]
    figures = SideFigures(
        names=tuple(side.name for side in drawn),
        own=own or 0,
        runs=tuple(
            tuple(reader.figures(run) for run in side.runs if run.path and (n != own or len(side.runs) > 1))
            for n, side in enumerate(drawn)
        ),
    )
    return ReportSides(sides=tuple(sides), own=own, figures=figures if own is not None else None, read_node=reader.node)


def _pack_node(evaluation: Evaluation) -> bytes:
    return to_msgpack(select_node(evaluation))
