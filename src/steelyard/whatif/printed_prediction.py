"""Prints a prediction on the terminal or as JSON."""

import contextlib
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rich.console import Console
from rich.markup import escape

from steelyard.model.plain import to_plain
from steelyard.model.units import duration, quantity
from steelyard.model.words import plural
from steelyard.show.command_line import tables
from steelyard.show.report.json_output import print_json
from steelyard.whatif import slowdowns
from steelyard.whatif.prediction_part import Part, describe_mode, make_table
from steelyard.whatif.scenario_points import describe_point
from steelyard.whatif.sentences import describe_undisturbed, describe_waits

if TYPE_CHECKING:
    from steelyard.whatif import Prediction, Question
    from steelyard.whatif.engine import Trace, Traced

MOST_BROKEN = 8  # incomplete ranks that are named one by one


@contextlib.contextmanager
def show_progress(quiet: bool) -> Iterator[Callable[[int, int], None]]:
    """Shows on a terminal how many replays are done, and the time for the others."""
    live, begun = sys.stderr.isatty() and not quiet, time.monotonic()

    def show(done: int, of: int) -> None:
        if live and done < of:
            left = (time.monotonic() - begun) / done * (of - done)
            print(f"\r\x1b[K{done}/{of} replays, about {duration(left)} left", end="", file=sys.stderr, flush=True)

    try:
        yield show
    finally:
        if live:
            print("\r\x1b[K", end="", file=sys.stderr, flush=True)


def show(parts: Sequence[Part], trace: "Trace", as_json: bool) -> None:
    """Prints the predictions: in JSON one object, or a list of the objects of a sweep."""
    if as_json:
        rows = [row for part in parts for row in _list_rows(part, trace)]
        print_json(rows if len(rows) > 1 else rows[0])
        return
    console, asked = Console(highlight=False), parts[0].asked
    console.print(
        f"{plural(trace.ranks, 'rank')}, {plural(trace.messages, 'message')} of {quantity(trace.bytes, 'B')} in total; "
        f"{describe_mode(asked)}, seed {asked.seed}"
    )
    for part in parts:
        tables.print_narrow_table(part.title or "Predicted", *make_table(part.answer, trace.ranks))
        for sentence in slowdowns.describe(part.answer, trace.ranks):
            console.print(escape(sentence))
    _print_traced(trace, console)
    for sentence in describe_undisturbed(*(part.answer for part in parts)):
        console.print(escape(sentence))
    if trace.unreceived:
        console.print(f"The trace has {plural(trace.unreceived, 'message')} that no rank receives.")
    replays = sum(len(p.times) for part in parts for p in part.answer.predictions)
    seconds = sum(part.answer.seconds for part in parts)
    rate = trace.events * replays / seconds if seconds else None
    console.print(f"{plural(replays, 'replay')} in {quantity(seconds, 's')}: {quantity(rate, 'events/s')}")


def write(parts: Sequence[Part], trace: "Trace", name: str, path: Path) -> None:
    """Writes the page of the answers, and prints its path on standard error."""
    from steelyard.whatif import prediction_page

    prediction_page.write(prediction_page.make_page(parts, trace, name), path)
    print(f"The page: {path}", file=sys.stderr)


def _list_rows(part: Part, trace: "Trace") -> Iterator[dict[str, Any]]:
    answer = part.answer
    for prediction, base, as_traced in zip(answer.predictions, answer.undisturbed, answer.as_traced, strict=True):
        yield _to_plain(prediction, base, part.asked, trace) | {
            "cores_as_traced": as_traced.time,
            "title": part.title,
            "scenario": describe_point(prediction.point, part.whole),
        }


def _to_plain(found: "Prediction", base: "Prediction", asked: "Question", trace: "Trace") -> dict[str, Any]:
    return {
        "time": found.time,
        "low": found.low,
        "high": found.high,
        "undisturbed": base.time,
        "slowdown": found.time / base.time if base.time else None,
        "draws": len(found.times),
        "times": found.times,
        "events": trace.events,
        "seconds": found.seconds,
        "seed": asked.seed,
        "crossing": trace.crossing,
        "even": trace.even,
        "traced": to_plain(trace.traced) if trace.traced else None,
        "mode": asked.mode,
        "ranks": trace.ranks,
        **to_plain(found.point),
        "ranks_per_node": found.point.ranks_per_node or asked.ranks_per_node,
    }


def _print_traced(trace: "Trace", console: Console) -> None:
    """Prints the traced time, and which parts the trace lacks."""
    traced = trace.traced
    if trace.crossing:
        console.print(
            f"The replay leaves out {plural(trace.crossing, 'message')} that were sent before the region "
            "and received in it, or the other way round."
        )
    if trace.even:
        console.print(
            f"The archive has only the total bytes of {plural(trace.even, 'call')} of MPI_Alltoallv. The replay "
            "divides the "
            "bytes of each rank evenly."
        )
    if not traced:
        return
    _print_whole_run(traced, trace, console)
    for one in traced.broken[:MOST_BROKEN]:
        console.print(f"Rank {one.rank} ends at its call {one.call}: {one.why}.")
    if len(traced.broken) > MOST_BROKEN:
        console.print(f"{plural(len(traced.broken) - MOST_BROKEN, 'more rank')} ended early.")


def _print_whole_run(traced: "Traced", trace: "Trace", console: Console) -> None:
    """Prints the measurements of the whole run."""
    if trace.crossing is not None:
        console.print(
            "In the replay, all ranks begin the region at the same time. The whole run took "
            f"{quantity(traced.time, 's', 4)}."
        )
        return
    waited = f" (the rank with the longest wait waited {quantity(traced.preempted, 's')} of it for a processor)"
    console.print(
        f"Traced time: {quantity(traced.time, 's', 4)}{waited if traced.preempted else ''}; "
        f"{plural(traced.calls, 'call')}, "
        f"{quantity(traced.bytes, 'B')}"
    )
    if sentence := describe_waits(traced):
        console.print(sentence)
