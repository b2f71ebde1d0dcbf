"""The end of a command that shows a run: its screen, its report, and its exit code."""

import sys
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import replace
from pathlib import Path

from steelyard import files
from steelyard.command_line import output_forms, stored_tables
from steelyard.command_line.evaluated_run import read
from steelyard.errors import spelled
from steelyard.findings.every import wrong_result
from steelyard.model import Evaluation, Factors

__all__ = ["conclude", "exit_code", "read", "write_report"]

Working = Callable[[str], AbstractContextManager[object]]  # shows during a block what is being done


def conclude(
    path: Path,
    paths: Sequence[Path],
    report: Path | None,
    form: output_forms.Form = "screen",
    strict: bool = False,
    working: Working = nullcontext,
) -> None:
    """Writes the report of a run, prints its findings and the path of the report, and exits with the code of `exit_code`."""
    with working("Evaluating the run"):
        evaluation = read(path, paths)
        stored_tables.keep(path, paths, evaluation)
    with working("Writing the report"):
        report_path = _write_report(evaluation, report)  # before the output, since its reader may stop early (| head)
    output_forms.show(evaluation, form, report_path)
    if form != "screen":
        print(f"\nThe report: {spelled(str(report_path))}", file=sys.stdout if form == "all" else sys.stderr)
    if code := exit_code(evaluation, strict):
        sys.exit(code)


def exit_code(evaluation: Evaluation, strict: bool = False) -> int:
    """Returns the exit code of a run, by the gravest outcome.

    3: a result is wrong. 2: only results with compiler flags of the user are wrong. 4: a case could not run. 1: a serious finding
    about the machine, with `strict` also one about the measurement. 0: all others.
    """
    wrong = wrong_result.select_wrong(evaluation.results)
    if wrong:
        return 2 if all(wrong_result.is_by_flags(evaluation.run, result) for result in wrong) else 3
    if any(r.error for result in evaluation.results for r in result.records):
        return 4
    return int(any(f.level == "serious" and (strict or f.about == "machine") for f in evaluation.findings))


def write_report(
    path: Path,
    paths: Sequence[Path],
    output: Path | None,
    against: Path | None = None,
    traces: Sequence[Factors] = (),
) -> Path:
    """Writes the HTML report of a run and returns its path.

    The report compares the kernels of the node with those of the run `against`, and shows the losses of efficiency in `traces`.
    """
    evaluation = replace(read(path, paths), traces=tuple(traces))
    return _write_report(evaluation, output, read(against, paths) if against else None)


def write_figures(
    path: Path,
    paths: Sequence[Path],
    folder: Path,
    form: str,
    against: Path | None = None,
    traces: Sequence[Factors] = (),
) -> tuple[Path, ...]:
    """Writes the figures of the same report as files and returns their paths."""
    from steelyard.report import figure_files

    evaluation = replace(read(path, paths), traces=tuple(traces))
    return figure_files.write(evaluation, folder, form, read(against, paths) if against else None)


def _write_report(evaluation: Evaluation, output: Path | None, base: Evaluation | None = None) -> Path:
    from steelyard import report

    default = Path(evaluation.run.path) / "report.html"
    if output is None:
        files.expect_own(default, "The report")
    return report.write(evaluation, output or default, base)
