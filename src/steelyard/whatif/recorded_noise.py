"""Recorded noise for the engine: from a run (noise.quanta), or from a file of another tool."""

import contextlib
import tempfile
from collections.abc import Iterable, Iterator
from pathlib import Path

from steelyard.errors import UsageError
from steelyard.judge import evaluation
from steelyard.measure import records
from steelyard.measure.benchmarks.noise.series import threads_with_detours
from steelyard.model import Record

NANO = 1e9


@contextlib.contextmanager
def open_noise(text: str, runs: Path) -> Iterator[Path]:
    """Yields a file with two columns, start and duration in ns. `text` names such a file, or a run.

    UsageError if there is neither, or if the run has no quanta.
    """
    # The engine reads words without blanks, so the path must have none.
    with tempfile.TemporaryDirectory(prefix="steelyard-") as folder:
        path = Path(folder) / "noise"
        if Path(text).is_file():
            path.write_bytes(Path(text).read_bytes())
        else:
            run = evaluation.evaluate(records.find(runs, text)).run
            lines = list(_write_lines(r for r in run.records if r.benchmark == "noise.quanta"))
            if len(lines) < 2:
                raise UsageError(
                    f"The run {run.id} has no recorded noise. Measure it: steelyard run --only noise.quanta"
                )
            path.write_text("\n".join(lines) + "\n", encoding="utf-8")
        yield path


def _write_lines(measured: Iterable[Record]) -> Iterator[str]:
    """Yields the total length, then the detours of all threads in a row, each at the begin of its quantum."""
    end, detours = 0.0, []
    for record in measured:
        for thread, analysis in threads_with_detours(record):
            starts = [end]
            for seconds in thread.seconds:
                starts.append(starts[-1] + seconds)
            detours += [(starts[i], over) for i, over in zip(analysis.indices, analysis.durations, strict=True)]
            end = starts[-1]
    yield f"# length {round(NANO * end)}"
    for start, over in detours:
        yield f"{round(NANO * start)} {round(NANO * over)}"
