"""A run that was read and evaluated for a command, or only its summary."""

import contextlib
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import msgspec

from steelyard.measure import records
from steelyard.measure.records import remembered
from steelyard.model import Evaluation
from steelyard.model.plain import suspect, to_json
from steelyard.results.basis import Basis, find_basis, find_rules, is_same
from steelyard.results.table import read_head, write_own
from steelyard.show.report.summary import Summary, name_machine
from steelyard.system.files import ordinary, others

SUMMARY = "summary.json"


@dataclass(frozen=True, slots=True)
class StoredSummary:
    """The file summary.json: a summary, and the basis of the table that it follows from."""

    basis: Basis
    summary: Summary


_STORED = msgspec.json.Decoder(StoredSummary)


def read(path: Path, paths: Sequence[Path]) -> Evaluation:
    """Returns the evaluation of a run. Prints a note for each part that is left out because it would start a foreign program."""
    from steelyard.judge import evaluation  # with all benchmarks, which a summary does not need

    evaluated = evaluation.evaluate(path, paths)
    for note in remembered.unread(evaluated.run, paths):
        print(f"steelyard: {note}", file=sys.stderr)
    return evaluated


def find_summary(path: Path, paths: Sequence[Path]) -> Summary:
    """Returns the summary of a run: the file beside its table of results, or made from the table. SteelyardError."""
    summary, is_older = read_summary(path, paths) or (None, True)
    return store_summary(read(path, paths), paths) if summary is None or is_older else summary


def find_older_summary(path: Path, paths: Sequence[Path]) -> tuple[Summary, bool]:
    """Returns the summary as `find_summary`, but also one that an earlier version made, and whether it is such a one.

    To judge hundreds of runs again after each new version would take hours. SteelyardError.
    """
    return read_summary(path, paths) or (store_summary(read(path, paths), paths), False)


def list_beside(run: Summary, most: int | None = None) -> Iterator[Summary]:
    """Yields the stored summaries of the other runs of the machine in the folder of a run, the newest first.

    No run is evaluated. Of `most` folders, the newest ones are looked at; None: of all.
    """
    folders = records.all_runs(Path(run.path).resolve().parent)[::-1]
    for found in (read_summary(folder, ()) for folder in folders[:most]):
        if found and found[0].run != run.run and name_machine(found[0].machine) == name_machine(run.machine):
            yield found[0]


def store_summary(evaluation: Evaluation, paths: Sequence[Path]) -> Summary:
    """Returns the summary of an evaluation, and writes it beside the table of results if there is one."""
    from steelyard.show.report.summarised_run import summarised  # with all that judges, as above

    made, path = summarised(evaluation), Path(evaluation.run.path)
    head = None if paths or evaluation.run.paths else read_head(path)
    if head:
        with contextlib.suppress(OSError):
            write_own(path / SUMMARY, to_json(StoredSummary(head.basis, made)))
    return made


def read_summary(path: Path, paths: Sequence[Path]) -> tuple[Summary, bool] | None:
    """Returns the stored summary, and whether an earlier version made it.

    None if there is none of the present files, or if benchmarks from outside may have changed. Files that were copied have
    another time: their content is read once, and their new time is written into the summary.
    """
    if paths:
        return None
    with contextlib.suppress(OSError, msgspec.MsgspecError, RecursionError):
        with ordinary(path / SUMMARY) as file:
            content = file.read()
        if others(path / SUMMARY) or suspect(content):
            return None
        stored = _STORED.decode(content)
        present = replace(find_basis(path, {}, stored.basis), rules=stored.basis.rules)
        if is_same(stored.basis, present):
            if stored.basis != present:
                with contextlib.suppress(OSError):
                    write_own(path / SUMMARY, to_json(replace(stored, basis=present)))
            return replace(stored.summary, path=str(path)), present.rules != find_rules({})
    return None
