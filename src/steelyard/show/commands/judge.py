"""`steelyard judge`."""

from pathlib import Path

from steelyard.show.command_line.options import Json, Paths, RunNames, Runs

PLACE = 65


def command(
    names: RunNames = None,
    runs: Runs = Path("runs"),
    paths: Paths = None,
    json_: Json = False,
) -> None:
    """Judge runs again: write their tables of results (results.jsonl) from their records.

    Steelyard does this itself when a run ends. It also does it when it reads a run whose files or rules have changed.

    Examples: **steelyard judge** (the newest run) · **steelyard judge runs/2026* --json**
    """
    from steelyard.errors import one_line
    from steelyard.judge import evaluation
    from steelyard.measure import records
    from steelyard.model.words import plural
    from steelyard.show.report.json_output import print_json
    from steelyard.show.report.values import counts

    judged = []
    for path in records.find_each(runs, names):
        found = evaluation.evaluate(path, paths or [], afresh=True)
        verdicts = counts(found.results)
        judged.append(
            {"run": found.run.id, "results": len(found.results), "findings": len(found.findings), "verdicts": verdicts}
        )
        if not json_:
            words = ", ".join(f"{number} {level}" for level, number in verdicts.items() if number)
            print(
                f"{one_line(found.run.id)}: {plural(len(found.results), 'result')} ({words}), "
                f"{plural(len(found.findings), 'finding')}"
            )
    if json_:
        print_json(judged)
