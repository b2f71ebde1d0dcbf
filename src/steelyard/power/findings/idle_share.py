"""Rule: compares the power of the idle machine with its power under load."""

from statistics import median

from steelyard.model import Evaluation, Finding
from steelyard.model.account import Account
from steelyard.telemetry.watched import Stretch, cost, courses, modelled, not_idle
from steelyard.units import percent, quantity

MUCH = 0.5  # of the power under load: above it, an idle second costs more than half of a busy second


def find(evaluation: Evaluation) -> list[Finding]:
    power = evaluation.power
    powers = [r.metrics["power"] for r in evaluation.results if "power" in r.metrics]
    if not power or not power.idle or not powers:
        return []
    if not_idle(Account.of(power.busy, evaluation.run.machine.processors, 1)):
        return []
    traces = courses(power.traces)
    totals = cost(traces, Stretch("idle", *power.idle)).totals
    if modelled(power.traces) or not totals:  # the user sets both powers of a model
        return []
    source = max(totals, key=lambda name: totals[name].joules)
    idle, loaded = totals[source], median(value.value for value in powers)
    share = idle.power / loaded
    return [
        Finding(
            "idle_share",
            "notice" if share > MUCH else "good",
            f"The idle machine draws {percent(share)} of its power under load ({quantity(idle.power, 'W')} of "
            f"{quantity(loaded, 'W')}, by {source}).",
            (
                f"Idle for {quantity(idle.seconds, 's')}: {quantity(idle.low / idle.seconds, 'W')} to "
                f"{quantity(idle.high / idle.seconds, 'W')}. Median of {len(powers)} cases under load: {quantity(loaded, 'W')}.",
            ),
            "Fans, memory, power supplies and cores without deep sleep states draw power even if the machine does no work."
            if share > MUCH
            else "The power of the machine follows its load.",
            "Keep the machine busy or switch it off, and allow idle cores to sleep. A faster program saves nearly as "
            "much energy as "
            "time."
            if share > MUCH
            else "",
            effect=1 / (1 - share) if MUCH < share < 1 else None,
            reach="machine",
        )
    ]
