"""Rule: how much of what the machine draws under load it draws as well when it does nothing."""

from statistics import median

from steelyard.model import Evaluation, Finding
from steelyard.telemetry.watched import Stretch, cost, courses, modelled, not_idle
from steelyard.units import percent, quantity

MUCH = 0.5  # of the power under load: from there on waiting costs as much as working


def find(evaluation: Evaluation) -> list[Finding]:
    power = evaluation.power
    found = [r.metrics["power"] for r in evaluation.results if "power" in r.metrics]
    if not power or not power.idle or not found or not_idle(power.busy):
        return []
    known = courses(power.traces)
    totals = cost(known, Stretch("idle", *power.idle)).totals
    if modelled(power.traces) or not totals:  # of a model the user gave both
        return []
    source = max(totals, key=lambda name: totals[name].joules)
    idle, loaded = totals[source], median(value.value for value in found)
    share = idle.power / loaded
    return [
        Finding(
            "idle_share",
            "notice" if share > MUCH else "good",
            f"The idle machine draws {percent(share)} of what it draws under load ({quantity(idle.power, 'W')} of "
            f"{quantity(loaded, 'W')}, by {source}).",
            (
                f"idle for {quantity(idle.seconds, 's')}: {quantity(idle.low / idle.seconds, 'W')} to "
                f"{quantity(idle.high / idle.seconds, 'W')}; median of {len(found)} cases under load: {quantity(loaded, 'W')}.",
            ),
            "Fans, memory, power supplies and cores that do not sleep deeply draw power whether work is done or not."
            if share > MUCH
            else "What the machine draws follows its load.",
            "Keep it busy or switch it off: a faster program saves nearly as much energy as time. Let idle cores sleep."
            if share > MUCH
            else "",
            effect=1 / (1 - share) if MUCH < share < 1 else None,
            reach="machine",
        )
    ]
