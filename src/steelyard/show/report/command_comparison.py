"""Two commands of the user beside each other on the terminal, or as JSON."""

import shlex
from collections.abc import Sequence
from typing import Any

from rich import box
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from steelyard.compare.commands import Measure
from steelyard.compare.pairs import SMALLEST
from steelyard.measure.launch.commands_in_turn import Timings
from steelyard.model.plain import to_plain
from steelyard.model.units import percent, quantity
from steelyard.show.report.json_output import print_json
from steelyard.statistics.samples.launches import Spread

ANSWERS = {
    "FASTER": "{b} is faster than {a}.",
    "SLOWER": "{b} is slower than {a}.",
    "SAME": "{b} is as fast as {a}: any difference is below {smallest}.",
    "UNCLEAR": "It is not clear whether {b} is faster or slower than {a}. Measure more pairs with --rounds NUMBER.",
}

USES = {"SLOWER": "{b} uses more processor time than {a}.", "FASTER": "{b} uses less processor time than {a}."}


def show(commands: Sequence[Sequence[str]], measures: Sequence[Measure], timings: Timings, as_json: bool) -> None:
    """Prints the answer first, then each measure of both commands with its 95 % interval."""
    names = [shlex.join(command) for command in commands]
    if as_json:
        print_json(_plain(names, measures, timings))
        return
    console = Console(highlight=False)
    if not measures:
        console.print("There are too few pairs of runs for a comparison. The times of the complete pairs are:")
        for name, runs in zip(names, (timings.first, timings.second), strict=True):
            console.print(
                escape(f"{name}: {', '.join(quantity(run.seconds, 's') for run in runs) or 'none'}"), soft_wrap=True
            )
        return
    time = measures[0].comparison
    calls = {measure.name: measure.comparison.call for measure in measures}
    words = ANSWERS[time.call]
    if time.call == "UNCLEAR" and calls.get("processor time") in USES:
        words = f"{USES[calls['processor time']]} Its wall-clock time is not clear. Measure more pairs with --rounds NUMBER."
    answer = words.format(a=names[0], b=names[1], smallest=percent(SMALLEST, 1))
    console.print(escape(answer), style="bold", soft_wrap=True)
    console.print(
        f"The ratio of the times (second / first) is {time.ratio:.3f}, with a 95 % interval from {time.low:.3f} to "
        f"{time.high:.3f}. It was measured with {len(timings.first)} pairs of runs.\n",
        soft_wrap=True,
    )
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    table.add_column("median (95 % interval)", overflow="fold", ratio=1)
    for measure in measures:
        table.add_column(measure.name)
    table.add_row(escape(names[0]), *(_write_interval(measure.first) for measure in measures))
    table.add_row(escape(names[1]), *(_write_interval(measure.second) for measure in measures))
    ratios = [measure.comparison for measure in measures]
    table.add_row("second / first", *(f"{c.ratio:.3f} ({c.low:.3f} to {c.high:.3f})" for c in ratios))
    table.add_row("", *(c.call for c in ratios))
    console.print(table)


def _write_interval(spread: Spread) -> str:
    value = quantity(spread.value, "s")
    if spread.low is None or spread.high is None:
        return value
    return f"{value} ({quantity(spread.low, 's')} to {quantity(spread.high, 's')})"


def _plain(names: Sequence[str], measures: Sequence[Measure], timings: Timings) -> dict[str, Any]:
    return {
        "commands": list(names),
        "pairs": len(timings.first),
        "interrupted": timings.interrupted,
        "measures": [to_plain(measure) for measure in measures],
        "runs": {"first": to_plain(timings.first), "second": to_plain(timings.second)},
    }
