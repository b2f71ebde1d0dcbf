"""`steelyard selfcheck`."""

from typing import TYPE_CHECKING, Annotated

import typer

from steelyard.show.command_line.options import Json

if TYPE_CHECKING:
    from steelyard.measure.run.selfcheck import Outcome

PLACE = 150


def command(
    only: Annotated[
        list[str] | None,
        typer.Option("--only", metavar="CHECK", help="Run only this check, such as clock (default: all checks)."),
    ] = None,
    thorough: Annotated[
        bool,
        typer.Option(
            "--thorough",
            help="Repeat each check 100 times, which takes about 20 min (default: 10 times). The guarantees of "
            "docs/guarantees.md are for 100 times.",
        ),
    ] = False,
    json_: Json = False,
) -> None:
    """Disturb measurements on purpose, and check whether Steelyard detects and names each disturbance.

    Example: **steelyard selfcheck**
    """
    from steelyard.measure.run import selfcheck
    from steelyard.show.command_line.progress import Console
    from steelyard.show.report.json_output import print_json

    def done(outcome: "Outcome") -> None:
        if not json_:
            _show(outcome)

    outcomes = selfcheck.carry_out(only or [], 100 if thorough else 10, Console(quiet=json_), done)
    if json_:
        print_json(outcomes)
    raise typer.Exit(3 if any(outcome.state == "failed" for outcome in outcomes) else 0)


def _show(outcome: "Outcome") -> None:
    print(f"{outcome.name} … {outcome.state}: {outcome.seen}", flush=True)
    for line in outcome.evidence:
        print(f"    {line}")
