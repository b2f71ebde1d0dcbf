"""The answer of a gate on the terminal and as plain data."""

import math
from collections.abc import Iterator
from typing import Any

from steelyard.fleet.gate import Gated
from steelyard.fleet.printing import print_sentences
from steelyard.model.units import duration, percent
from steelyard.model.words import plural
from steelyard.show.report.lines import console as open_console
from steelyard.statistics.difference.acceptance import LEAST_LAUNCHES, Decision

ANSWERS = {"as usual": "is as usual", "slower": "is slower for sure", "undecided": "is undecided"}


def as_plain(gated: Gated) -> dict[str, Any]:
    """Returns everything about the answer as plain data. Ratios are times over the usual one: 1.05 is 5 % more time."""
    return {
        "answer": gated.answer, "host": gated.host, "reference": gated.kind, "tries": gated.tries, "rounds": gated.rounds,
        "seconds": gated.seconds, "runs": [str(path) for path in gated.runs],
        "figures": [
            {"title": figure.title, "conditions": figure.conditions, "answer": d.answer, "launches": d.launches,
             "ratio": d.ratio if math.isfinite(d.ratio) else None, "low": d.low or None,
             "high": d.high if math.isfinite(d.high) else None, "usual": d.usual, "border": d.border}
            for figure, d in gated.decisions.values()
        ],
    }  # fmt: skip


def show(gated: Gated) -> None:
    """Prints the answer, then each figure with its range and what may pass."""
    on = open_console()
    print_sentences(on, _list_sentences(gated), whole=True)


def _list_sentences(gated: Gated) -> Iterator[str]:
    rounds = f"{plural(gated.rounds, 'round')} in {plural(gated.tries, 'attempt')}"
    yield f"{gated.host} {ANSWERS[gated.answer]} beside its {gated.kind} ({rounds}, {duration(gated.seconds)} now)."
    for figure, decision in gated.decisions.values():
        conditions = f" ({figure.conditions})" if figure.conditions else ""
        yield f"  {figure.title}{conditions} {ANSWERS[decision.answer]}: {_describe(decision)}"
    if worst := max((d.slowest for _, d in gated.decisions.values() if d.slowest), default=None):
        yield f"Equal ones differ much: a node that takes {percent(worst - 1, 1)} more time could pass."
    if gated.answer == "undecided":
        yield "Measure further with the same command: the rounds so far count. More time: --budget 5m"


def _describe(decision: Decision) -> str:
    if decision.launches < LEAST_LAUNCHES:
        found = plural(decision.launches, "launch") if decision.launches else "no launch"
        return f"{found} without a disturbance, but {LEAST_LAUNCHES} are needed. Other work may be using this node."
    ratio, low, high, border = (
        percent(factor - 1, 1, signed=True) for factor in (decision.ratio, decision.low, decision.high, decision.border)
    )
    return f"{ratio} time ({low} to {high}). A node passes if all of this is below {border}."
