"""Rule: compares the power of the idle machine with its power under load."""

from statistics import median

from steelyard.judge.evaluation import energy
from steelyard.measure.telemetry.coverage import contains
from steelyard.measure.telemetry.watched import is_modelled, name_load
from steelyard.model import Evaluation, Finding
from steelyard.model.scope import ACCELERATOR, HOST, MEMORY, NODE, PROCESSORS, Parts, words
from steelyard.model.units import percent, quantity
from steelyard.model.words import joined
from steelyard.power.findings.accelerator_energy import ask_energy

MUCH = 0.5  # of the power under load: above it, an idle second costs more than half of a busy second


def find(evaluation: Evaluation) -> list[Finding]:
    """Returns the finding on the parts that the sensors cover, if the processors are among them."""
    power = evaluation.power
    resting = energy.measure_idle(evaluation) if power and not name_load(energy.find_load(evaluation)) else None
    if power and power.idle and energy.measure_idle(evaluation) is None:
        return ask_energy("idle_share", "The power of the run is unknown", evaluation, list(evaluation.results))
    if not power or not resting or is_modelled(power.traces):  # the user sets both powers of a model
        return []
    counted, idle = resting
    scope = counted.scope
    values = (r.metrics["power"] for r in evaluation.results if "power" in r.metrics)
    powers = [value.value for value in values if value.scope == scope]
    if not powers or not contains(scope, PROCESSORS) or idle.power > median(powers):
        return []
    loaded = median(powers)
    share = idle.power / loaded
    draw, whose = ("draw", "their") if len(scope) > 1 or scope == (PROCESSORS,) else ("draws", "its")
    who = "The idle machine draws" if scope == (NODE,) else f"While idle, the {words(scope)} {draw}"
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
            f"{_name_consumers(scope)} draw power even if the machine does no work."
            if share > MUCH
            else "This power follows the load.",
            "Keep the machine busy or switch it off, and allow idle cores to sleep. A faster program saves nearly as "
            "much energy as "
            "time."
            if share > MUCH
            else "",
            effect=1 / (1 - share) if MUCH < share < 1 else None,
            reach="machine",
        )
    ]


def _name_consumers(scope: Parts) -> str:
    """Returns what draws power without work, of the parts in the scope: 'Memory and cores without deep sleep states'."""
    fans = ["fans", "power supplies"] if {NODE, HOST} & {*scope} else []
    cards = ["accelerators"] if any(part.startswith(ACCELERATOR) for part in scope) else []
    text = joined((*fans, *(["memory"] if contains(scope, MEMORY) else []), *cards, "cores without deep sleep states"))
    return text[0].upper() + text[1:]
