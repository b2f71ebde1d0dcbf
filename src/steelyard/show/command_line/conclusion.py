"""The end of a command that shows a run: its screen, its report, and its exit code."""

import sys
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import TYPE_CHECKING

from steelyard.errors import UsageError, one_line
from steelyard.judge.findings.every import wrong_result
from steelyard.model import Evaluation
from steelyard.show.command_line import output_forms
from steelyard.show.command_line.evaluated_run import read, store_summary
from steelyard.system import files

if TYPE_CHECKING:
    from steelyard.show.report.sides_of_report import ReportSides

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
        short = store_summary(evaluation, paths)
    with working("Writing the report"):
        report_path = write_report(evaluation, report)  # before the output, since its reader may stop early (| head)
    output_forms.show(evaluation, form, report_path, short)
    if form != "screen":
        print(f"\nThe report: {one_line(str(report_path))}", file=sys.stdout if form == "all" else sys.stderr)
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
    if any(r.error for result in evaluation.results for r in result.attempts):
        return 4
    return int(any(f.level == "serious" and (strict or f.about == "machine") for f in evaluation.findings))


def write_report(evaluation: Evaluation | None, output: Path | None, sides: "ReportSides | None" = None) -> Path:
    """Writes the HTML report of a run, with the other `sides` if there are some, and returns its path.

    UsageError if there is neither a run nor `output`.
    """
    from steelyard.show import report

    if output is None:
        if evaluation is None:
            raise UsageError(
                "A report of published systems has no run folder to lie in. Give a file, such as: --output systems.html"
            )
        output = Path(evaluation.run.path) / "report.html"
        files.refuse_link_or_pipe(output, "The report")
    return report.write(evaluation, output, sides)
