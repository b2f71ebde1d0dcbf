"""`steelyard history`."""

from pathlib import Path
from typing import Annotated

import typer

from steelyard.show.command_line.options import All, Json, Paths, Runs

PLACE = 101


def command(
    systems: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="SYSTEM",
            help="Host or system whose runs are listed, such as node17 (default: that of the newest run). Give all names of a "
            "machine that was renamed.",
        ),
    ] = None,
    runs: Runs = Path("runs"),
    paths: Paths = None,
    all_: All = False,
    json_: Json = False,
) -> None:
    """Show the main figures of a machine over all its runs, and since when one is different.

    A change needs three runs on each side, and at least 1 %. It is named if chance cannot explain it, and if no later run is on
    the earlier level. A single outlier, a level that returns, and a slow drift are no changes. Each change lists the conditions
    that changed at the same time.

    Examples: **steelyard history** · **steelyard history node17 --runs /scratch/runs** · **steelyard history --json**
    """
    from steelyard.errors import UsageError, nearest, one_line
    from steelyard.fleet import history, history_screen, run_folders
    from steelyard.model.words import joined, plural
    from steelyard.show.command_line import output_forms
    from steelyard.show.report.json_output import print_json
    from steelyard.show.report.summary import Summary, name_machine

    form = output_forms.choose_form(all_, json_)
    folders = run_folders.find([], runs)
    machines: dict[str, list[Summary]] = {}
    notes, newest, older = [], "", 0
    for answer in run_folders.read_summaries(folders, paths or [], quiet=form == "json"):
        if isinstance(answer, str):
            notes.append(f"left out: {answer}")
            continue
        older += answer[1]
        newest = name_machine(answer[0].machine)
        machines.setdefault(newest, []).append(answer[0])
    if not machines:
        raise UsageError(f"None of {plural(len(folders), 'run')} can be read: {notes[0]}")
    found: list[Summary] = []
    for chosen in systems or [newest]:
        of_name = machines.pop(chosen, None)
        of_name = of_name or [s for group in machines.values() for s in group if s.machine.system == chosen]
        if not of_name:
            raise UsageError(
                f"There is no run of '{chosen}' in '{one_line(str(runs))}'. {nearest(chosen, sorted(machines))}"
            )
        found += [one for one in of_name if one not in found]
    if older:
        notes.append(f"{plural(older, 'run')} judged by an earlier version; to judge one again: steelyard judge RUN")
    if machines:
        notes.append(
            history.find_former_name(found, machines)
            or f"runs of {plural(len(machines), 'other machine')} are in this folder, such as {next(iter(machines))}"
        )
    whole = history.make_history(joined(systems or [newest]), found, notes)
    if form == "json":
        print_json(history_screen.as_plain(whole))
    else:
        history_screen.show(whole, everything=form == "all")
