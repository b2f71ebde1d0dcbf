"""Rule: compares the power of the idle machine with its power under load."""

from statistics import median

from steelyard.judge.evaluation import energy
from steelyard.measure.telemetry.coverage import NODE, PROCESSORS, contains, words
from steelyard.measure.telemetry.watched import modelled, not_idle
from steelyard.model import Evaluation, Finding
from steelyard.model.account import Account
from steelyard.model.units import percent, quantity
from steelyard.power.findings.accelerator_energy import energy_questions

MUCH = 0.5  # of the power under load: above it, an idle second costs more than half of a busy second


def find(evaluation: Evaluation) -> list[Finding]:
    """Returns the finding on the parts that the sensors cover, if the processors are among them."""
    power = evaluation.power
    load = Account.of(power.busy, evaluation.run.machine.processors, 1) if power else None
    resting = energy.idle(evaluation) if power and not not_idle(load) else None
    if power and power.idle and energy.idle(evaluation) is None:
        return energy_questions("idle_share", "The power of the run is unknown", evaluation, list(evaluation.results))
    if not power or not resting or modelled(power.traces):  # the user sets both powers of a model
        return []
    counted, idle = resting
    scope = counted.scope
    powers = [r.metrics["power"].value for r in evaluation.results if "power" in r.metrics]
    if not powers or not contains(scope, PROCESSORS):
        return []
    loaded = median(powers)
    share = idle.power / loaded
    who, whose = (
        ("The idle machine draws", "its") if NODE in scope else (f"While idle, the {words(scope)} draw", "their")
    )
    return [
        Finding(
            "idle_share",
            "notice" if share > MUCH else "good",
            f"{who} {percent(share)} of {whose} power under load ({quantity(idle.power, 'W')} of {quantity(loaded, 'W')}, by "
            f"{counted.source}).",
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
