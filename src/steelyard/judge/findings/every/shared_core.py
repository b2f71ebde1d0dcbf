"""Rule: finds results whose core issued clearly fewer additions per cycle than it can, and the cause as far as it is proven."""

from statistics import median

from steelyard.judge.findings import disturbances, settings
from steelyard.measure.records import best_pace
from steelyard.model import Evaluation, Finding
from steelyard.statistics.results import cases
from steelyard.statistics.samples.plateau import Levels
from steelyard.statistics.validity.cause import explain
from steelyard.statistics.validity.measures import MEASURES
from steelyard.statistics.validity.pace import find_typical

KIND = "shared core"  # of the evidence in a verdict
OFTEN = 0.10  # of the results: fewer are named by the rule on disturbances only
FEWEST = 10  # records that are needed to know how many additions the core can issue


def find(evaluation: Evaluation) -> list[Finding]:
    """Returns one finding on the results whose core issued clearly fewer additions than it can; a good one without any."""
    rates = [rate for record in evaluation.run.records if (rate := find_typical(record, "issued")) is not None]
    measured = cases.keep_measured(evaluation.results)
    if len(rates) < FEWEST or not measured:
        return []
    shared = disturbances.count(measured)[KIND]
    levels = Levels()
    levels.add(rates)
    earlier = (best for key, best in best_pace.here(evaluation.run.shown).items() if key.startswith("issued "))
    most = max(levels.plateau(MEASURES["issued"].scatter, higher=True) or 0.0, *earlier, 0.0)
    evidence = (
        f"The full rate of this machine is {most:.2g} additions per cycle. {len(rates)} records have a median of "
        f"{median(rates):.2g} and a minimum of {min(rates):.2g}.",
    )
    if not evaluation.condition.shared and not any(
        one.kind == KIND for result in measured for one in result.verdict.evidence
    ):
        claim = f"The measured cores issued additions at their full rate: {median(rates):.2g} per cycle (median)."
        cause = "Nothing slowed the cores while the samples were taken."
        return [Finding("shared_core", "good", claim, evidence, cause, "", reach="figures")]
    if shared <= OFTEN * len(measured):
        return []
    claim = (
        f"The measured cores issued fewer additions per cycle than they can during {shared} of {len(measured)} results."
    )
    cause = (
        f"{explain(evaluation.condition.proofs)} A busy second hardware thread takes up to half of the instructions per second "
        "and uses the caches of the core."
    ).strip()
    return [
        Finding(
            "shared_core",
            "notice",
            claim,
            evidence,
            cause,
            settings.suggest_free_cores(evaluation.run.machine),
            effect=max(1.0, most / median(rates)),
            reach="figures",
            about="measurement",
            brief=f"The cores were slower than they can be during {shared} of {len(measured)} values.",
        )
    ]
