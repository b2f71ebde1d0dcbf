"""How a command ends that has a run to show: its screen, its report, and the exit code that it deserves."""

import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from steelyard import files
from steelyard.command_line import output_forms, stored_tables
from steelyard.command_line.evaluated_run import read
from steelyard.errors import spelled
from steelyard.model import Evaluation, Factors

__all__ = ["conclude", "exit_code", "read", "write_report"]


def conclude(path: Path, paths: Sequence[Path], report: Path | None, form: output_forms.Form = "screen") -> None:
    """Shows a run's findings, writes its report, names it last, and ends with the exit code that the run deserves."""
    found = read(path, paths)
    stored_tables.keep(path, paths, found)
    where = _write(found, report)  # first: whoever reads the rest may stop reading (| head)
    output_forms.show(found, form, where)
    if form != "screen":
        print(f"\nThe report: {spelled(str(where))}", file=sys.stdout if form == "all" else sys.stderr)
    if code := exit_code(found):
        sys.exit(code)


def exit_code(judged: Evaluation) -> int:
    """3 where a result was wrong, 4 where a case could not be run, 1 for a serious finding, else 0."""
    last = [r for result in judged.results for r in result.records]
    if any(r.error is None and not r.check.passed for r in last):
        return 3
    if any(r.error for r in last):
        return 4
    return 1 if any(f.level == "serious" for f in judged.findings) else 0


def write_report(
    path: Path,
    paths: Sequence[Path],
    output: Path | None,
    against: Path | None = None,
    traces: Sequence[Factors] = (),
) -> Path:
    """The HTML report of a run, with its kernels of the node against those of another run, and with what traces say of programs;
    returns where it is."""
    judged = replace(read(path, paths), traces=tuple(traces))
    return _write(judged, output, read(against, paths) if against else None)


def write_figures(
    path: Path,
    paths: Sequence[Path],
    folder: Path,
    form: str,
    against: Path | None = None,
    traces: Sequence[Factors] = (),
) -> tuple[Path, ...]:
    """The figures of the same report as files; returns where they are."""
    from steelyard.report import figure_files

    judged = replace(read(path, paths), traces=tuple(traces))
    return figure_files.write(judged, folder, form, read(against, paths) if against else None)


def _write(judged: Evaluation, output: Path | None, base: Evaluation | None = None) -> Path:
    from steelyard import report

    own = Path(judged.run.path) / "report.html"
    if output is None:
        files.expect_own(own, "The report")
    return report.write(judged, output or own, base)
