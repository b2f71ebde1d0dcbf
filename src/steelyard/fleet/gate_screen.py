"""The answer of a gate on the terminal and as plain data."""

import math
from collections.abc import Iterator
from typing import Any

from steelyard.fleet.checks import Check, Outcome
from steelyard.fleet.gate import GIVEN, PUBLISHED, Gated
from steelyard.fleet.printing import name_figure, print_sentences
from steelyard.model.units import duration, percent
from steelyard.model.words import plural
from steelyard.show.report.lines import console as open_console
from steelyard.show.report.lines import one_line
from steelyard.statistics.difference.acceptance import LEAST_LAUNCHES, Answer, Decision

ANSWERS = {"as usual": "as usual", "slower": "certainly slower", "undecided": "undecided"}
GIVEN_WORDS = {GIVEN: "the values that you gave", PUBLISHED: "the worst normal values of published systems"}
SHORTEST, LONGEST = 60.0, 7200.0  # seconds that a sentence names
OUTCOMES: dict[Answer, Outcome] = {"as usual": "passed", "slower": "failed", "undecided": "undecided"}


def as_plain(gated: Gated) -> dict[str, Any]:
    """Returns everything about the answer as plain data. Ratios are times over the usual one: 1.05 is 5 % more time."""
    return {
        "answer": gated.answer, "host": gated.host, "reference": gated.kind, "attempts": gated.attempts, "rounds": gated.rounds,
        "seconds": gated.seconds, "runs": [str(path) for path in gated.runs],
        "figures": [
            {"title": figure.title, "conditions": figure.conditions, "answer": d.answer, "launches": d.launches,
             "ratio": d.ratio if math.isfinite(d.ratio) else None, "low": d.low or None,
             "high": d.high if math.isfinite(d.high) else None, "usual": d.usual, "border": d.border}
            for figure, d in gated.decisions.values()
        ],
    }  # fmt: skip


def list_checks(gated: Gated) -> list[Check]:
    """Returns each figure as a check."""
    return [
        Check(
            name=name_figure(figure.title, figure.conditions),
            outcome=OUTCOMES[decision.answer],
            text=_describe(decision),
        )
        for figure, decision in gated.decisions.values()
    ]


def show(gated: Gated) -> None:
    """Prints the answer, then each figure with its range and what may pass."""
    on = open_console()
    print_sentences(on, _list_sentences(gated), whole=True)


def _list_sentences(gated: Gated) -> Iterator[str]:
    rounds = f"{plural(gated.rounds, 'round')} in {plural(gated.attempts, 'attempt')}"
    answer = f"its {gated.kind}: {ANSWERS[gated.answer]}"
    if gated.kind in GIVEN_WORDS:
        fast = "fast enough" if gated.answer == "as usual" else ANSWERS[gated.answer]
        answer = f"{GIVEN_WORDS[gated.kind]}: {fast}"
    yield f"{gated.host}, compared with {answer}."
    yield f"Measured: {rounds}. This attempt took {duration(gated.seconds)}."
    for figure, decision in gated.decisions.values():
        yield f"  {name_figure(figure.title, figure.conditions)}: {ANSWERS[decision.answer]}. {_describe(decision)}"
        if decision.slowest:
            most = percent(decision.slowest - 1, 1)
            yield f"  The {gated.kind} differ strongly: a node can take up to {most} more time and still pass."
    if gated.answer == "undecided":
        yield advise(gated)


def advise(gated: Gated) -> str:
    """Returns what to do after an undecided answer, and how much longer the measurement is expected to take."""
    left = [decision for _, decision in gated.decisions.values() if decision.answer == "undecided"]
    if any(decision.launches < LEAST_LAUNCHES for decision in left):
        return "Other work disturbs this node. End it or wait for it, for example drain the node. Then run the command again."
    factors = []
    for one in left:
        # The range becomes narrower with the root of the launches, until one of its ends is within a limit.
        room = max(math.log(one.border / one.ratio), math.log(one.ratio / one.usual))
        factors.append((math.log(one.high / one.ratio) / room) ** 2 if room > 0 else math.inf)
    more = gated.seconds * gated.attempts * (max(factors, default=1.0) - 1)
    again = "Run the command again, without --after-repair. The rounds so far count."
    if more > LONGEST:
        return f"{again} The node is close to a limit, or its launches differ much: an answer may take hours."
    return f"{again} About {duration(max(more, SHORTEST))} more are expected: --budget {math.ceil(max(more, SHORTEST) / 60)}m"


def word_reason(gated: Gated) -> str:
    """Returns one line on the answer, for the reason of a scheduler: the figure that decided it, or the first one."""
    figures = sorted(gated.decisions.values(), key=lambda pair: (pair[1].answer != gated.answer, -pair[1].ratio))
    figure, decision = figures[0]
    size = f" {percent(decision.ratio - 1, 1, signed=True)} time" if math.isfinite(decision.ratio) else ""
    return one_line(f"steelyard gate: {ANSWERS[gated.answer]}, {figure.title}{size}")


def _describe(decision: Decision) -> str:
    if decision.launches < LEAST_LAUNCHES:
        found = plural(decision.launches, "launch") if decision.launches else "No launch"
        return f"{found} without a disturbance, but {LEAST_LAUNCHES} are needed. Other work may be using this node."
    low, high = (percent(end - 1, 1, signed=True) for end in (decision.low, decision.high))
    share = percent(abs(decision.ratio - 1), 1)
    size = f"{share} {'more' if decision.ratio > 1 else 'less'} time" if share != percent(0.0, 1) else "The same time"
    size += f" (range: {low} to {high})"
    return f"{size}. The node passes if the whole range is below {percent(decision.border - 1, 1, signed=True)}."
