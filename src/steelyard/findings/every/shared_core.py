"""Rule: finds records whose core had another busy hardware thread, which no system account shows."""

from statistics import median

from steelyard.model import Evaluation, Finding
from steelyard.statistics.validity.pace import typical

# Share of the most additions per cycle in the run. A second thread takes up to half; readings scatter by some percent.
SHARED = 0.85
OFTEN = 0.10  # of the records: a smaller share does not change a median
FEWEST = 10  # records that are needed to know how many additions the core can issue


def find(evaluation: Evaluation) -> list[Finding]:
    """Returns one finding on the records whose core issued clearly fewer additions than it can."""
    rates = [rate for record in evaluation.run.records if (rate := typical(record, "issued")) is not None]
    if len(rates) < FEWEST:
        return []
    most = sorted(rates)[-1 - len(rates) // 50]  # the outermost fiftieth may contain faulty readings
    most = max(most, *(best for key, best in evaluation.run.shown.best.items() if key.startswith("issued ")), 0.0)
    shared = [rate for rate in rates if rate < SHARED * most]
    evidence = (
        f"In {len(shared)} of {len(rates)} records the core issued fewer than {SHARED * most:.2g} additions per cycle. "
        f"The maximum of this machine is {most:.2g}; this run has a median of {median(rates):.2g} and a minimum of "
        f"{min(rates):.2g}.",
    )
    if len(shared) <= OFTEN * len(rates):
        claim = f"The measured cores were not shared: they issued {median(rates):.2g} additions per cycle (median)."
        return [
            Finding(
                "shared_core",
                "good",
                claim,
                evidence,
                "No other hardware thread used them.",
                "",
                reach="figures",
            )
        ]
    claim = f"Other work shared the measured cores in {len(shared)} of {len(rates)} records."
    cause = (
        "Another hardware thread of the same core was busy: a process on the sibling thread or, in a virtual machine, another "
        "guest. It halves the issue rate and uses the caches of the core. Neither the load nor the steal time shows it."
    )
    remedy = (
        "Keep the sibling threads idle (steelyard doctor names them). In a cloud, use a dedicated host or whole cores."
    )
    effect = most / median(rates)
    return [Finding("shared_core", "notice", claim, evidence, cause, remedy, effect=effect, reach="figures")]
